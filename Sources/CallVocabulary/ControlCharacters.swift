extension Unicode.Scalar {
    /// Whether printing this character of untrusted text can mislead a terminal or its reader: control characters (C0
    /// and C1, which start escape sequences), line ends, bidirectional controls, and invisible characters.
    ///
    /// The joiners U+200C and U+200D are not harmful: emoji and Persian words contain them.
    public var isHarmfulOnTerminals: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: return true
        case .format: return value != 0x200C && value != 0x200D
        default: return false
        }
    }
}
