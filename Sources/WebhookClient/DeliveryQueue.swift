import CallVocabulary
import DequeModule
import Determinism
import StoreInterface

/// The events that one endpoint has not accepted yet, and the time of each next attempt. Pure: no I/O and no clock.
///
/// All events up to ``cursor`` were read from the store. The queue holds those without a result. Events of one subject
/// are sent one after the other: a failed event is retried before the next is sent. Other subjects do not wait.
struct DeliveryQueue {
    /// The pause after each attempt. An event is given up when the attempt after the last pause fails. The values are
    /// the ones that Standard Webhooks recommends.
    static let pauses: [Duration] = [
        .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]
    /// The most attempts in flight.
    static let mostInFlight = 8
    /// No event is read while the queue holds this many events, or this many bytes of bodies. Further events stay in
    /// the store.
    static let mostHeld = 1000
    static let mostBytes = 4 << 20
    /// Failures in a row after which only one attempt is made at a time, with a pause after each.
    static let failuresUntilProbing = 5
    static let longestProbePause = Duration.seconds(60)
    /// The longest time for which a receiver's `Retry-After` is heeded.
    static let longestRetryAfter = Duration.seconds(3600)

    enum Outcome: Equatable {
        case taken
        /// - Parameter retryAfter: how long an overloaded receiver asks for no message.
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
    /// No attempt is made before: the pause of a failing endpoint.
    private var rests: Instant?
    /// No attempt is made before: the receiver's `Retry-After`.
    private var heeds: Instant?

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

    /// Adds the next events of the store, in order; skips events of other kinds.
    mutating func take(_ events: [StoredEvent], of kinds: Set<EventKind>, now: Instant) {
        for event in events where event.position > cursor {
            cursor = event.position
            if kinds.contains(event.kind) { hold(event, attempts: 0, due: now) }
        }
    }

    /// Skips events that retention has deleted.
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
        guard inFlight < mostInFlight, pauseEnd.map({ $0 <= now }) ?? true, let position = ready.popDue(now: now) else {
            return nil
        }
        inFlight += 1
        held[position]?.isInFlight = true
        return held[position]?.event
    }

    /// When ``next(at:)`` may return an event; nil while it waits for a result.
    var nextDue: Instant? {
        guard inFlight < mostInFlight, let next = ready.next else { return nil }
        return pauseEnd.map { max($0, next) } ?? next
    }

    private var pauseEnd: Instant? { [rests, heeds].compactMap(\.self).max() }

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
            if wasProbing { hastenRetries(now) }
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
        if let retryAfter { heeds = max(heeds ?? now, now + min(retryAfter, Self.longestRetryAfter)) }
        guard isProbing else { return }
        let doublings = min(failures - Self.failuresUntilProbing, 6)
        rests = max(rests ?? now, now + min(.seconds(1 << doublings), Self.longestProbePause))
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

    /// Makes all retries due now, whatever the receiver asked for: an administrator resumed the endpoint.
    mutating func hasten(_ now: Instant) {
        (rests, heeds) = (nil, nil)
        hastenRetries(now)
    }

    /// Makes all retries due now. A pause that is cut short does not use up an attempt: otherwise a receiver that comes
    /// and goes would use up all attempts within minutes.
    private mutating func hastenRetries(_ now: Instant) {
        ready = DeadlineQueue()
        for (_, positions) in subjects.sorted(by: { ($0.value.first ?? 0) < ($1.value.first ?? 0) }) {
            guard let first = positions.first, var event = held[first], !event.isInFlight else { continue }
            if event.due > now { event.attempts = max(0, event.attempts - 1) }
            event.due = now
            held[first] = event
            _ = ready.add(first, at: now)
        }
    }

    /// Goes back to an earlier position, to send the events after it again. No attempt may be in flight.
    mutating func rewind(to position: Int64, now: Instant) {
        let kept = unsettled.filter { $0.position <= position }.compactMap { held[$0.position]?.event }
        self = DeliveryQueue(cursor: position)
        for event in kept { hold(event, attempts: 0, due: now) }
    }

    /// Ends all attempts in flight without a result; their events are sent again.
    mutating func abandonAttempts(now: Instant) {
        for (position, event) in held.sorted(by: { $0.key < $1.key }) where event.isInFlight {
            held[position]?.isInFlight = false
            _ = ready.add(position, at: now)
        }
        inFlight = 0
    }
}
