import CallVocabulary
import DequeModule
import Determinism
import StoreInterface

/// The events that one endpoint has not accepted yet, and the time of each next attempt. Pure: no I/O and no clock.
///
/// All events up to ``cursor`` were read from the store, but for those of users who are behind. The queue holds those
/// without a result. Events of one subject are sent one after the other: a failed event is retried before the next is
/// sent. Other subjects do not wait.
///
/// Users share the queue and the attempts in flight. Each may have as much of both as is free for the others, so that
/// there is always room for one more user. The events of a user beyond that stay in the store: the user is behind.
/// Users whose events are due take turns.
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
    /// No event is read while this many users are behind, except for these users.
    static let mostBehind = 64
    /// Failures in a row after which only one attempt is made at a time, with a pause after each: if none of them made a
    /// connection, or if the events of ``usersUntilProbing`` users failed. What the receiver refuses of one user says
    /// nothing about the others.
    static let failuresUntilProbing = 5
    static let usersUntilProbing = 3
    static let longestProbePause = Duration.seconds(60)
    /// The longest time for which a receiver's `Retry-After` is heeded.
    static let longestRetryAfter = Duration.seconds(3600)

    enum Outcome: Equatable {
        case taken
        /// - Parameter retryAfter: how long an overloaded receiver asks for no message.
        case failed(retryAfter: Duration?)
        /// The receiver says that there is nothing at its address.
        case gone
        /// No connection was made.
        case unreachable
    }

    enum Verdict: Equatable {
        case taken
        case retried(at: Instant)
        case givenUp
    }

    /// A part of the store's events to read next.
    enum Source: Equatable {
        case all(after: Int64)
        /// Those of a user who is behind; nil for the events that name no user.
        case user(Handle?, after: Int64)

        var position: Int64 {
            switch self {
            case .all(let position), .user(_, let position): position
            }
        }
    }

    /// A user whose events after `position` were not read, because the user's share of the queue was full.
    struct Lag: Equatable {
        var position: Int64
        /// The number of these events up to ``cursor``.
        var count: Int
        /// Grows with each page that is read for a user who is behind.
        fileprivate var read: UInt64 = 0

        init(position: Int64, count: Int) {
            self.position = position
            self.count = count
        }
    }

    private struct Held {
        let event: StoredEvent
        var attempts = 0
        var due: Instant
        var isInFlight = false
    }

    /// The events of one user in the queue.
    private struct Line {
        var count = 0
        var bytes = 0
        var inFlight = 0
        /// The first event of each subject, unless it is in flight.
        var ready = DeadlineQueue<Int64>()
        /// The place in ``turns``; nil without an event in ``ready``, and while the user is ``isBlocked``.
        var turn: (token: DeadlineQueue<Handle?>.Token, at: Instant)?
        /// When the last attempt began.
        var servedAt = Instant(milliseconds: .min)
        /// No event of the user is sent before: the receiver's `Retry-After` for one of them.
        var heeds = Instant(milliseconds: .min)
        /// As many attempts are in flight as the user may have.
        var isBlocked = false
    }

    private(set) var cursor: Int64
    private let room: Int
    private var held: [Int64: Held] = [:]
    private var bytes = 0
    /// Positions in order.
    private var subjects: [StoredEvent.Subject: Deque<Int64>] = [:]
    private var lines: [Handle?: Line] = [:]
    /// The users with events in ``Line/ready``, by the time of the first one. A user who was just served comes after
    /// all others whose events are due.
    private var turns = DeadlineQueue<Handle?>()
    private var blocked: [Handle?] = []
    private(set) var behind: [Handle?: Lag] = [:]
    private var reads: UInt64 = 0
    /// Whether the last page was read for all users.
    private var hasReadAll = false
    private var inFlight = 0
    /// Attempts that failed since the last success.
    private(set) var failures = 0
    /// The users of those that reached the receiver; at most ``usersUntilProbing``.
    private var failingUsers: Set<Handle?> = []
    /// The users of the last attempts, if all of these were ``Outcome/gone``; at most ``usersUntilProbing``.
    private var goneUsers: Set<Handle?> = []
    /// The last attempts that made no connection, one after the other.
    private var unreachable = 0
    /// No attempt is made before: the pause of a failing endpoint.
    private var rests: Instant?
    /// No attempt is made before: the receiver's `Retry-After` for events of ``usersUntilProbing`` users in a row.
    private var heeds: Instant?

    /// - Parameter room: the most events in the queue.
    init(cursor: Int64, room: Int = DeliveryQueue.mostHeld) {
        self.cursor = cursor
        self.room = room
    }

    /// Events without a result, with those up to ``cursor`` that stay in the store.
    var count: Int { held.count + behind.values.reduce(0) { $0 + $1.count } }
    var isProbing: Bool {
        unreachable >= Self.failuresUntilProbing
            || failures >= Self.failuresUntilProbing && failingUsers.count >= Self.usersUntilProbing
    }
    /// Whether events of ``usersUntilProbing`` users in a row were ``Outcome/gone``: the receiver wants none any more.
    var isGone: Bool { goneUsers.count >= Self.usersUntilProbing }
    var hasRoom: Bool { held.count < room && bytes < Self.mostBytes && behind.count < Self.mostBehind }
    /// When the oldest event was recorded.
    var oldest: Instant? { held.keys.min().flatMap { held[$0]?.event.at } }

    /// The events without a result, by position, with their attempts and the time of the next one.
    var unsettled: [(position: Int64, attempts: Int, due: Instant)] {
        held.sorted { $0.key < $1.key }.map { ($0.key, $0.value.attempts, $0.value.due) }
    }

    // MARK: Reading

    /// What to read from the store, whose last event is at `newest`; nil while there is no room. Pages for users who
    /// are behind alternate with pages for all.
    mutating func nextSource(newest: Int64) -> Source? {
        let isAllDue = cursor < newest && hasRoom
        let late = behind.filter { mayCatchUp($0.key) }.min { $0.value.read < $1.value.read }
        if let late, hasReadAll || !isAllDue {
            hasReadAll = false
            reads += 1
            behind[late.key]?.read = reads
            return .user(late.key, after: late.value.position)
        }
        guard isAllDue else { return nil }
        hasReadAll = true
        return .all(after: cursor)
    }

    /// Adds the next events of the store, in order; skips events of other kinds. Stops when there is no room.
    mutating func take(_ events: [StoredEvent], of kinds: Set<EventKind>, now: Instant) {
        for event in events where event.position > cursor {
            if kinds.contains(event.kind), !add(event, now) { return }
            cursor = event.position
        }
    }

    /// - Returns: false when the event can be neither held nor left to the store.
    private mutating func add(_ event: StoredEvent, _ now: Instant) -> Bool {
        if behind[event.user] != nil {
            behind[event.user]?.count += 1
        } else if mayHold(event) {
            hold(event, attempts: 0, due: now)
        } else {
            guard hasRoom else { return false }
            behind[event.user] = Lag(position: cursor, count: 1)
        }
        return true
    }

    /// Adds the events of a user who is behind, from the page of the store after the user's position. At ``cursor`` the
    /// user is not behind any more.
    mutating func take(_ events: [StoredEvent], of user: Handle?, _ kinds: Set<EventKind>, now: Instant) {
        guard var lag = behind.removeValue(forKey: user) else { return }
        for event in events {
            guard event.position <= cursor else { return }
            // A file that was edited by hand may name an event twice.
            if event.user == user, kinds.contains(event.kind), held[event.position] == nil {
                guard mayHold(event) else {
                    behind[user] = lag
                    return
                }
                hold(event, attempts: 0, due: now)
                lag.count = max(1, lag.count - 1)
            }
            lag.position = event.position
        }
        if !events.isEmpty, lag.position < cursor { behind[user] = lag }
    }

    /// Skips events that retention has deleted.
    mutating func pass(to position: Int64) { cursor = max(cursor, position) }

    /// Adds an event that an earlier process had not settled. In order, and before ``take(_:of:now:)``.
    mutating func restore(_ event: StoredEvent, attempts: Int, due: Instant) {
        hold(event, attempts: attempts, due: due)
    }

    /// Adds a user who was behind in an earlier process.
    mutating func restore(_ lag: Lag, of user: Handle?) { behind[user] = lag }

    // MARK: Shares

    /// Whether the user has less of the queue than is free, or the event takes the place of another.
    private func mayHold(_ event: StoredEvent) -> Bool {
        if outdated(by: event) != nil { return true }
        let line = lines[event.user] ?? Line()
        return line.count < room - held.count && line.bytes < Self.mostBytes - bytes
    }

    /// Whether a page is read for a user who is behind: not for each single place that becomes free.
    private func mayCatchUp(_ user: Handle?) -> Bool {
        guard held.count < room, bytes < Self.mostBytes else { return false }
        let line = lines[user] ?? Line()
        return 2 * line.count <= room - held.count && 2 * line.bytes <= Self.mostBytes - bytes
    }

    /// The waiting event whose place a later one of its device takes: `device.registered` has the whole device. The
    /// first event of the device stays, because an attempt may have been made.
    private func outdated(by event: StoredEvent) -> Int64? {
        guard event.kind == .deviceRegistered, let positions = subjects[event.subject], positions.count > 1,
            let last = positions.last, held[last]?.event.kind == .deviceRegistered
        else { return nil }
        return last
    }

    private mutating func hold(_ event: StoredEvent, attempts: Int, due: Instant) {
        if let outdated = outdated(by: event), let former = held.removeValue(forKey: outdated) {
            subjects[event.subject]?.removeLast()
            count(former.event, by: -1)
        }
        held[event.position] = Held(event: event, attempts: attempts, due: due)
        count(event, by: 1)
        subjects[event.subject, default: []].append(event.position)
        if subjects[event.subject]?.count == 1 { makeReady(event.position, of: event.user, at: due) }
    }

    private mutating func count(_ event: StoredEvent, by step: Int) {
        let size = step * event.body.bytes.count
        bytes += size
        lines[event.user, default: Line()].count += step
        lines[event.user]?.bytes += size
    }

    private mutating func makeReady(_ position: Int64, of user: Handle?, at due: Instant) {
        _ = lines[user]?.ready.add(position, at: due)
        lineUp(user)
    }

    /// Gives the user a turn for the first event that is ready.
    private mutating func lineUp(_ user: Handle?) {
        guard var line = lines[user], !line.isBlocked, let due = line.ready.next else { return }
        let at = max(due, line.servedAt, line.heeds)
        if let turn = line.turn {
            guard at < turn.at else { return }
            turns.cancel(turn.token)
        }
        line.turn = (turns.add(user, at: at), at)
        lines[user] = line
    }

    private mutating func unblock() {
        let users = blocked
        blocked = []
        for user in users {
            lines[user]?.isBlocked = false
            lineUp(user)
        }
    }

    // MARK: Attempts

    /// Starts the next attempt.
    /// - Returns: nil when none is due.
    mutating func next(at now: Instant) -> StoredEvent? {
        guard inFlight < mostInFlight, pauseEnd.map({ $0 <= now }) ?? true else { return nil }
        while let user = turns.popDue(now: now) {
            lines[user]?.turn = nil
            guard let line = lines[user], line.inFlight < mostInFlight - inFlight else {
                lines[user]?.isBlocked = true
                blocked.append(user)
                continue
            }
            guard let position = lines[user]?.ready.popDue(now: now) else {
                preconditionFailure("a user has a turn when an event is due")
            }
            inFlight += 1
            lines[user]?.inFlight += 1
            lines[user]?.servedAt = now
            held[position]?.isInFlight = true
            lineUp(user)
            return held[position]?.event
        }
        return nil
    }

    /// When ``next(at:)`` may return an event; nil while it waits for a result.
    var nextDue: Instant? {
        guard inFlight < mostInFlight, let next = turns.next else { return nil }
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
        lines[event.event.user]?.inFlight -= 1
        unblock()
        let wasProbing = isProbing
        note(outcome, of: event.event.user, now)
        switch outcome {
        case .taken:
            drop(position, event.event, now: now)
            if wasProbing { hastenRetries(now) }
            return .taken
        case .failed, .gone, .unreachable:
            // The receiver is back, and refuses this user only.
            if wasProbing, !isProbing { hastenRetries(now) }
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
            makeReady(position, of: event.event.user, at: event.due)
            return .retried(at: event.due)
        }
    }

    /// Notes what the outcome says about the endpoint.
    private mutating func note(_ outcome: Outcome, of user: Handle?, _ now: Instant) {
        if outcome != .gone { goneUsers = [] }
        switch outcome {
        case .taken: (failures, failingUsers, unreachable, rests) = (0, [], 0, nil)
        case .failed(let retryAfter):
            failures += 1
            unreachable = 0
            if failingUsers.count < Self.usersUntilProbing { failingUsers.insert(user) }
            if let retryAfter { heed(now + min(retryAfter, Self.longestRetryAfter), of: user) }
            rest(now)
        case .gone:
            failures += 1
            unreachable = 0
            if failingUsers.count < Self.usersUntilProbing { failingUsers.insert(user) }
            if !isGone { goneUsers.insert(user) }
            rest(now)
        case .unreachable:
            failures += 1
            unreachable += 1
            rest(now)
        }
    }

    /// What the receiver asks for an event of one user holds back that user's events. It holds back all once the events
    /// of several users have failed in a row.
    private mutating func heed(_ end: Instant, of user: Handle?) {
        guard failingUsers.count < Self.usersUntilProbing else { return heeds = max(heeds ?? end, end) }
        guard var line = lines[user] else { return }
        line.heeds = max(line.heeds, end)
        if let turn = line.turn { turns.cancel(turn.token) }
        line.turn = nil
        lines[user] = line
        lineUp(user)
    }

    private mutating func rest(_ now: Instant) {
        guard isProbing else { return rests = nil }
        let doublings = min(failures - Self.failuresUntilProbing, 6)
        rests = max(rests ?? now, now + min(.seconds(1 << doublings), Self.longestProbePause))
    }

    private mutating func drop(_ position: Int64, _ event: StoredEvent, now: Instant) {
        held[position] = nil
        count(event, by: -1)
        subjects[event.subject]?.removeFirst()
        if let next = subjects[event.subject]?.first {
            makeReady(next, of: event.user, at: max(now, held[next]?.due ?? now))
        } else {
            subjects[event.subject] = nil
        }
        if lines[event.user]?.count == 0 { lines.removeValue(forKey: event.user) }
    }

    /// Makes all retries due now, whatever the receiver asked for: an administrator resumed the endpoint.
    mutating func hasten(_ now: Instant) {
        (rests, heeds, goneUsers) = (nil, nil, [])
        for user in Array(lines.keys) { lines[user]?.heeds = Instant(milliseconds: .min) }
        hastenRetries(now)
    }

    /// Makes all retries due now. A pause that is cut short does not use up an attempt: otherwise a receiver that comes
    /// and goes would use up all attempts within minutes.
    private mutating func hastenRetries(_ now: Instant) {
        (turns, blocked) = (DeadlineQueue(), [])
        for user in Array(lines.keys) {
            lines[user]?.ready = DeadlineQueue()
            lines[user]?.turn = nil
            lines[user]?.isBlocked = false
        }
        for (_, positions) in subjects.sorted(by: { ($0.value.first ?? 0) < ($1.value.first ?? 0) }) {
            guard let first = positions.first, var event = held[first], !event.isInFlight else { continue }
            if event.due > now { event.attempts = max(0, event.attempts - 1) }
            event.due = now
            held[first] = event
            makeReady(first, of: event.event.user, at: now)
        }
    }

    /// Goes back to an earlier position, to send the events after it again. No attempt may be in flight.
    mutating func rewind(to position: Int64, now: Instant) {
        let kept = unsettled.filter { $0.position <= position }.compactMap { held[$0.position]?.event }
        let late = behind.filter { $0.value.position < position }
        self = DeliveryQueue(cursor: position, room: room)
        for event in kept { hold(event, attempts: 0, due: now) }
        // How many of their events are before the position is not known.
        behind = late.mapValues { Lag(position: $0.position, count: 1) }
    }

    /// Ends all attempts in flight without a result; their events are sent again.
    mutating func abandonAttempts(now: Instant) {
        inFlight = 0
        for user in Array(lines.keys) { lines[user]?.inFlight = 0 }
        for (position, event) in held.sorted(by: { $0.key < $1.key }) where event.isInFlight {
            held[position]?.isInFlight = false
            makeReady(position, of: event.event.user, at: now)
        }
        unblock()
    }
}
