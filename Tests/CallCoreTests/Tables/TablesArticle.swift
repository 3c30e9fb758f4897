import Foundation
import Testing

/// The table of calls as a matrix that people read, in an article of the target.
struct TablesArticle {
    /// The situations that stand for a call's states, and what the article calls them.
    private static let columns: [(situation: CallSituation, title: String)] = [
        (.asked, "asked"), (.sought, "sought"), (.told, "routing"), (.woken, "waking"), (.ringing, "ringing"),
        (.answered, "answered"),
        (.connected, "connected"), (.hangup, "ended"), (.forgotten, "in the store"),
    ]

    private static let askedColumns: [(situation: CallSituation, title: String)] = [
        (.asked, "asked"), (.askedCallerLost, "the caller is away"), (.askedCallerBack, "the caller is back"),
        (.askedAsleep, "the callee sleeps"), (.askedOpenly, "failures allow"), (.askedSwitchedOff, "switched off"),
    ]

    private static let actors: [(actor: String, title: String)] = [
        ("A1", "The caller's device"), ("A2", "Another device of the caller"), ("B1", "A device of the callee"),
        ("B2", "Another device of the callee"), ("S", "A device of a user outside the call"),
        ("http:wakeB1", "HTTP with the wake token of the callee's device"),
        ("http:bob", "HTTP with the callee's token"),
        ("push:B2", "The push client, about the push of the other device"), ("all", "Time, administrators, the store"),
    ]

    private static let askedActors: [(actor: String, title: String)] = [
        ("hook", "The hook's answers"), ("meanwhile", "Meanwhile, and then the hook allows the call"),
    ]

    private static let soughtColumns: [(situation: CallSituation, title: String)] = [
        (.sought, "the callee"), (.soughtForward, "the target"),
    ]

    private static let soughtActors: [(actor: String, title: String)] = [
        ("A1", "The caller's device, and then the store answers"), ("B1", "A device of the callee"),
        ("all", "Time, administrators, and the store's answers"),
        ("meanwhile", "Meanwhile, and then the store answers"),
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
                + "empty cell means that the input cannot occur. In *asked* the authorization hook has not answered yet, and "
                + "the call does not exist; in *sought* the store has not answered about Bob, whose devices sleep. `waits` "
                + "means that the answer comes after that of the hook or the store, and `A1=` precedes such an answer. `R` stands for the reason of the end. Inputs are named as in "
                + "`Tests/CallCoreTests/Support/CallInputs.swift`. All situations, with all that changes, are in "
                + "`Tests/CallCoreTests/Tables`; <doc:CallSemantics> has the rules.",
        ]
        for (actor, title) in actors { lines += section(title, of: actor, columns, table) }
        lines += [
            "", "## While the authorization hook is asked", "",
            "`allowed:` precedes the changes when the hook then allows the call, if they differ from those in the first "
                + "table.",
        ]
        for (actor, title) in askedActors {
            lines += section(title, of: actor, askedColumns, table, hasConsequences: true)
        }
        lines += [
            "", "## While the store is asked for a user", "",
            "`found:` precedes the changes when the store then answers, if they differ from those of the answer alone. In "
                + "*the target* Bob's ring time is over, and the user that he forwards to is looked up.",
        ]
        for (actor, title) in soughtActors {
            lines += section(title, of: actor, soughtColumns, table, hasConsequences: true)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(
        _ title: String, of actor: String, _ columns: [(situation: CallSituation, title: String)],
        _ table: BehaviourTable, hasConsequences: Bool = false
    ) -> [String] {
        var lines: [String] = []
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
            let cell = BehaviourTable.Cell(actor: actor, input: input)
            let cells = rows.map { $0[cell].map { short($0, hasConsequences) } ?? "" }
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
        return lines
    }

    /// - Parameter hasConsequences: whether the changes follow when the hook or the store then answers.
    private static func short(_ outcome: String, _ hasConsequences: Bool) -> String {
        var sides = outcome.components(separatedBy: " | ")
        let answer = sides.removeFirst()
        let changes = sides.filter { side in !["again: ", "allowed: ", "found: "].contains { side.hasPrefix($0) } }
        var text = answer + short(changes: changes.first ?? "")
        for answer in ["allowed:", "found:"] {
            guard hasConsequences, let then = sides.first(where: { $0.hasPrefix(answer) })?.dropFirst(answer.count + 1)
            else { continue }
            text += "; " + answer + (then == "none waits" ? " no effect" : short(changes: then))
        }
        return text
    }

    /// The answers to requests that waited, and the call's new state.
    private static func short(changes text: some StringProtocol) -> String {
        let changes = text.components(separatedBy: "; ").filter { !$0.isEmpty }
        let answers = changes.filter { $0.contains("=") }
        let state = changes.first { $0.hasPrefix("call ") }.flatMap { $0.components(separatedBy: ">").last }
        let others = changes.contains { !$0.hasPrefix("call ") && !$0.contains("=") } ? " +" : ""
        return answers.map { " \($0)" }.joined() + (state.map { " → \($0)" } ?? "") + others
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
