import Synchronization

/// What all shards together have turned away since the start. Any thread.
final class SignalCounters: Sendable {
    /// Why a notification went unheard; it has no answer that could tell its client.
    enum Drop: String, CaseIterable {
        /// The client sends more than it may.
        case rateLimited = "rate_limited"
        /// The core is behind.
        case overloaded
        /// The connection has no session.
        case unauthenticated
    }

    private let rateLimited = Atomic<UInt64>(0)
    private let overloaded = Atomic<UInt64>(0)
    private let unauthenticated = Atomic<UInt64>(0)
    private let questions = Atomic<UInt64>(0)

    func countDrop(_ drop: Drop) {
        switch drop {
        case .rateLimited: rateLimited.add(1, ordering: .relaxed)
        case .overloaded: overloaded.add(1, ordering: .relaxed)
        case .unauthenticated: unauthenticated.add(1, ordering: .relaxed)
        }
    }

    func drops(_ drop: Drop) -> UInt64 {
        switch drop {
        case .rateLimited: rateLimited.load(ordering: .relaxed)
        case .overloaded: overloaded.load(ordering: .relaxed)
        case .unauthenticated: unauthenticated.load(ordering: .relaxed)
        }
    }

    /// A question by HTTP that the server had no room or no answer for in time.
    func countUnansweredQuestion() { questions.add(1, ordering: .relaxed) }

    var unansweredQuestions: UInt64 { questions.load(ordering: .relaxed) }
}
