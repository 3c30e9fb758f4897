import CallVocabulary
import Foundation

/// JSON results: the views of the admin API, with sorted keys.
enum JSONOutput {
    /// A list: one document with the list under its name, or one entry a line.
    static func list<Item: Encodable>(_ name: String, _ items: [Item], lines: Bool) throws {
        guard lines else { return try document([name: items]) }
        for item in items { try document(item, isLine: true) }
    }

    static func document(_ value: some Encodable, isLine: Bool = false) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if !isLine { encoder.outputFormatting.insert(.prettyPrinted) }
        write(try encoder.encode(value))
    }

    /// What has no type of its own.
    static func write(_ object: [String: Any], isLine: Bool = false) throws {
        var options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        if !isLine { options.insert(.prettyPrinted) }
        let data = try JSONSerialization.data(withJSONObject: object, options: options)
        write(data)
    }

    /// A document as it is.
    static func write(_ json: Data) {
        for line in String(decoding: json, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false) {
            Terminal.print(harmless(line))
        }
    }

    /// Writes terminal controls as JSON escapes. They occur in strings only: the encoders escape all others.
    private static func harmless(_ line: Substring) -> String {
        guard line.unicodeScalars.contains(where: \.isHarmfulOnTerminals) else { return String(line) }
        var text = ""
        for scalar in line.unicodeScalars {
            guard scalar.isHarmfulOnTerminals else {
                text.unicodeScalars.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}
