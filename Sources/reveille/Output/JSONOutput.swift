import Foundation

/// Results for programs: the views of the admin API as they are, with their keys in order.
enum JSONOutput {
    /// A list, under its name in one document, or one entry a line.
    static func list<Item: Encodable>(_ name: String, _ items: [Item], lines: Bool) throws {
        guard lines else { return try document([name: items]) }
        for item in items { try document(item, isLine: true) }
    }

    static func document(_ value: some Encodable, isLine: Bool = false) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if !isLine { encoder.outputFormatting.insert(.prettyPrinted) }
        Terminal.print(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// What has no type of its own.
    static func write(_ object: [String: Any], isLine: Bool = false) throws {
        var options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        if !isLine { options.insert(.prettyPrinted) }
        let data = try JSONSerialization.data(withJSONObject: object, options: options)
        Terminal.print(String(decoding: data, as: UTF8.self))
    }
}
