import EventJournal
import Testing

@Suite("What tests wait with") struct JournalTests {
    @Test("what never comes is waited for in vain, with what came instead", .timeLimit(.minutes(5)))
    func inVain() async throws {
        let journal = Journal<Int>()
        journal.append(1)
        let failure = await #expect(throws: Journal<Int>.TimedOut.self) {
            try await journal.wait(for: 2, limit: .milliseconds(1))
        }
        #expect(failure?.entries == [1])
        #expect(failure?.waitedFor == "2")
    }

    @Test("what comes later ends the wait, and what is there already needs none", .timeLimit(.minutes(5)))
    func comes() async throws {
        let journal = Journal<Int>()
        async let found = journal.first("an even number") { $0.isMultiple(of: 2) ? $0 : nil }
        for number in [1, 3, 4, 6] { journal.append(number) }
        #expect(try await found == 4)
        #expect(try await journal.wait(for: "four") { $0.count == 4 } == [1, 3, 4, 6])
    }
}
