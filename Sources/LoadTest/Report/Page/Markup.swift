/// HTML that is well-formed XML too. An interpolated string is text and is escaped; interpolated markup is inserted.
struct Markup: ExpressibleByStringInterpolation {
    let html: String

    init(stringLiteral html: String) { self.html = html }
    init(stringInterpolation: StringInterpolation) { html = stringInterpolation.html }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var html = ""

        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { html += literal }
        mutating func appendInterpolation(_ text: String) { html += Markup.escaped(text) }
        mutating func appendInterpolation(_ markup: Markup) { html += markup.html }
        mutating func appendInterpolation(_ items: [Markup]) { html += items.map(\.html).joined(separator: "\n") }
    }

    /// Text for an element or an attribute. Characters that are invisible, change the direction of writing, or are not
    /// allowed in XML are written as `\u{202E}`.
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

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: scalar != "\n" && scalar != "\t"
        // U+FFFE and U+FFFF are unassigned.
        case .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
        // Joiners are part of emoji and of Persian words.
        case .format: scalar.value != 0x200C && scalar.value != 0x200D
        default: false
        }
    }
}
