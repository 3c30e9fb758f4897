import Foundation

/// What a machine does, written down for people to read: who, with which inputs, and what becomes of it.
///
/// ```
/// ## situation, another that is just the same
/// A1 A2: hangup close => reply | what changes
///     and goes on here
/// ```
/// A situation may be named in several headings; the lines under each of them apply to it. The text after the bar lists
/// all changes; without a bar nothing changes. `S>` is a change from the state that the situation begins in, and `I` in
/// brackets is the input.
struct BehaviourTable {
    struct Cell: Hashable, Comparable, CustomStringConvertible {
        var actor: String
        var input: String

        static func < (a: Self, b: Self) -> Bool { (a.actor, a.input) < (b.actor, b.input) }
        var description: String { "\(actor): \(input)" }
    }

    private(set) var outcomes: [String: [Cell: String]] = [:]
    /// What is wrong with the table itself.
    private(set) var faults: [String] = []

    /// - Parameters:
    ///   - groups: names that stand for several inputs.
    ///   - states: the state that each situation begins in.
    init(_ text: String, groups: [String: [String]], states: [String: String]) {
        var situations: [String] = []
        for row in Self.rows(text) {
            if row.hasPrefix("## ") {
                situations = row.dropFirst(3).components(separatedBy: ", ")
                continue
            }
            let sides = row.components(separatedBy: " => ")
            let head = sides[0].components(separatedBy: ": ")
            guard sides.count == 2, head.count == 2 else {
                faults.append("not a row: \(row)")
                continue
            }
            for actor in head[0].components(separatedBy: " ") {
                let inputs: [String] = head[1].components(separatedBy: " ").flatMap { groups[$0] ?? [$0] }
                for input in inputs {
                    let cell = Cell(actor: actor, input: input)
                    for situation in situations {
                        let outcome = sides[1].replacing(" S>", with: " \(states[situation] ?? "?")>")
                            .replacing("(I)", with: "(\(input))").replacing("(I,", with: "(\(input),")
                        if outcomes[situation, default: [:]].updateValue(outcome, forKey: cell) != nil {
                            faults.append("\(situation): \(cell) is there twice")
                        }
                    }
                }
            }
        }
    }

    private static func rows(_ text: String) -> [String] {
        var rows: [String] = []
        for line in text.components(separatedBy: "\n") where !line.isEmpty {
            if line.hasPrefix("    "), let last = rows.indices.last {
                rows[last] += " " + line.drop { $0 == " " }
            } else {
                rows.append(line)
            }
        }
        return rows
    }

    // MARK: Writing one

    /// The rows of one situation, as few as there can be.
    static func rows(of outcomes: [(Cell, String)], groups: [String: [String]]) -> [String] {
        var byActor: [String: [String: [String]]] = [:]
        var order: [(actor: String, outcome: String)] = []
        for (cell, outcome) in outcomes {
            if byActor[cell.actor]?[outcome] == nil { order.append((cell.actor, outcome)) }
            byActor[cell.actor, default: [:]][outcome, default: []].append(cell.input)
        }
        var rows: [(actors: [String], inputs: [String], outcome: String)] = []
        for (actor, outcome) in order {
            let inputs = byActor[actor]?[outcome] ?? []
            if let same = rows.firstIndex(where: { $0.outcome == outcome && $0.inputs == inputs }) {
                rows[same].actors.append(actor)
            } else {
                rows.append(([actor], inputs, outcome))
            }
        }
        return rows.map { row in
            var inputs = row.inputs
            for (name, members) in groups where Set(members).isSubset(of: Set(inputs)) {
                inputs = [name] + inputs.filter { !members.contains($0) }
            }
            return wrapped(
                "\(row.actors.joined(separator: " ")): \(inputs.joined(separator: " ")) => \(row.outcome)")
        }
    }

    private static func wrapped(_ row: String) -> String {
        var lines = [""]
        for word in row.components(separatedBy: " ") {
            let last = lines[lines.count - 1]
            if last.count + word.count + 1 > 112 {
                lines.append("    " + word)
            } else {
                lines[lines.count - 1] = last.isEmpty ? word : last + " " + word
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension BehaviourTable {
    /// Writes the rows of a situation to the folder `RECORD_TABLES` names, if it names one: for a change of behaviour
    /// that is meant, to be read before it takes the old table's place.
    static func record(
        _ situation: String, _ outcomes: [(Cell, String)], groups: [String: [String]], state: String
    ) throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORD_TABLES"] else { return }
        let short = outcomes.map { cell, outcome in
            let text = outcome.replacing(" \(state)>", with: " S>")
            guard groups["hangups"]?.contains(cell.input) == true else { return (cell, text) }
            return (cell, text.replacing("(\(cell.input))", with: "(I)").replacing("(\(cell.input),", with: "(I,"))
        }
        let text = rows(of: short, groups: groups).joined(separator: "\n") + "\n"
        try text.write(toFile: "\(folder)/\(situation)", atomically: true, encoding: .utf8)
    }
}
