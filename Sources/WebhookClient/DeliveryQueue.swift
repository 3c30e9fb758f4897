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
/// Users whose events are due take turns. An attempt that is not answered at once makes room for another one: many
/// users whose events the receiver never answers do not make the others wait.
///
/// Users whose events fail, or take long, have at most half of the queue, and of the attempts that begin, all together;
/// one who holds nothing may always hold an event. They take turns with the others, and each has one attempt in flight.
/// After a failure a user rests, the longer the more attempts failed and the longer they took: somebody whose events
/// fail for good does not stand before those for whom an outage is over. What fails for a user says nothing about the
/// others: while the endpoint fails, events of users without a failure are tried at once, and the first success ends it.
///
/// Users whose last event was taken take turns with those of whom nothing is known, so that however many new accounts
/// have events that fail, they do not make the others wait.
struct DeliveryQueue {
    /// The pause after each attempt. An event is given up when the attempt after the last pause fails. The values are
    /// the ones that Standard Webhooks recommends.
    static let pauses: [Duration] = [
        .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]
    /// The most attempts in flight that began less than ``promptness`` ago.
    static let mostInFlight = 8
    /// The most attempts in flight; half for those of whom nothing is known, a quarter for failing users.
    static let mostOpen = 256
    /// How long an attempt counts for ``mostInFlight``.
    static let promptness = Duration.milliseconds(100)
    /// The most users kept as proven, and as failing, when they have no events: the last ones, up to twice this number.
    static let mostKnown = 1024
    /// No event is read while the queue holds this many events, or this many bytes of bodies. Further events stay in
    /// the store.
    static let mostHeld = 1000
    static let mostBytes = 4 << 20
    /// No event is read while this many users are behind, except for these users.
    static let mostBehind = 1000
    /// Failures in a row after which the endpoint fails: if none of them made a connection, or if the events of
    /// ``usersUntilProbing`` users failed for the first time. Failing users have one attempt in ``failingProbePause``
    /// then. If no connection was made, there is one attempt at a time for all, with a pause after each.
    static let failuresUntilProbing = 5
    static let usersUntilProbing = 3
    /// Also the longest rest of a user.
    static let longestProbePause = Duration.seconds(60)
    /// It doubles as the one for users of whom nothing is known, twice at most.
    static let failingProbePause = Duration.seconds(1)
    /// The pause between attempts for users without a failure, while the endpoint fails. For users of whom nothing is
    /// known it doubles when ``usersUntilSlower`` more of them have failed.
    static let shortestProbePause = Duration.milliseconds(10)
    static let usersUntilSlower = 64
    /// A user whose attempt took longer counts as failing.
    static let slowAfter = Duration.seconds(1)
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
        /// Whether `position` went back since the last page was asked for.
        fileprivate var isRewound = false

