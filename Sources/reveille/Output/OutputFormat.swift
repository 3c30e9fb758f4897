import ArgumentParser

/// The format of results.
enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    /// For people.
    case table
    /// One JSON document.
    case json
    /// One JSON object a line: each entry of a list, or the one thing asked for.
    case jsonl

    static let help: ArgumentHelp = "table for people, json for one document, jsonl for one object a line."

    /// Writes a list.
    /// - Parameters:
    ///   - name: its key in JSON.
    ///   - none: what is said, beside the results, when there is nothing in it.
    ///   - hasMore: there are more than were asked for.
    func write<Item: Encodable>(
        _ name: String, _ items: [Item], table: ([Item]) -> Table, none: String, hasMore: Bool = false
    ) throws {
        switch self {
        case .json: try JSONOutput.list(name, items, lines: false)
        case .jsonl: try JSONOutput.list(name, items, lines: true)
        case .table where items.isEmpty: Terminal.complain(none)
        case .table: Terminal.print(table(items).lines)
        }
        if hasMore { Terminal.complain("\(items.count) shown; there are more: --limit \(items.count * 10)") }
    }

    /// Writes what has no type of its own.
    func write(_ object: [String: Any], text: [String]) throws {
        switch self {
        case .table: Terminal.print(text)
        case .json, .jsonl: try JSONOutput.write(object, isLine: self == .jsonl)
        }
    }

    /// Writes one thing.
    /// - Parameter name: its key in JSON; nil for what is a document of its own.
    func write<Item: Encodable>(_ name: String?, _ item: Item, text: (Item) -> [String]) throws {
        switch (self, name) {
        case (.table, _): Terminal.print(text(item))
        case (.json, let name?): try JSONOutput.document([name: item])
        case (.json, nil): try JSONOutput.document(item)
        case (.jsonl, _): try JSONOutput.document(item, isLine: true)
        }
    }
}

/// The output format, an option of every command with results.
struct OutputOptions: ParsableArguments {
    @Option(name: .customLong("output"), help: OutputFormat.help) var format = OutputFormat.table
}
