extension String {
    /// The text without a full stop at its end, to go on after it: messages of servers and libraries are sentences or
    /// not. An ellipsis stays.
    public var clause: String { hasSuffix(".") && !hasSuffix("..") ? String(dropLast()) : self }
}
