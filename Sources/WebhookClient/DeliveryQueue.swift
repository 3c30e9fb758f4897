import CallVocabulary
import DequeModule
import Determinism
import StoreInterface

/// The events that one endpoint has yet to take: which is sent when. Pure: no I/O and no clock.
///
/// The event at ``cursor`` and those before it were read from the store; of them, the ones in the queue have no result
/// yet. Events of one subject are sent one after the other, and a failed one is sent again before the next. Others pass it.
struct DeliveryQueue {
    /// The pauses after the first attempt, the second and so on; an event is given up after the attempt behind the last.
    /// They are those that Standard Webhooks recommends.
    static let pauses: [Duration] = [
        .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]
    /// Attempts at a time.
    static let mostInFlight = 8
    /// The most events that are held, and their bodies' bytes. Further ones stay in the store.
    static let mostHeld = 1000
    static let mostBytes = 4 << 20
    /// Failures in a row after which only one attempt is made at a time, with a pause after each.
    static let failuresUntilProbing = 5
    static let longestProbePause = Duration.seconds(60)
    /// The longest time for which a receiver's `Retry-After` is heeded.
    static let longestRetryAfter = Duration.seconds(3600)

    enum Outcome: Equatable {
        case taken
        /// - Parameter retryAfter: the receiver is overloaded, and asks for no message before.
        case failed(retryAfter: Duration?)
    }

    enum Verdict: Equatable {
        case taken
        case retried(at: Instant)
        case givenUp
    }

    private struct Held {
        let event: StoredEvent
        var attempts = 0
        var due: Instant
        var isInFlight = false
    }

    private(set) var cursor: Int64
    private var held: [Int64: Held] = [:]
    private var bytes = 0
    /// Positions in order.
    private var subjects: [StoredEvent.Subject: Deque<Int64>] = [:]
    /// The first event of each subject, unless it is in flight.
    private var ready = DeadlineQueue<Int64>()
    private var inFlight = 0
    /// Attempts that failed since the last success.
    private(set) var failures = 0
    /// No attempt is made before.
    private var rests: Instant?

    init(cursor: Int64) { self.cursor = cursor }

    var count: Int { held.count }
    var isProbing: Bool { failures >= Self.failuresUntilProbing }
    var hasRoom: Bool { held.count < Self.mostHeld && bytes < Self.mostBytes }
    /// When the oldest event was recorded.
    var oldest: Instant? { held.keys.min().flatMap { held[$0]?.event.at } }

    /// The events without a result, by position, with their attempts and the time of the next one.
    var unsettled: [(position: Int64, attempts: Int, due: Instant)] {
        held.sorted { $0.key < $1.key }.map { ($0.key, $0.value.attempts, $0.value.due) }
    }

    /// Adds the next events of the store, in order; leaves out those of other kinds.
    mutating func take(_ events: [StoredEvent], of kinds: Set<EventKind>, now: Instant) {
        for event in events where event.position > cursor {
            cursor = event.position
            if kinds.contains(event.kind) { hold(event, attempts: 0, due: now) }
        }
    }

    /// Passes over events that retention has deleted.
    mutating func pass(to position: Int64) { cursor = max(cursor, position) }

    /// Adds an event that an earlier process had not settled. In order, and before ``take(_:of:now:)``.
    mutating func restore(_ event: StoredEvent, attempts: Int, due: Instant) {
        hold(event, attempts: attempts, due: due)
    }

    private mutating func hold(_ event: StoredEvent, attempts: Int, due: Instant) {
        held[event.position] = Held(event: event, attempts: attempts, due: due)
        bytes += event.body.bytes.count
        subjects[event.subject, default: []].append(event.position)
        if subjects[event.subject]?.count == 1 { _ = ready.add(event.position, at: due) }
    }

    /// Starts the next attempt.
    /// - Returns: nil when none is due.
    mutating func next(at now: Instant) -> StoredEvent? {
        guard inFlight < mostInFlight, rests.map({ $0 <= now }) ?? true, let position = ready.popDue(now: now) else {
            return nil
        }
        inFlight += 1
        held[position]?.isInFlight = true
        return held[position]?.event
    }

    /// When ``next(at:)`` may return an event; nil while it waits for a result.
    var nextDue: Instant? {
        guard inFlight < mostInFlight, let next = ready.next else { return nil }
        return rests.map { max($0, next) } ?? next
    }

    private var mostInFlight: Int { isProbing ? 1 : Self.mostInFlight }

    /// Ends the attempt for the event at `position`.
    mutating func finish(
        _ position: Int64, _ outcome: Outcome, now: Instant, random: inout some RandomNumberGenerator
    ) -> Verdict {
        guard var event = held[position], event.isInFlight else { preconditionFailure("no attempt for \(position)") }
        inFlight -= 1
        switch outcome {
        case .taken:
            let wasProbing = isProbing
            (failures, rests) = (0, nil)
            drop(position, event.event, now: now)
            if wasProbing { hasten(now) }
            return .taken
        case .failed(let retryAfter):
            failures += 1
            rest(retryAfter, now)
            event.attempts += 1
            event.isInFlight = false
            guard event.attempts <= Self.pauses.count else {
                drop(position, event.event, now: now)
                return .givenUp
            }
            let pause = Self.pauses[event.attempts - 1]
            // Up to a tenth more, so that events that failed together do not come back together.
            let jitter = Int64.random(in: 0...pause.wholeMilliseconds / 10, using: &random)
            event.due = now + pause + .milliseconds(jitter)
            held[position] = event
            _ = ready.add(position, at: event.due)
            return .retried(at: event.due)
        }
    }

    private mutating func rest(_ retryAfter: Duration?, _ now: Instant) {
        var pause = retryAfter.map { min($0, Self.longestRetryAfter) } ?? .zero
        if isProbing {
            let doublings = min(failures - Self.failuresUntilProbing, 6)
            pause = max(pause, min(.seconds(1 << doublings), Self.longestProbePause))
        }
        if pause > .zero { rests = max(rests ?? now, now + pause) }
    }

    private mutating func drop(_ position: Int64, _ event: StoredEvent, now: Instant) {
        held[position] = nil
        bytes -= event.body.bytes.count
        subjects[event.subject]?.removeFirst()
        guard let next = subjects[event.subject]?.first else {
            subjects[event.subject] = nil
            return
        }
        _ = ready.add(next, at: max(now, held[next]?.due ?? now))
    }

    /// Makes all next attempts due now: the receiver is back, or an administrator says so.
    mutating func hasten(_ now: Instant) {
        rests = nil
        ready = DeadlineQueue()
        for (_, positions) in subjects.sorted(by: { ($0.value.first ?? 0) < ($1.value.first ?? 0) }) {
            guard let first = positions.first, held[first]?.isInFlight == false else { continue }
            held[first]?.due = now
            _ = ready.add(first, at: now)
        }
    }

    /// Goes back to an earlier position, to send what follows it again. No attempt may be in flight.
    mutating func rewind(to position: Int64, now: Instant) {
        let kept = unsettled.filter { $0.position <= position }.compactMap { held[$0.position]?.event }
        self = DeliveryQueue(cursor: position)
        for event in kept { hold(event, attempts: 0, due: now) }
    }

    /// Ends all attempts without a result: they are made again.
    mutating func abandonAttempts(now: Instant) {
        for (position, event) in held.sorted(by: { $0.key < $1.key }) where event.isInFlight {
            held[position]?.isInFlight = false
            _ = ready.add(position, at: now)
        }
        inFlight = 0
    }
}
