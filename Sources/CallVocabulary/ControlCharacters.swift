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

extension StringProtocol {
    /// The text with each scalar that is harmful on terminals written as `\u{202E}`.
    public var printable: String {
        guard unicodeScalars.contains(where: \.isHarmfulOnTerminals) else { return String(self) }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isHarmfulOnTerminals {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// What a peer has written, to be quoted to operators: its first scalars, ``printable``. Apply it where the peer's bytes
    /// become a text of this program.
    public func printable(upTo longest: Int) -> String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(longest))).printable
    }
}
