import Foundation
import Testing

/// The table of calls as a matrix that people read, in an article of the target.
struct TablesArticle {
    /// The situations that stand for a call's states, and what the article calls them.
    private static let columns: [(situation: CallSituation, title: String)] = [
        (.told, "routing"), (.woken, "waking"), (.ringing, "ringing"), (.answered, "answered"),
        (.connected, "connected"), (.hangup, "ended"), (.forgotten, "in the store"),
    ]

    private static let actors: [(actor: String, title: String)] = [
        ("A1", "The caller's device"), ("A2", "Another device of the caller"), ("B1", "A device of the callee"),
        ("B2", "Another device of the callee"), ("S", "A device of a user outside the call"),
        ("http:wakeB1", "HTTP with the wake token of the callee's device"),
        ("http:bob", "HTTP with the callee's token"),
        ("push:B2", "The push client, about the push of the other device"), ("all", "Time, administrators, the store"),
    ]

    static let path = "Sources/CallCore/CallCore.docc/CallTables.md"

    static func text(of table: BehaviourTable) -> String {
        var lines = [
            "# What happens on each input in each state", "",
            "The call machine's answers by state of the call, generated from the tables that its tests hold.", "",
            "## Overview", "",
            "Alice calls Bob from one of her two devices; Bob has two. In *waking* and later columns his first device, B1, "
                + "has a session. A cell shows the answer to the input; `-` means no answer. `→` precedes the call's new "
                + "state, if it changes. `+` means that other things change: legs, pushes, events to the other side. An "
                + "empty cell means that the input cannot occur. `R` stands for the reason of the end. Inputs are named as in "
                + "`Tests/CallCoreTests/Support/CallInputs.swift`. All situations, with all that changes, are in "
                + "`Tests/CallCoreTests/Tables`; <doc:CallSemantics> has the rules.",
        ]
        for (actor, title) in actors {
            let rows = columns.map { table.outcomes[$0.situation.rawValue] ?? [:] }
            var inputs: [String] = []
            for row in rows {
                for cell in row.keys.sorted() where cell.actor == actor && !inputs.contains(cell.input) {
                    inputs.append(cell.input)
                }
            }
            lines += ["", "### \(title)", ""]
            lines.append("| input | " + columns.map(\.title).joined(separator: " | ") + " |")
            lines.append("|---|" + String(repeating: "---|", count: columns.count))
            var merged: [(inputs: [String], cells: [String])] = []
            for input in inputs {
                let cells = rows.map { $0[BehaviourTable.Cell(actor: actor, input: input)].map(short) ?? "" }
                if let same = merged.firstIndex(where: { $0.cells == cells }) {
                    merged[same].inputs.append(input)
                } else {
                    merged.append(([input], cells))
                }
            }
            for (inputs, cells) in merged {
                let names = inputs.map { "`\($0)`" }.joined(separator: " ")
                lines.append("| \(names) | \(cells.joined(separator: " | ")) |")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func short(_ outcome: String) -> String {
        var sides = outcome.components(separatedBy: " | ")
        let answer = sides.removeFirst()
        let changes = sides.filter { !$0.hasPrefix("again: ") }.flatMap { $0.components(separatedBy: "; ") }
        let state = changes.first { $0.hasPrefix("call ") }.flatMap { $0.components(separatedBy: ">").last }
        let others = changes.contains { !$0.hasPrefix("call ") } ? " +" : ""
        return answer + (state.map { " → \($0)" } ?? "") + others
    }
}

@Suite struct TablesArticleTests {
    @Test("the article of tables is what the tables say; RECORD_OUTPUT=1 writes it")
    func article() throws {
        let text = TablesArticle.text(of: CallTableTests.table)
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let file = root.appending(path: TablesArticle.path)
        if ProcessInfo.processInfo.environment["RECORD_OUTPUT"] == "1" {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }
}
