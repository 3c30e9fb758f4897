public struct TerminalTraits: Equatable, Sendable {
    /// Text beyond ASCII; without it, such text is escaped.
    public var isUnicode: Bool
    public var hasColour: Bool

    public init(isUnicode: Bool, hasColour: Bool) {
        self.isUnicode = isUnicode
        self.hasColour = hasColour
    }

    /// From the environment: the locale by `LC_ALL`, `LC_CTYPE` and `LANG`, the first that is not empty; no colour when
    /// `NO_COLOR` is not empty (no-color.org).
    /// - Returns: nil when `TERM` is `dumb` or not set: such a terminal cannot position text.
    public init?(environment: [String: String]) {
        guard let terminal = environment["TERM"], !terminal.isEmpty, terminal != "dumb" else { return nil }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let name = locale.lowercased()
        isUnicode = name.contains("utf-8") || name.contains("utf8")
        hasColour = environment["NO_COLOR", default: ""].isEmpty
    }
}
