import CallVocabulary

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
            case "\n", "\t": result.unicodeScalars.append(scalar)
            case _ where scalar.isHarmfulOnTerminals || scalar.properties.isNoncharacterCodePoint:
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
