extension Unicode.Scalar {
    /// Whether a terminal, or a person who reads it, is misled by this in text of others: control characters (C0 and C1,
    /// with which escape sequences begin), line ends, marks that turn the direction of writing, and what cannot be seen.
    ///
    /// Not the joiners U+200C and U+200D, which are part of emoji and of Persian words.
    public var isHarmfulOnTerminals: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: return true
        case .format: return value != 0x200C && value != 0x200D
        default: return false
        }
    }
}
