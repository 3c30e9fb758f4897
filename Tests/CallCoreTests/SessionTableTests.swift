import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Every input in every situation of a session, against a table: rule 12 and resuming.
@Suite struct SessionTableTests {
    static let table = BehaviourTable(
        sessionTable, groups: SessionInput.groups,
        states: Dictionary(uniqueKeysWithValues: SessionSituation.allCases.map { ($0.rawValue, $0.state) }))

    @Test("the table has every situation, and no other")
    func shape() {
        #expect(Self.table.faults.isEmpty)
        #expect(Set(Self.table.outcomes.keys) == Set(SessionSituation.allCases.map(\.rawValue)))
    }

    @Test("every input does what the table says, and nothing else", arguments: SessionSituation.allCases)
    func everyCell(situation: SessionSituation) throws {
        let expected = Self.table.outcomes[situation.rawValue] ?? [:]
        var outcomes: [(BehaviourTable.Cell, String)] = []
        for input in SessionInput.allCases {
            let scene = try SessionScene(situation)
            guard scene.bob.isOnline || !input.needsSocket else { continue }
            let cell = BehaviourTable.Cell(actor: "bob", input: input.rawValue)
            outcomes.append((cell, outcome(of: input, in: scene)))
        }
        for (cell, outcome) in outcomes where expected[cell] != outcome {
            Issue.record("\(situation): \(cell) => \(outcome), and not \(expected[cell] ?? "in the table")")
        }
        let surplus = Set(expected.keys).subtracting(outcomes.map(\.0))
        #expect(surplus.sorted().map(\.description) == [], "rows of what cannot happen")
        try BehaviourTable.record(situation.rawValue, outcomes, groups: SessionInput.groups, state: situation.state)
    }

    private func outcome(of input: SessionInput, in scene: SessionScene) -> String {
        scene.world.context = "\(scene.situation): \(input): "
        let before = scene.standing
        let (events, closes) = (scene.bob.events.count, scene.bob.closes.count)
        let records = scene.world.store.devices.values
        let answer = scene.carryOut(input)
        var words = zip(before, scene.standing).filter { $0 != $1 }.map { "\($0)>\($1)" }
        words += scene.bob.events.dropFirst(events).map { "<\(scene.text($0))" }
        words += scene.bob.closes.dropFirst(closes).map { "closed \($0)" }
        if case .failure = answer {
            #expect(words.isEmpty && scene.world.store.devices.values == records, "refused, and yet \(words)")
        }
        return words.isEmpty ? scene.text(answer) : "\(scene.text(answer)) | \(words.joined(separator: "; "))"
    }
}
