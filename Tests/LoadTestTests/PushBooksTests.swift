import Synchronization
import Testing

@testable import LoadTest
@testable import PushSimulator

@Suite("The books of the push provider", .timeLimit(.minutes(5))) struct PushBooksTests {
    /// Gives one after the other, the last one for ever, and counts how often.
    private final class Provider: Sendable {
        private let counts: [PushBooks.Counts]
        private let asked = Mutex(0)

        init(_ counts: [PushBooks.Counts]) { self.counts = counts }

        var timesAsked: Int { asked.withLock { $0 } }

        @Sendable func next() -> PushBooks.Counts {
            asked.withLock { asked in
                defer { asked += 1 }
                return counts[min(asked, counts.count - 1)]
            }
        }
    }

    private static func counts(_ accepted: Int, reported: Int) -> PushBooks.Counts {
        var counts = PushBooks.Counts()
        (counts.received, counts.accepted, counts.delivered) = (accepted, accepted, accepted)
        counts.reported = reported
        return counts
    }

    @Test("are asked for again while reports are on their way")
    func onTheWay() async throws {
        let provider = Provider([
            Self.counts(5, reported: 4), Self.counts(9, reported: 6), Self.counts(9, reported: 7),
            Self.counts(9, reported: 8),
        ])
        let books = try await PushBooks(ask: provider.next) {}
        let closed = try await books.close(isQuiet: true)
        #expect(closed.violations == [])
        #expect(closed.figures.first { $0.key == "provider_reported" }?.value == 4)
        #expect(provider.timesAsked == 4)
    }

    @Test("break a law when what is missing does not come, and where others push too nothing is expected")
    func missing() async throws {
        let provider = Provider([Self.counts(0, reported: 0), Self.counts(3, reported: 2)])
        let books = try await PushBooks(ask: provider.next) {}
        #expect(try await books.close(isQuiet: false).violations == [])
        #expect(provider.timesAsked == 2)
        #expect(try await books.close(isQuiet: true).violations == ["push provider: 3 pushes delivered, reported 2"])
        #expect(provider.timesAsked == 2 + PushBooks.mostQuestions)
    }
}
