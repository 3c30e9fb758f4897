import Synchronization

/// Counts the messages refused by all shards since the start. May be used from any thread.
final class SignalCounters: Sendable {
    /// Why a notification was dropped; it has no reply to tell its client.
    enum Drop: String, CaseIterable {
        /// The client exceeds its rate limit.
        case rateLimited = "rate_limited"
        /// The core's inbox is full.
        case overloaded
        /// The connection has no session.
        case unauthenticated
    }

    private let rateLimited = Atomic<UInt64>(0)
    private let overloaded = Atomic<UInt64>(0)
    private let unauthenticated = Atomic<UInt64>(0)
    private let questions = Atomic<UInt64>(0)
    private let late = Atomic<UInt64>(0)

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

    /// Counts a new call that was refused because of overload.
    func countLateCall() { late.add(1, ordering: .relaxed) }

    var lateCalls: UInt64 { late.load(ordering: .relaxed) }

    /// Counts an HTTP request without capacity, or without an answer in time.
    func countUnansweredQuestion() { questions.add(1, ordering: .relaxed) }

    var unansweredQuestions: UInt64 { questions.load(ordering: .relaxed) }
}