        init(position: Int64, count: Int) {
            self.position = position
            self.count = count
        }
    }

    private struct Held {
        let event: StoredEvent
        var attempts = 0
        var due: Instant
        /// Whether an attempt has failed at the receiver.
        var hasFailed: Bool
        /// When the attempt in flight began.
        var began: Instant?
        /// Its place in ``DeliveryQueue/prompt`` or ``DeliveryQueue/promptOfFailing``.
        var prompt: (token: DeadlineQueue<Int64>.Token, isOfFailing: Bool)?

        var isInFlight: Bool { began != nil }
    }

    /// Places in the queue, and attempts in flight.
    private struct Load {
        var count = 0
        var bytes = 0
        var inFlight = 0

        static func += (sum: inout Load, other: Load) {
            sum.count += other.count
            sum.bytes += other.bytes
            sum.inFlight += other.inFlight
        }

        static func -= (sum: inout Load, other: Load) {
            sum.count -= other.count
            sum.bytes -= other.bytes
            sum.inFlight -= other.inFlight
        }
    }

    private enum Standing: Int, CaseIterable {
        /// The last event was taken.
        case proven
        case unknown
        /// Events fail, or take long, and some were taken before.
        case troubled
        /// Events fail, or take long.
        case failing

        var isFailing: Bool { self == .troubled || self == .failing }
    }

    /// The last users with something in common. Memory use is bounded.
    private struct RecentUsers {
        private var newer: Set<Handle?> = []
        private var older: Set<Handle?> = []

        func contains(_ user: Handle?) -> Bool { newer.contains(user) || older.contains(user) }

        mutating func insert(_ user: Handle?) {
            if newer.count >= DeliveryQueue.mostKnown { (older, newer) = (newer, []) }
            newer.insert(user)
        }

        mutating func remove(_ user: Handle?) {
            newer.remove(user)
            older.remove(user)
        }
    }

    /// The events of one user in the queue.
    private struct Line {
        var load = Load()
        /// The user's events that have failed.
        var failed = 0
        /// Whether an event has failed. Ends when an event is taken and no failed one waits.
        var hasFailed = false
        /// Whether the last attempt took longer than ``slowAfter``.
        var isSlow = false
        /// Whether the last event was taken.
        var isProven = false
        /// Whether an event was taken since the user has some in the queue.
        var wasProven = false
        /// Whether the last attempt was ``Outcome/gone``.
        var isGone = false
        /// The last position that has a result.
        var settled = Int64.min
        /// The first event of each subject, unless it is in flight.
        var ready = DeadlineQueue<Int64>()
        /// The place in ``turns``; nil without an event in ``ready``, and while the user is ``isBlocked``.
        var turn: (token: DeadlineQueue<Handle?>.Token, at: Instant)?
        /// When the last attempt began.
        var servedAt = Instant(milliseconds: .min)
        /// No event of the user is sent before: the receiver's `Retry-After` for one of them.
        var heeds = Instant(milliseconds: .min)
        /// The attempts that failed since one of the user's events was taken.
        var failures = 0
        /// No event of the user is sent before, because the last attempt failed.
        var rests = Instant(milliseconds: .min)
        /// As many attempts are in flight as the user may have.
        var isBlocked = false

        var standing: Standing {
            hasFailed || isSlow ? (wasProven ? .troubled : .failing) : isProven ? .proven : .unknown
        }
    }

    private(set) var cursor: Int64
    private let room: Int
    private var held: [Int64: Held] = [:]
    private var bytes = 0
    /// Positions in order.
    private var subjects: [StoredEvent.Subject: Deque<Int64>] = [:]
    private var lines: [Handle?: Line] = [:]
    private var proven = RecentUsers()
    /// Users who had no events any more after a failure or a slow answer.
    private var failingBefore = RecentUsers()
    /// The load of all failing users.
    private var failing = Load()
    /// The users with events in ``Line/ready``, by ``Standing``, and by the time of the first one. A user who was just
    /// served comes after all others whose events are due.
    private var turns = [DeadlineQueue<Handle?>](repeating: DeadlineQueue(), count: Standing.allCases.count)
    /// Whose turn the last one was.
    private var served = Standing.failing
    private var blocked: [Handle?] = []
    private(set) var behind: [Handle?: Lag] = [:]
    private var reads: UInt64 = 0
    /// Whether the last page was read for all users.
    private var hasReadAll = false
    private var inFlight = 0
    /// The attempts in flight of users who were not failing, and of those who were, by the time until which they count
    /// for ``mostInFlight``.
    private var prompt = DeadlineQueue<Int64>()
    private var promptOfFailing = DeadlineQueue<Int64>()
    /// Attempts that failed since the last success.
    private(set) var failures = 0
    /// The users of those that reached the receiver, if no event of the user had failed before.
    private var failingUsers = 0
    /// Such users of the last attempts, if all of these were ``Outcome/gone``.
    private var goneUsers = 0
    /// The last attempts that made no connection, one after the other.
    private var unreachable = 0
    /// No attempt is made before: the pause while no connection is made.
    private var rests: Instant?
    /// No attempt for a user of this standing is made before, while the endpoint fails.
    private var probesFrom: [Standing: Instant] = [:]
    /// Whether events of ``usersUntilProbing`` users in a row were ``Outcome/gone``: the receiver seems to want none any
    /// more. Those of users whose last attempt was that, too, wait until another user's is taken.
    private(set) var isGone = false

    /// - Parameter room: the most events in the queue.
    init(cursor: Int64, room: Int = DeliveryQueue.mostHeld) {
        self.cursor = cursor
        self.room = room
    }

    /// Events without a result, with those up to ``cursor`` that stay in the store.
    var count: Int { held.count + behind.values.reduce(0) { $0 + $1.count } }
    /// Whether the endpoint fails.
    var isProbing: Bool {
        isGone || isUnreachable
            || failures >= Self.failuresUntilProbing && failingUsers >= Self.usersUntilProbing
    }
    private var isUnreachable: Bool { unreachable >= Self.failuresUntilProbing }
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
            behind[late.key]?.isRewound = false
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
            shed()
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
        // The page begins too late.
        guard !lag.isRewound else { return behind[user] = lag }
        defer { forgetIfIdle(user) }
        for event in events {
            guard event.position <= cursor else { return }
            // A file that was edited by hand may name an event twice.
            if event.user == user, kinds.contains(event.kind), held[event.position] == nil {
                guard mayHold(event) else {
                    behind[user] = lag
                    return
                }
                hold(event, attempts: 0, due: now)
                shed()
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
        // Later ones of the user may have a result.
        change(event.user) { $0.settled = max($0.settled, event.position) }
    }

    /// Adds a user who was behind in an earlier process.
    mutating func restore(_ lag: Lag, of user: Handle?) { behind[user] = lag }

    /// Notes that the receiver wanted no events in an earlier process.
    mutating func restoreGone() {
        isGone = true
        for user in Array(lines.keys) where lines[user]?.standing.isFailing == true {
            lines[user]?.isGone = true
            loseTurn(user)
        }
    }

    // MARK: Shares

    private func line(of user: Handle?) -> Line {
        if let line = lines[user] { return line }
        var line = Line()
        line.isSlow = failingBefore.contains(user)
        line.isProven = proven.contains(user)
        line.wasProven = line.isProven
        return line
    }

    /// The places and bytes that are free for the user.
    private func free(for line: Line) -> (count: Int, bytes: Int) {
        let all = (count: room - held.count, bytes: Self.mostBytes - bytes)
        switch line.standing {
        case .proven, .unknown: return all
        case .troubled, .failing:
            return (min(all.count, room / 2 - failing.count), min(all.bytes, Self.mostBytes / 2 - failing.bytes))
        }
    }

    /// Whether the user has less of the queue than is free, or the event takes the place of another.
    private func mayHold(_ event: StoredEvent) -> Bool {
        if outdated(by: event) != nil { return true }
        let line = line(of: event.user)
        let (places, size) = free(for: line)
        return line.load.count < places && line.load.bytes < size || hasLess(line)
    }

    /// Whether a page is read for a user who is behind: not for each single place that becomes free.
    private func mayCatchUp(_ user: Handle?) -> Bool {
        let line = line(of: user)
        let (places, size) = free(for: line)
        return places > 0 && size > 0 && 2 * line.load.count <= places && 2 * line.load.bytes <= size
            || hasLess(line, than: 2)
    }

    /// An equal part of the failing users' half.
    private var failingShare: (count: Int, bytes: Int) {
        let users = max(1, lines.values.count { $0.standing.isFailing && $0.load.count > 0 })
        return (max(1, room / 2 / users), Self.mostBytes / 2 / users)
    }

    /// Whether a failing user has less than an equal part of their half, divided by `divisor`, and may hold an event
    /// beyond the half: ``shed()`` then takes one of a user who has more. Where nobody does, they have three quarters.
    private func hasLess(_ line: Line, than divisor: Int = 1) -> Bool {
        guard line.standing.isFailing, held.count < room, bytes < Self.mostBytes, failing.count < room - room / 4,
            failing.bytes < Self.mostBytes / 4 * 3
        else { return false }
        let share = failingShare
        return line.load.count == 0
            || line.load.count < share.count / divisor && line.load.bytes < share.bytes / divisor
    }

    /// Whether the failing users have more than their half.
    private var isFailingHalfExceeded: Bool { failing.count > room / 2 || failing.bytes > Self.mostBytes / 2 }

    /// Leaves the newest events of failing users to the store, first those of the user with the most of them, until they
    /// have half of the queue. Each user keeps an equal part, and what comes before an event that is in flight or has a
    /// result: it would be read again together with that one.
    private mutating func shed() {
        guard isFailingHalfExceeded else { return }
        var spare: [Handle?: [Int64]] = [:]
        for (position, event) in held.sorted(by: { $0.key < $1.key }) {
            let user = event.event.user
            guard let line = lines[user], line.standing.isFailing else { continue }
            if spare[user] == nil || event.isInFlight || position <= line.settled {
                spare[user] = []
            } else {
                spare[user]?.append(position)
            }
        }
        // A user with half of an equal part is not read for, so that nothing goes to and fro.
        var kept = failingShare
        while isFailingHalfExceeded {
            let users = spare.filter { user, positions in
                guard let load = lines[user]?.load, !positions.isEmpty else { return false }
                return (load.count > kept.count || load.bytes > kept.bytes)
                    && (behind[user] != nil || behind.count < Self.mostBehind)
            }
            let most = users.max { a, b in
                (a.value.count, a.value.last ?? 0) < (b.value.count, b.value.last ?? 0)
            }
            guard let most else {
                let half = (count: failingShare.count / 2, bytes: failingShare.bytes / 2)
                guard kept != half else { return }
                kept = half
                continue
            }
            let more = max(1, (lines[most.key]?.load.count ?? 0) - kept.count)
            let number = min((most.value.count + 1) / 2, more)
            leave(most.value.suffix(number), of: most.key)
            spare[most.key] = Array(most.value.dropLast(number))
        }
    }

    /// Leaves the events, which are the user's newest ones, to the store.
    private mutating func leave(_ positions: ArraySlice<Int64>, of user: Handle?) {
        guard let first = positions.first else { return }
        for position in positions {
            guard let event = remove(position)?.event else { continue }
            subjects[event.subject]?.removeAll { $0 == position }
            if subjects[event.subject]?.isEmpty == true { subjects[event.subject] = nil }
        }
        var lag = behind[user] ?? Lag(position: first - 1, count: 0)
        lag.position = min(lag.position, first - 1)
        lag.count += positions.count
        lag.isRewound = true
        behind[user] = lag
        loseTurn(user)
        lines[user]?.ready = DeadlineQueue()
        for (position, event) in held.sorted(by: { $0.key < $1.key }) where event.event.user == user {
            guard !event.isInFlight, subjects[event.event.subject]?.first == position else { continue }
            _ = lines[user]?.ready.add(position, at: event.due)
        }
        lineUp(user)
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
        if let outdated = outdated(by: event), remove(outdated) != nil { subjects[event.subject]?.removeLast() }
        let hasFailed = attempts > 0
        held[event.position] = Held(event: event, attempts: attempts, due: due, hasFailed: hasFailed)
        let size = event.body.bytes.count
        bytes += size
        change(event.user) { line in
            line.load.count += 1
            line.load.bytes += size
            if hasFailed { (line.failed, line.hasFailed) = (line.failed + 1, true) }
        }
        subjects[event.subject, default: []].append(event.position)
        if subjects[event.subject]?.count == 1 { makeReady(event.position, of: event.user, at: due) }
    }

    private mutating func remove(_ position: Int64) -> Held? {
        guard let event = held.removeValue(forKey: position) else { return nil }
        let size = event.event.body.bytes.count
        bytes -= size
        change(event.event.user) { line in
            line.load.count -= 1
            line.load.bytes -= size
            if event.hasFailed { line.failed -= 1 }
        }
        return event
    }

    /// Changes the load or the standing of the user.
    private mutating func change(_ user: Handle?, _ body: (inout Line) -> Void) {
        var line = line(of: user)
        let (load, standing) = (line.load, line.standing)
        body(&line)
        if standing.isFailing { failing -= load }
        if line.standing.isFailing { failing += line.load }
        guard line.standing != standing else { return lines[user] = line }
        loseTurn(user)
        line.turn = nil
        lines[user] = line
        lineUp(user)
    }

    private mutating func loseTurn(_ user: Handle?) {
        guard let line = lines[user], let turn = line.turn else { return }
        turns[line.standing.rawValue].cancel(turn.token)
        lines[user]?.turn = nil
    }

    private mutating func makeReady(_ position: Int64, of user: Handle?, at due: Instant) {
        _ = lines[user]?.ready.add(position, at: due)
        lineUp(user)
    }

    /// Gives the user a turn for the first event that is ready.
    private mutating func lineUp(_ user: Handle?) {
        guard var line = lines[user], !line.isBlocked, !(isGone && line.isGone), let due = line.ready.next
        else { return }
        let at = max(due, line.servedAt, line.heeds, line.rests)
        if let turn = line.turn {
            guard at < turn.at else { return }
            turns[line.standing.rawValue].cancel(turn.token)
        }
        line.turn = (turns[line.standing.rawValue].add(user, at: at), at)
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
        var hasRoom = false
        while prompt.popDue(now: now) != nil { hasRoom = true }
        while promptOfFailing.popDue(now: now) != nil { hasRoom = true }
        if hasRoom { unblock() }
        let (all, last) = (Standing.allCases, served.rawValue)
        for standing in all.suffix(from: last + 1) + all.prefix(through: last) {
            if let event = next(of: standing, at: now) { return event }
        }
        return nil
    }

    private mutating func next(of standing: Standing, at now: Instant) -> StoredEvent? {
        guard mayBegin(standing), pauseEnd(of: standing).map({ $0 <= now }) ?? true else { return nil }
        while let user = turns[standing.rawValue].popDue(now: now) {
            lines[user]?.turn = nil
            guard let line = lines[user], line.load.inFlight < mostInFlight(of: standing) else {
                lines[user]?.isBlocked = true
                blocked.append(user)
                continue
            }
            guard let position = lines[user]?.ready.popDue(now: now) else {
                preconditionFailure("a user has a turn when an event is due")
            }
            inFlight += 1
            change(user) { line in
                line.load.inFlight += 1
                line.servedAt = now
            }
            held[position]?.began = now
            held[position]?.prompt =
                standing.isFailing
                ? (promptOfFailing.add(position, at: now + Self.promptness), true)
                : (prompt.add(position, at: now + Self.promptness), false)
            served = standing
            if isProbing { probesFrom[standing] = now + probePause(of: standing) }
            lineUp(user)
            return held[position]?.event
        }
        return nil
    }

    /// When ``next(at:)`` may return an event; nil while it waits for a result.
    var nextDue: Instant? {
        var dues = Standing.allCases.compactMap { standing -> Instant? in
            guard let next = turns[standing.rawValue].next else { return nil }
            guard let from = mayBegin(standing) ? next : roomDue(for: standing) else { return nil }
            return max(from, next, pauseEnd(of: standing) ?? next)
        }
        if !blocked.isEmpty, let due = prompt.next { dues.append(due) }
        return dues.min()
    }

    /// When the next attempt in flight stops counting for ``mostInFlight``.
    private func roomDue(for standing: Standing) -> Instant? {
        guard isOpen(to: standing) else { return nil }
        return standing.isFailing ? promptOfFailing.next : prompt.next
    }

    /// Whether the attempts in flight, however long they take, leave room for one of this standing.
    private func isOpen(to standing: Standing) -> Bool {
        guard !isUnreachable else { return inFlight == 0 }
        switch standing {
        case .proven: return inFlight < Self.mostOpen
        case .unknown: return inFlight < Self.mostOpen / 2
        case .troubled, .failing: return failing.inFlight < Self.mostOpen / 4 && inFlight < Self.mostOpen
        }
    }

    /// Whether users of this standing may have another attempt in flight. Those without a failure always have half.
    private func mayBegin(_ standing: Standing) -> Bool {
        guard isOpen(to: standing) else { return false }
        let half = Self.mostInFlight / 2
        switch standing {
        case .proven, .unknown:
            return prompt.count < (isProbing ? half : max(half, Self.mostInFlight - promptOfFailing.count))
        case .troubled, .failing: return promptOfFailing.count < half
        }
    }

    /// The most attempts that one user may have in flight. While many are not answered, each user has one.
    private func mostInFlight(of standing: Standing) -> Int {
        switch standing {
        case .proven, .unknown:
            isProbing ? 1 : max(1, Self.mostInFlight - (inFlight - failing.inFlight))
        case .troubled, .failing: 1
        }
    }

    private func pauseEnd(of standing: Standing) -> Instant? {
        isUnreachable ? rests : isProbing ? probesFrom[standing] : nil
    }

    private func probePause(of standing: Standing) -> Duration {
        let doublings = failingUsers / Self.usersUntilSlower
        return switch standing {
        case .proven: Self.shortestProbePause
        case .unknown: min(Self.shortestProbePause * (1 << min(doublings, 16)), Self.longestProbePause)
        case .troubled: Self.promptness
        case .failing: Self.failingProbePause * (1 << min(doublings, 2))
        }
    }

    /// Ends the attempt for the event at `position`.
    mutating func finish(
        _ position: Int64, _ outcome: Outcome, now: Instant, random: inout some RandomNumberGenerator
    ) -> Verdict {
        guard var event = held[position], event.isInFlight else { preconditionFailure("no attempt for \(position)") }
        let user = event.event.user
        inFlight -= 1
        if let place = event.prompt.take() {
            if place.isOfFailing { promptOfFailing.cancel(place.token) } else { prompt.cancel(place.token) }
        }
        change(user) { $0.load.inFlight -= 1 }
        unblock()
        let wasProbing = isProbing
        note(outcome, of: user, now)
        mark(event, outcome, now)
        switch outcome {
        case .taken:
            drop(position, event.event, now: now)
            if wasProbing { hastenRetries(now) }
            shed()
            return .taken
        case .failed, .gone, .unreachable:
            // The receiver is back, and refuses this user only.
            if wasProbing, !isProbing { hastenRetries(now) }
            event.attempts += 1
            event.began = nil
            event.hasFailed = event.hasFailed || outcome != .unreachable
            held[position] = event
            guard event.attempts <= Self.pauses.count else {
                drop(position, event.event, now: now)
                return .givenUp
            }
            let pause = Self.pauses[event.attempts - 1]
            // Up to a tenth more, so that events that failed together do not come back together.
            let jitter = Int64.random(in: 0...pause.wholeMilliseconds / 10, using: &random)
            event.due = now + pause + .milliseconds(jitter)
            held[position] = event
            makeReady(position, of: user, at: event.due)
            shed()
            return .retried(at: event.due)
        }
    }

    /// Notes what the outcome says about the endpoint.
    private mutating func note(_ outcome: Outcome, of user: Handle?, _ now: Instant) {
        switch outcome {
        case .taken:
            (failures, failingUsers, goneUsers, unreachable) = (0, 0, 0, 0)
            (rests, probesFrom, isGone) = (nil, [:], false)
            return
        case .failed, .gone:
            unreachable = 0
            let isFirst = lines[user]?.hasFailed != true
            if isFirst { failingUsers += 1 }
            if outcome != .gone { goneUsers = 0 } else if isFirst { goneUsers += 1 }
            if goneUsers >= Self.usersUntilProbing, !isGone {
                isGone = true
                for user in Array(lines.keys) where lines[user]?.isGone == true { loseTurn(user) }
            }
        case .unreachable:
            goneUsers = 0
            unreachable += 1
        }
        failures += 1
        rest(now)
    }

    /// Notes what the outcome of the attempt says about the event's user.
    private mutating func mark(_ event: Held, _ outcome: Outcome, _ now: Instant) {
        let user = event.event.user
        let isSlow = event.began.map { now - $0 > Self.slowAfter } ?? false
        switch outcome {
        case .taken:
            change(user) { line in
                line.hasFailed = line.failed > (event.hasFailed ? 1 : 0)
                line.isSlow = isSlow
                (line.isProven, line.wasProven, line.isGone) = (true, true, false)
                (line.failures, line.rests) = (0, Instant(milliseconds: .min))
            }
            if lines[user]?.standing == .proven {
                proven.insert(user)
                failingBefore.remove(user)
            }
        case .failed, .gone:
            change(user) { line in
                if !event.hasFailed { line.failed += 1 }
                line.hasFailed = true
                line.isSlow = isSlow
                line.isProven = false
                line.isGone = outcome == .gone
            }
            proven.remove(user)
            rest(user, after: event.began.map { now - $0 } ?? .zero, now)
            if case .failed(let retryAfter?) = outcome { heed(now + min(retryAfter, Self.longestRetryAfter), of: user) }
        // It says nothing about the user.
        case .unreachable: break
        }
    }

    /// What the receiver asks for an event of one user holds back that user's events.
    private mutating func heed(_ end: Instant, of user: Handle?) {
        loseTurn(user)
        let heeds = max(lines[user]?.heeds ?? end, end)
        lines[user]?.heeds = heeds
        lineUp(user)
    }

    /// Notes that the user's attempt failed after `duration`. One that is refused at once is no burden, unless the
    /// receiver refuses everybody.
    private mutating func rest(_ user: Handle?, after duration: Duration, _ now: Instant) {
        let pause = isProbing ? max(duration, Self.failingProbePause) : duration
        loseTurn(user)
        if var line = lines[user] {
            line.rests = now + min(pause * (1 << min(line.failures, 6)), Self.longestProbePause)
            line.failures += 1
            lines[user] = line
        }
        lineUp(user)
    }

    private mutating func rest(_ now: Instant) {
        guard isProbing else { return (rests, probesFrom) = (nil, [:]) }
        let doublings = min(max(0, failures - Self.failuresUntilProbing), 6)
        rests = max(rests ?? now, now + min(.seconds(1 << doublings), Self.longestProbePause))
        for standing in Standing.allCases where probesFrom[standing] == nil {
            probesFrom[standing] = now + probePause(of: standing)
        }
    }

    private mutating func drop(_ position: Int64, _ event: StoredEvent, now: Instant) {
        _ = remove(position)
        change(event.user) { $0.settled = max($0.settled, position) }
        subjects[event.subject]?.removeFirst()
        if let next = subjects[event.subject]?.first {
            makeReady(next, of: event.user, at: max(now, held[next]?.due ?? now))
        } else {
            subjects[event.subject] = nil
        }
        forgetIfIdle(event.user)
    }

    /// Forgets a user without events in the queue and in the store.
    private mutating func forgetIfIdle(_ user: Handle?) {
        guard let line = lines[user], line.load.count == 0, behind[user] == nil else { return }
        if line.standing.isFailing { failingBefore.insert(user) }
        lines.removeValue(forKey: user)
    }

    /// Makes all retries due now, whatever the receiver asked for: an administrator resumed the endpoint.
    mutating func hasten(_ now: Instant) {
        (rests, probesFrom, goneUsers, isGone) = (nil, [:], 0, false)
        for user in Array(lines.keys) {
            lines[user]?.heeds = Instant(milliseconds: .min)
            lines[user]?.rests = Instant(milliseconds: .min)
        }
        hastenRetries(now)
    }

    /// Makes all retries due now, but for users who rest because the receiver took long to fail, and of whom nothing was
    /// taken. A pause that is cut short does not use up an attempt: otherwise a receiver that comes and goes would use
    /// up all within minutes.
    private mutating func hastenRetries(_ now: Instant) {
        (turns, blocked) = (turns.map { _ in DeadlineQueue<Handle?>() }, [])
        for user in Array(lines.keys) {
            lines[user]?.ready = DeadlineQueue()
            lines[user]?.turn = nil
            lines[user]?.isBlocked = false
            if let line = lines[user], line.wasProven || !line.isSlow {
                lines[user]?.rests = Instant(milliseconds: .min)
            }
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
        var new = DeliveryQueue(cursor: position, room: room)
        (new.isGone, new.proven, new.failingBefore) = (isGone, proven, failingBefore)
        self = new
        for event in kept { hold(event, attempts: 0, due: now) }
        // How many of their events are before the position is not known.
        behind = late.mapValues { Lag(position: $0.position, count: 1) }
    }

    /// Ends all attempts in flight without a result; their events are sent again.
    mutating func abandonAttempts(now: Instant) {
        (inFlight, prompt, promptOfFailing) = (0, DeadlineQueue(), DeadlineQueue())
        for user in Array(lines.keys) { change(user) { $0.load.inFlight = 0 } }
        for (position, event) in held.sorted(by: { $0.key < $1.key }) where event.isInFlight {
            held[position]?.began = nil
            held[position]?.prompt = nil
            makeReady(position, of: event.event.user, at: now)
        }
        unblock()
    }
}
