/// Text as HTML that is XML as well, so that any parser can check it.
enum Markup {
    /// Anybody's text, between tags or in an attribute. What would not be seen, would turn the direction of writing, or
    /// may not stand in XML is written as `\u{202E}`.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default:
                if isHarmful(scalar) {
                    result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }

    /// An element with text of anybody's.
    static func element(_ name: String, class kind: String? = nil, _ text: String) -> String {
        element(name, class: kind, markup: escaped(text))
    }

    /// An element around markup.
    static func element(_ name: String, class kind: String? = nil, markup: String) -> String {
        "<\(name)\(kind.map { " class=\"\($0)\"" } ?? "")>\(markup)</\(name)>"
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: scalar != "\n" && scalar != "\t"
        case .lineSeparator, .paragraphSeparator, .surrogate: true
        // Joiners are part of emoji and of Persian words.
        case .format: scalar.value != 0x200C && scalar.value != 0x200D
        // U+FFFE and U+FFFF are among them.
        case .unassigned: true
        default: false
        }
    }
}
