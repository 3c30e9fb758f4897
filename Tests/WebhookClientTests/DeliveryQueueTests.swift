import CallCore
import CallVocabulary
import Determinism
import StoreInterface
import Testing

@testable import WebhookClient

struct DeliveryQueueTests {
    private static let start = Instant(milliseconds: 1_000_000)
    private static func call(_ number: UInt64) -> StoredEvent.Subject { .call(CallID(high: 0, low: number)) }

    /// - Parameters:
    ///   - user: without one, each call has a user of its own.
    ///   - bytes: of the body.
    private static func event(
        _ position: Int64, of subject: StoredEvent.Subject, by user: String? = nil, _ kind: EventKind = .callEnded,
        bytes: Int = 10
    ) -> StoredEvent {
        let owner: String =
            switch subject {
            case .call(let call): user ?? "u\(call.low)"
            case .device(let key): key.user.text
            }
        return StoredEvent(
            position: position, id: EventID(high: 0, low: UInt64(position)), kind: kind, at: start,
            subject: subject, user: Handle(owner), body: RawJSON(bytes: [UInt8](repeating: 0x20, count: bytes)))
    }

    /// Events of different calls of one user.
    private static func events(_ positions: ClosedRange<Int64>, by user: String) -> [StoredEvent] {
        positions.map { event($0, of: call(UInt64($0)), by: user) }
    }

    private var random = SeededGenerator(seed: 1)
    private var queue = DeliveryQueue(cursor: 0)

    private mutating func take(_ events: [StoredEvent], at now: Instant = start) {
        queue.take(events, of: [.callEnded], now: now)
    }

    /// The positions of all attempts that can be started.
    private mutating func started(at now: Instant = start) -> [Int64] {
        var positions: [Int64] = []
        while let event = queue.next(at: now) { positions.append(event.position) }
        return positions
    }

    private mutating func finish(
        _ position: Int64, _ outcome: DeliveryQueue.Outcome = .taken, at now: Instant = start
    ) -> DeliveryQueue.Verdict {
        queue.finish(position, outcome, now: now, random: &random)
    }

    @Test("events of one call are sent one after the other, those of others beside them")
    mutating func order() {
        take([1, 2, 3].map { Self.event($0, of: Self.call(1)) } + [Self.event(4, of: Self.call(2))])
        #expect(started() == [1, 4])
        #expect(finish(4) == .taken)
        #expect(started() == [])
        #expect(finish(1) == .taken)
        #expect(started() == [2])
        #expect(finish(2) == .taken)
        #expect(started() == [3])
        #expect(finish(3) == .taken)
        #expect(queue.count == 0 && queue.cursor == 4)
    }

    @Test("a failed event is sent again before the next one of its call")
    mutating func failure() {
        take([1, 2].map { Self.event($0, of: Self.call(1)) })
        #expect(started() == [1])
        guard case .retried(let at) = finish(1, .failed(retryAfter: nil)) else {
            Issue.record("the event is not retried")
            return
        }
        #expect(started(at: at + .milliseconds(-1)) == [])
        #expect(queue.nextDue == at)
        #expect(started(at: at) == [1])
        #expect(finish(1, at: at) == .taken)
        #expect(started(at: at) == [2])
    }

    @Test("pauses are those of Standard Webhooks, up to a tenth longer; after the last one the event is given up")
    mutating func pauses() {
        take([1, 2].map { Self.event($0, of: Self.call(1)) })
        var now = Self.start
        var verdicts: [DeliveryQueue.Verdict] = []
        for pause in DeliveryQueue.pauses {
            #expect(started(at: now) == [1])
            let verdict = finish(1, .failed(retryAfter: nil), at: now)
            verdicts.append(verdict)
            guard case .retried(let at) = verdict else { continue }
            #expect(at >= now + pause && at <= now + pause + pause / 10)
            now = at
        }
        #expect(!verdicts.contains(.givenUp) && verdicts.count == 9)
        #expect(started(at: now) == [1])
        #expect(finish(1, .failed(retryAfter: nil), at: now) == .givenUp)
        // The call goes on with the next event, when the probe's pause is over.
        let due = queue.nextDue
        #expect(due.map { $0 - now <= DeliveryQueue.longestProbePause } == true)
        #expect(started(at: due ?? now) == [2])
    }

    @Test("after five failures in a row one attempt is made at a time; a success sends all that wait")
    mutating func probing() {
        take((1...20).map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(started() == [1, 2, 3, 4, 5, 6, 7, 8])
        for position in 1...8 { _ = finish(Int64(position), .failed(retryAfter: nil)) }
        #expect(queue.isProbing)
        #expect(started() == [])
        let probe = queue.nextDue ?? Self.start
        #expect(probe > Self.start && probe <= Self.start + DeliveryQueue.longestProbePause)
        #expect(started(at: probe) == [9])
        #expect(finish(9, at: probe) == .taken)
        // Also the first ones, whose next attempt was later; they have half of the attempts.
        #expect(Set(started(at: probe)) == [1, 2, 3, 4, 11, 12, 13, 10])
    }

    @Test("while no connection is made, the probe's pause grows to a minute, and no more")
    mutating func probePauses() {
        take((1...60).map { Self.event($0, of: Self.call(UInt64($0)), by: "u\($0 % 3)") })
        var now = Self.start
        var pauses: [Duration] = []
        for _ in 0..<20 {
            guard let position = queue.next(at: now)?.position else { break }
            _ = finish(position, .unreachable, at: now)
            let next = queue.nextDue ?? now
            if queue.isProbing { pauses.append(next - now) }
            now = max(now, next)
        }
        #expect(pauses.first == .seconds(1))
        #expect(pauses.last == DeliveryQueue.longestProbePause)
        #expect(pauses == pauses.sorted())
    }

    @Test("a user whose events fail for everybody, or late, rests for longer and longer, up to a minute")
    mutating func rests() {
        take((1...60).map { Self.event($0, of: Self.call(UInt64($0)), by: "u\($0 % 3)") })
        var now = Self.start
        var begun: [[Instant]] = [[], [], []]
        while now < Self.start + .seconds(600) {
            if let position = queue.next(at: now)?.position {
                begun[Int(position) % 3].append(now)
                _ = finish(position, .failed(retryAfter: nil), at: now)
            } else {
                now = max(now, queue.nextDue ?? now + .seconds(600))
            }
        }
        for times in begun {
            let pauses = zip(times.dropFirst(), times).suffix(3).map { $0 - $1 }
            #expect(pauses.allSatisfy { $0 >= DeliveryQueue.longestProbePause && $0 < .seconds(70) }, "\(pauses)")
        }
        // One user's only: each attempt takes ten seconds.
        queue = DeliveryQueue(cursor: 0)
        take(Self.events(1...20, by: "mallory"))
        now = Self.start
        var ends: [Duration] = []
        for _ in 0..<4 {
            guard let position = queue.next(at: now)?.position else { break }
            now = now + .seconds(10)
            _ = finish(position, .failed(retryAfter: nil), at: now)
            for other in started(at: now) { Issue.record("\(other) is sent at once") }
            let next = queue.nextDue ?? now
            ends.append(next - now)
            now = next
        }
        #expect(ends == [.seconds(10), .seconds(20), .seconds(40), .seconds(60)])
    }

    @Test("Retry-After for an event of one user holds back that user's events, and those of no other")
    mutating func retryAfterOfOne() {
        take(Self.events(1...4, by: "mallory"))
        #expect(started() == [1, 2, 3, 4])
        for position in 2...4 as ClosedRange<Int64> { #expect(finish(position) == .taken) }
        _ = finish(1, .failed(retryAfter: .seconds(90)))
        take(Self.events(5...6, by: "mallory") + [Self.event(7, of: Self.call(7))])
        #expect(started() == [7])
        #expect(finish(7) == .taken)
        #expect(started(at: Self.start + .seconds(89)) == [])
        #expect(queue.nextDue == Self.start + .seconds(90))
        let next = started(at: Self.start + .seconds(90))
        #expect(next.count == 1, "one at a time")
        // However long.
        for position in next { _ = finish(position, .failed(retryAfter: .seconds(86_400))) }
        #expect(queue.nextDue == Self.start + DeliveryQueue.longestRetryAfter)
        take([Self.event(8, of: Self.call(8))])
        #expect(started() == [8])
    }

    @Test("an event that was ready before waits for the receiver's Retry-After, too")
    mutating func retryAfterOfReady() {
        take(Self.events(1...10, by: "mallory"))
        #expect(started() == [1, 2, 3, 4])
        _ = finish(1, .failed(retryAfter: .seconds(600)))
        #expect(started(at: Self.start + .seconds(599)) == [])
        #expect(queue.nextDue == Self.start + .seconds(600))
    }

    @Test("Retry-After for events of many users holds back theirs and no other's, also when another's was taken")
    mutating func retryAfter() {
        take((1...9).map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(started().count == 8)
        for position in 1...7 as ClosedRange<Int64> { _ = finish(position, .failed(retryAfter: .seconds(90))) }
        #expect(queue.isProbing)
        let probe = Self.start + .seconds(1)
        #expect(started(at: probe) == [9])
        #expect(finish(9, at: probe) == .taken)
        #expect(!queue.isProbing)
        #expect(finish(8, at: probe) == .taken)
        #expect(started(at: Self.start + .seconds(89)) == [])
        #expect(queue.nextDue == Self.start + .seconds(90))
        #expect(started(at: Self.start + .seconds(90)).count == DeliveryQueue.mostInFlight / 2)
    }

    @Test("a receiver that comes and goes does not use up the attempts of its events")
    mutating func flapping() {
        var now = Self.start
        var position: Int64 = 1
        for _ in 0..<30 {
            // Down, until events of three users without a failure have failed.
            while !queue.isProbing {
                take([Self.event(position, of: Self.call(UInt64(position)))], at: now)
                position += 1
                for position in started(at: now) {
                    #expect(finish(position, .failed(retryAfter: nil), at: now) != .givenUp)
                }
            }
            // Then one event is taken.
            take([Self.event(position, of: Self.call(UInt64(position)))], at: now)
            position += 1
            now = max(now, queue.nextDue ?? now)
            if let event = queue.next(at: now) { #expect(finish(event.position, at: now) == .taken) }
        }
    }

    @Test("waiting attempts can be made due now, also during a pause that the receiver asked for")
    mutating func hastened() {
        take([1, 2].map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(started() == [1, 2])
        _ = finish(1, .failed(retryAfter: .seconds(600)))
        #expect(started(at: Self.start + .seconds(60)) == [])
        queue.hasten(Self.start + .seconds(60))
        // The second one is in flight still.
        #expect(started(at: Self.start + .seconds(60)) == [1])
    }

    @Test("what is held is bounded in events and in bytes")
    mutating func bounds() {
        #expect(queue.hasRoom)
        take((1...Int64(DeliveryQueue.mostHeld) + 1).map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(!queue.hasRoom && queue.cursor == Int64(DeliveryQueue.mostHeld))
        #expect(queue.nextSource(newest: 2000) == nil)
        var large = DeliveryQueue(cursor: 0)
        large.take(
            (1...5).map { Self.event($0, of: Self.call(UInt64($0)), bytes: 1 << 20) }, of: [.callEnded],
            now: Self.start)
        #expect(!large.hasRoom && large.cursor == 4)
        for position in 1...2 as ClosedRange<Int64> {
            _ = large.next(at: Self.start)
            _ = large.finish(position, .taken, now: Self.start, random: &random)
        }
        #expect(large.hasRoom)
    }

    @Test("events of other kinds are passed over, and an event is taken once")
    mutating func kinds() {
        queue.take([Self.event(1, of: Self.call(1))], of: [.callInvited], now: Self.start)
        #expect(queue.cursor == 1 && queue.count == 0)
        take([Self.event(1, of: Self.call(1)), Self.event(2, of: Self.call(1))])
        #expect(queue.unsettled.map(\.position) == [2])
    }

    @Test("a restored queue goes on with the same attempts, in the same order")
    mutating func restored() {
        take((1...3).map { Self.event($0, of: Self.call(1)) } + [Self.event(4, of: Self.call(2))])
        #expect(started() == [1, 4])
        _ = finish(1, .failed(retryAfter: nil))
        _ = finish(4)
        let unsettled = queue.unsettled
        #expect(unsettled.map(\.position) == [1, 2, 3] && unsettled.map(\.attempts) == [1, 0, 0])
        var next = DeliveryQueue(cursor: queue.cursor)
        for old in unsettled {
            next.restore(Self.event(old.position, of: Self.call(1)), attempts: old.attempts, due: old.due)
        }
        #expect(next.next(at: Self.start) == nil)
        #expect(next.next(at: unsettled[0].due)?.position == 1)
        #expect(next.next(at: unsettled[0].due + .seconds(60)) == nil)
    }

    @Test("a rewind sends everything after the position again, and keeps what was unsettled before it")
    mutating func rewind() {
        take((1...5).map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(started() == [1, 2, 3, 4, 5])
        for position in 2...5 as ClosedRange<Int64> { _ = finish(position) }
        queue.abandonAttempts(now: Self.start)
        queue.rewind(to: 3, now: Self.start)
        #expect(queue.cursor == 3 && queue.unsettled.map(\.position) == [1])
        take((4...6).map { Self.event($0, of: Self.call(UInt64($0))) })
        // The first is of a user of whom nothing is known, the others in turns with it.
        #expect(started().sorted() == [1, 4, 5, 6])
    }

    // MARK: Users

    @Test("a user whose events are refused leaves the others their part of the queue, and does not stop the endpoint")
    mutating func refusedUser() {
        take(Self.events(1...1200, by: "mallory"))
        #expect(queue.hasRoom && queue.cursor == 1200)
        #expect(queue.unsettled.count == DeliveryQueue.mostHeld / 2 && queue.count == 1200)
        for _ in 0..<500 { for position in started() { _ = finish(position, .failed(retryAfter: nil)) } }
        #expect(queue.failures == DeliveryQueue.mostHeld / 2 && !queue.isProbing && started() == [])
        #expect(queue.nextSource(newest: 1201) == .all(after: 1200))
        take([Self.event(1201, of: Self.call(1201), by: "alice")])
        #expect(started() == [1201])
        #expect(finish(1201) == .taken)
        #expect(queue.count == 1200, "nothing is lost")
    }

    @Test("what stayed in the store is read when half of the user's part is free, in turns with the events of all")
    mutating func catchingUp() {
        let events = Self.events(1...600, by: "mallory")
        take(events)
        let mallory = Handle("mallory")
        #expect(queue.behind[mallory]?.position == 500 && queue.behind[mallory]?.count == 100)
        #expect(queue.nextSource(newest: 600) == nil)
        for _ in 0..<60 { for position in started() { #expect(finish(position) == .taken) } }
        #expect(queue.nextSource(newest: 700) == .all(after: 600))
        #expect(queue.nextSource(newest: 700) == .user(mallory, after: 500))
        #expect(queue.nextSource(newest: 700) == .all(after: 600))
        #expect(queue.nextSource(newest: 600) == .user(mallory, after: 500))
        queue.take(Array(events[500..<550]), of: mallory, [.callEnded], now: Self.start)
        #expect(queue.behind[mallory]?.position == 550 && queue.behind[mallory]?.count == 50)
        // Those that are not read yet come before newer ones.
        take([Self.event(601, of: Self.call(601), by: "mallory")])
        queue.take(Array(events[550...]), of: mallory, [.callEnded], now: Self.start)
        #expect(queue.behind[mallory]?.position == 600)
        queue.take([Self.event(601, of: Self.call(601), by: "mallory")], of: mallory, [.callEnded], now: Self.start)
        queue.take([], of: mallory, [.callEnded], now: Self.start)
        #expect(queue.behind.isEmpty && queue.unsettled.last?.position == 601)
    }

    @Test("an event that an edited state names twice, as waiting and as not read yet, is sent once")
    mutating func namedTwice() {
        let (events, mallory) = (Self.events(4...6, by: "mallory"), Handle("mallory"))
        queue = DeliveryQueue(cursor: 6)
        queue.restore(events[1], attempts: 0, due: Self.start)
        queue.restore(DeliveryQueue.Lag(position: 3, count: 3), of: mallory)
        queue.take(events, of: mallory, [.callEnded], now: Self.start)
        let attempts = started()
        #expect(attempts.sorted() == [4, 5, 6])
        for position in attempts { #expect(finish(position) == .taken) }
        #expect(queue.count == 0 && started() == [])
    }

    @Test("a rewind keeps what a user has not got before the position, and reads the rest again for all")
    mutating func rewindBehind() {
        take(Self.events(1...600, by: "mallory"))
        var later = queue
        later.rewind(to: 550, now: Self.start)
        #expect(later.cursor == 550 && later.behind[Handle("mallory")]?.position == 500)
        queue.rewind(to: 400, now: Self.start)
        #expect(queue.cursor == 400 && queue.behind.isEmpty && queue.unsettled.count == 400)
    }

    @Test("a user whose attempts do not end leaves some for others; the users whose events wait take turns")
    mutating func slowUser() {
        take(Self.events(1...100, by: "mallory"))
        #expect(started() == [1, 2, 3, 4])
        take((101...104).map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(started() == [101, 102, 103, 104])
        #expect(queue.nextDue == Self.start + DeliveryQueue.promptness)
        for position in 101...104 as ClosedRange<Int64> { #expect(finish(position) == .taken) }
        let later = Self.start + .seconds(1)
        for position in 1...4 as ClosedRange<Int64> { #expect(finish(position, at: later) == .taken) }
        take([Self.event(105, of: Self.call(105))], at: later)
        #expect(started(at: later).prefix(2) == [5, 105])
    }

    @Test("an endpoint fails when no connection is made, or the events of several users fail; one user's do not count")
    mutating func failingEndpoint() {
        take(Self.events(1...20, by: "mallory"))
        for _ in 0..<4 { for position in started() { _ = finish(position, .failed(retryAfter: nil)) } }
        #expect(queue.failures > DeliveryQueue.failuresUntilProbing && !queue.isProbing)
        for (index, position) in started().enumerated() {
            _ = finish(position, index == 0 ? .unreachable : .failed(retryAfter: nil))
            #expect(!queue.isProbing)
        }
        take([21, 22].map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(Set(started()).isSuperset(of: [21, 22]))
        _ = finish(21, .failed(retryAfter: nil))
        #expect(!queue.isProbing)
        _ = finish(22, .failed(retryAfter: nil))
        #expect(queue.isProbing)

        var other = DeliveryQueue(cursor: 0)
        other.take(Self.events(1...20, by: "mallory"), of: [.callEnded], now: Self.start)
        for _ in 0..<DeliveryQueue.failuresUntilProbing {
            guard let event = other.next(at: Self.start) else { break }
            _ = other.finish(event.position, .unreachable, now: Self.start, random: &random)
        }
        #expect(other.isProbing && other.next(at: Self.start) == nil)
        let probe = Self.start + .seconds(2)
        guard let event = other.next(at: probe) else {
            Issue.record("there is no probe")
            return
        }
        // The receiver is back, and refuses this event.
        _ = other.finish(event.position, .failed(retryAfter: nil), now: probe, random: &random)
        #expect(!other.isProbing && other.next(at: probe)?.position == 1)
    }

    @Test("an endpoint is gone when events of three users in a row are; one user's do not count")
    mutating func gone() {
        var position: Int64 = 0
        /// By the users of the events, one attempt after the other.
        func attempts(
            _ outcomes: [(user: String, outcome: DeliveryQueue.Outcome)], in tests: inout DeliveryQueueTests
        ) {
            for (user, outcome) in outcomes {
                position += 1
                tests.take([Self.event(position, of: Self.call(UInt64(position)), by: user)])
                let started = tests.started()
                #expect(started == [position])
                _ = tests.finish(position, outcome)
            }
        }
        attempts([("mallory", .gone), ("mallory", .gone), ("mallory", .gone), ("alice", .gone)], in: &self)
        #expect(!queue.isGone)
        attempts([("alice", .taken), ("alice", .gone), ("bob", .gone), ("carol", .taken)], in: &self)
        #expect(!queue.isGone)
        attempts([("alice", .gone), ("bob", .failed(retryAfter: nil)), ("carol", .gone), ("dave", .gone)], in: &self)
        #expect(!queue.isGone)
        attempts([("erin", .taken), ("alice", .gone), ("bob", .gone), ("carol", .gone)], in: &self)
        #expect(!queue.isGone, "events of theirs have failed before")
        attempts([("frank", .gone), ("grace", .gone), ("heidi", .gone)], in: &self)
        #expect(queue.isGone)
        queue.hasten(Self.start)
        #expect(!queue.isGone)
    }

    @Test("an endpoint that is gone gets events of users without a failure only; the first that is taken ends it")
    mutating func goneForSome() {
        take((1...3).map { Self.event($0, of: Self.call(UInt64($0))) })
        for position in started() { _ = finish(position, .gone) }
        #expect(queue.isGone && queue.nextDue == nil)
        let later = Self.start + .seconds(86_400)
        #expect(started(at: later) == [])
        var next = DeliveryQueue(cursor: 3)
        for old in queue.unsettled {
            next.restore(
                Self.event(old.position, of: Self.call(UInt64(old.position))), attempts: old.attempts, due: old.due)
        }
        next.restoreGone()
        queue = next
        #expect(queue.isGone)
        #expect(started(at: later) == [])
        take([Self.event(4, of: Self.call(4))], at: later)
        #expect(started(at: later) == [4])
        #expect(finish(4, at: later) == .taken)
        #expect(!queue.isGone)
        #expect(Set(started(at: later)) == [1, 2, 3])
    }

    // MARK: Many accounts

    /// How the receiver handles the events of the accounts `mallory0`, `mallory1` and so on.
    enum Fault {
        case tooMany
        case gone
        case error
        case slow
        /// Just above what counts as slow.
        case late
        case brisk
        case unanswered
        case nothing

        var answer: (outcome: DeliveryQueue.Outcome, after: Duration) {
            switch self {
            case .tooMany: (.failed(retryAfter: .seconds(3600)), .zero)
            case .gone: (.gone, .zero)
            case .error: (.failed(retryAfter: nil), .zero)
            case .slow: (.taken, .seconds(9))
            case .late: (.taken, .milliseconds(1200))
            case .brisk: (.taken, .milliseconds(150))
            case .unanswered: (.failed(retryAfter: nil), EndpointSender.patience)
            case .nothing: (.taken, .zero)
            }
        }
    }

    /// The stored events, from position 1.
    private var stored: [StoredEvent] = []
    /// The positions of events that the receiver never takes.
    private var refused: Set<Int64> = []
    private var answers = DeadlineQueue<(event: StoredEvent, outcome: DeliveryQueue.Outcome)>()

    private mutating func store(by user: String) {
        let position = Int64(stored.count + 1)
        stored.append(Self.event(position, of: Self.call(UInt64(position)), by: user))
    }

    /// Stores `each` calls of each of the accounts, in turns.
    private mutating func storeAttack(by accounts: Int, each: Int) {
        for _ in 0..<each { for account in 0..<accounts { store(by: "mallory\(account)") } }
    }

    /// Reads and sends stored events until `end`, in virtual time.
    /// - Returns: the users whose events were taken, one for each, and the number of attempts.
    private mutating func deliver(
        from begin: Instant = start, to end: Instant, _ fault: Fault, others: Fault = .nothing
    ) -> (taken: [String], attempts: Int) {
        var (now, taken, attempts) = (begin, [String](), 0)
        while now <= end {
            while let source = queue.nextSource(newest: Int64(stored.count)) {
                let page = Array(stored.dropFirst(Int(source.position)).prefix(256))
                switch source {
                case .all: take(page, at: now)
                case .user(let user, _): queue.take(page, of: user, [.callEnded], now: now)
                }
            }
            if let answer = answers.popDue(now: now) {
                _ = finish(answer.event.position, answer.outcome, at: now)
                if answer.outcome == .taken { taken.append(answer.event.user?.text ?? "") }
            } else if let event = queue.next(at: now) {
                attempts += 1
                let isOfAttack = event.user?.text.hasPrefix("mallory") == true
                let isRefused = refused.contains(event.position)
                let answer = isRefused ? Fault.error.answer : isOfAttack ? fault.answer : others.answer
                _ = answers.add((event, answer.outcome), at: now + answer.after)
            } else {
                guard let next = [answers.next, queue.nextDue].compactMap(\.self).min() else { break }
                now = max(next, now + .milliseconds(1))
            }
        }
        return (taken, attempts)
    }

    private static let victims = (0..<10).map { "victim\($0)" }

    @Test(
        "however many accounts' events fail or take long, others' are delivered within two seconds",
        arguments: [.tooMany, .gone, .error, .slow, .unanswered] as [Fault], [3, 12, 100])
    mutating func manyAccounts(fault: Fault, accounts: Int) {
        storeAttack(by: accounts, each: 60)
        // Until each account had its first attempt.
        let later = Self.start + .seconds(600)
        _ = deliver(to: later, fault)
        for round in 0..<3 {
            for victim in Self.victims { store(by: victim) }
            let begin = later + .seconds(10 * round)
            let taken = deliver(from: begin, to: begin + .seconds(2), fault).taken
            #expect(Set(taken).isSuperset(of: Self.victims), "round \(round)")
            #expect(!queue.isProbing)
            _ = deliver(from: begin + .seconds(2), to: begin + .seconds(10), fault)
        }
    }

    @Test(
        "so they are when all events come at once, before any has failed",
        arguments: [.tooMany, .gone, .error, .slow, .unanswered] as [Fault], [3, 12, 100])
    mutating func manyAccountsAtOnce(fault: Fault, accounts: Int) {
        storeAttack(by: accounts, each: 19)
        for victim in Self.victims { store(by: victim) }
        let taken = deliver(to: Self.start + .seconds(2), fault).taken
        #expect(Set(taken).isSuperset(of: Self.victims))
    }

    @Test(
        "users whose events were taken get theirs within two seconds, however many new accounts have one that is not",
        arguments: [.tooMany, .error, .slow, .unanswered] as [Fault], [9, 100, 300, 900])
    mutating func manyNewAccounts(fault: Fault, accounts: Int) {
        for victim in Self.victims { store(by: victim) }
        #expect(deliver(to: Self.start, fault).taken.count == Self.victims.count)
        // More than 1,000 users cannot be behind.
        for round in 0..<min(3, 1000 / accounts) {
            let begin = Self.start + .seconds(20 * (round + 1))
            for account in 0..<accounts { store(by: "mallory\(round)-\(account)") }
            // Once the attack is under way, and again.
            _ = deliver(from: begin, to: begin + .milliseconds(500), fault)
            for victim in Self.victims { store(by: victim) }
            let taken = deliver(from: begin + .milliseconds(500), to: begin + .milliseconds(2500), fault).taken
            #expect(Set(taken).isSuperset(of: Self.victims), "round \(round)")
            _ = deliver(from: begin + .milliseconds(2500), to: begin + .seconds(20), fault)
        }
    }

    @Test("the same accounts whose events are taken late, one at a time each, do not make others wait for good")
    mutating func slowForGood() {
        for second in stride(from: 0, to: 90, by: 10) {
            let begin = Self.start + .seconds(second)
            for account in 0..<9 { store(by: "mallory\(account)") }
            for victim in Self.victims { store(by: victim) }
            let taken = deliver(from: begin, to: begin + .seconds(2), .slow).taken
            #expect(Set(taken).isSuperset(of: Self.victims), "second \(second)")
            _ = deliver(from: begin + .seconds(2), to: begin + .milliseconds(9999), .slow)
        }
    }

    @Test(
        "so they are when the receiver has failed for all before, or was slow",
        arguments: [.error, .unanswered, .slow, .late] as [Fault],
        [(.unanswered, 1), (.unanswered, 3), (.unanswered, 12), (.unanswered, 50), (.gone, 3), (.gone, 12)]
            as [(Fault, Int)])
    mutating func manyAccountsAfterOutage(outage: Fault, attack: (fault: Fault, accounts: Int)) {
        for victim in Self.victims { store(by: victim) }
        _ = deliver(to: Self.start, .nothing)
        let down = Self.start + .seconds(10)
        for victim in Self.victims { for _ in 0..<3 { store(by: victim) } }
        if attack.fault != .gone { storeAttack(by: attack.accounts, each: 8) }
        _ = deliver(from: down, to: down + .seconds(8), outage, others: outage)
        // New accounts, for whom nothing has failed before.
        if attack.fault == .gone { storeAttack(by: attack.accounts, each: 8) }
        // The victims' attempts of the outage end, and their rests: as long as the attempts.
        let up = down + .seconds(outage == .unanswered ? 8 + 15 + 20 : 8 + 15)
        _ = deliver(from: down + .seconds(8), to: up, attack.fault)
        for round in 0..<20 {
            for victim in Self.victims { store(by: victim) }
            let begin = up + .seconds(3 * round)
            let taken = deliver(from: begin, to: begin + .seconds(2), attack.fault).taken
            #expect(Set(taken).isSuperset(of: Self.victims), "round \(round)")
            _ = deliver(from: begin + .seconds(2), to: begin + .seconds(3), attack.fault)
        }
    }

    @Test("a user with refused events of its own gets the others, beside accounts that fill the part of failing users")
    mutating func ownRefusals() {
        for victim in Self.victims { store(by: victim) }
        _ = deliver(to: Self.start, .nothing)
        storeAttack(by: 12, each: 40)
        for _ in 0..<12 {
            store(by: "victim0")
            refused.insert(Int64(stored.count))
        }
        for victim in Self.victims.dropFirst() { store(by: victim) }
        _ = deliver(from: Self.start + .seconds(10), to: Self.start + .seconds(20), .error)
        for round in 0..<5 {
            for _ in 0..<3 { store(by: "victim0") }
            store(by: "victim1")
            let begin = Self.start + .seconds(30 + 10 * round)
            let taken = deliver(from: begin, to: begin + .seconds(2), .error).taken
            #expect(taken.count == 4, "round \(round)")
            _ = deliver(from: begin + .seconds(2), to: begin + .seconds(10), .error)
        }
        #expect(queue.unsettled.count <= DeliveryQueue.mostHeld / 2)
    }

    @Test("a user with many events keeps several attempts in flight beside accounts whose events are taken late")
    mutating func busyUser() {
        storeAttack(by: 12, each: 20)
        var taken = 0
        for step in 0..<200 {
            store(by: "victim0")
            let begin = Self.start + .milliseconds(100 * step)
            let users = deliver(from: begin, to: begin + .milliseconds(99), .slow, others: .brisk).taken
            taken += users.count { $0 == "victim0" }
        }
        #expect(taken > 200 - 20)
    }

    @Test("accounts that fill the part of failing users leave a place to a user whose last event was taken late")
    mutating func fullHalf() {
        storeAttack(by: 12, each: 100)
        _ = deliver(to: Self.start + .seconds(10), .error)
        var others = 0
        while queue.unsettled.count < DeliveryQueue.mostHeld / 2, others < 100 {
            others += 1
            store(by: "mallory-\(others)")
            _ = deliver(from: Self.start + .seconds(10), to: Self.start + .seconds(11), .error)
        }
        #expect(queue.unsettled.count == DeliveryQueue.mostHeld / 2)
        for round in 0..<3 {
            for victim in Self.victims { store(by: victim) }
            let begin = Self.start + .seconds(20 * (round + 1))
            // Late at first.
            _ = deliver(from: begin, to: begin + .seconds(18), .error, others: round == 0 ? .slow : .nothing)
            #expect(queue.unsettled.count <= DeliveryQueue.mostHeld / 2)
        }
        #expect(queue.behind.keys.allSatisfy { $0?.text.hasPrefix("victim") != true })
        #expect(queue.count == 1200 + others)
    }

    @Test("a receiver that takes a second and more for each event gets those of many users side by side")
    mutating func slowForAll() {
        for _ in 0..<10 { for user in 0..<30 { store(by: "user\(user)") } }
        #expect(deliver(to: Self.start + .seconds(20), .nothing, others: .late).taken.count == 300)
    }

    @Test(
        "users whose events fail hold half of the queue, all together; further events stay in the store, none is lost",
        arguments: [12, 100])
    mutating func failingHalf(accounts: Int) {
        storeAttack(by: accounts, each: 3120 / accounts)
        let attacked = Self.start + .seconds(600)
        _ = deliver(to: attacked, .error)
        #expect(queue.cursor == Int64(stored.count))
        #expect(queue.unsettled.count <= DeliveryQueue.mostHeld / 2)
        #expect(queue.count == stored.count)
        for victim in Self.victims { store(by: victim) }
        let taken = deliver(from: attacked, to: attacked + .seconds(2), .error).taken
        #expect(taken.sorted() == Self.victims)
        #expect(queue.count == stored.count - Self.victims.count)
        // The receiver takes all again.
        queue.hasten(attacked + .seconds(2))
        let rest = deliver(from: attacked + .seconds(2), to: attacked + .seconds(86_400 * 4), .nothing).taken
        #expect(rest.count == stored.count - Self.victims.count && queue.count == 0)
    }

    @Test("a page that was asked for before earlier events of its user went back to the store is asked for again")
    mutating func rewoundPage() {
        for _ in 0..<300 { store(by: "mallory") }
        for _ in 0..<400 { store(by: "carol") }
        queue = DeliveryQueue(cursor: 300)
        for event in stored.prefix(300) { queue.restore(event, attempts: 1, due: Self.start + .seconds(86_400)) }
        take(Array(stored[300...]))
        let carol = Handle("carol")
        #expect(queue.behind[carol]?.position == 650)
        var (source, count) = (DeliveryQueue.Source?.none, 0)
        for _ in 0..<100 where source == nil {
            for position in started() {
                _ = finish(position)
                count += 1
            }
            source = queue.nextSource(newest: 700)
        }
        #expect(source == .user(carol, after: 650))
        // Meanwhile carol's events fail, and exceed the half of all who fail.
        for position in started() { _ = finish(position, .failed(retryAfter: nil)) }
        let position = queue.behind[carol]?.position ?? 650
        #expect(position < 650 && queue.unsettled.count <= DeliveryQueue.mostHeld / 2)
        queue.take(Array(stored[650...]), of: carol, [.callEnded], now: Self.start)
        #expect(queue.behind[carol]?.position == position)
        let taken = deliver(to: Self.start + .seconds(86_400 * 2), .nothing).taken
        #expect(taken.count == 700 - count && queue.count == 0)
    }

    @Test("a receiver that refuses everybody gets fewer and fewer attempts")
    mutating func outage() {
        for user in 0..<1000 { store(by: "mallory\(user)") }
        let attempts = deliver(to: Self.start + .seconds(60), .error).attempts
        #expect(attempts > 64 && attempts < 500)
        let more = deliver(from: Self.start + .seconds(60), to: Self.start + .seconds(120), .error).attempts
        #expect(more < 100)
    }

    @Test("a registration of a device takes the place of the one that waits behind another event, and of no other")
    mutating func registrations() {
        func device(_ number: UInt64) -> StoredEvent.Subject {
            .device(DeviceKey(user: Handle("mallory")!, device: DeviceID(high: 1, low: number)))  // A handle.
        }
        let kinds: Set<EventKind> = [.deviceRegistered, .deviceSuspended]
        func take(_ position: Int64, _ subject: StoredEvent.Subject, _ kind: EventKind = .deviceRegistered) {
            queue.take([Self.event(position, of: subject, kind)], of: kinds, now: Self.start)
        }
        for position in 1...74 as ClosedRange<Int64> { take(position, device(1)) }
        #expect(queue.unsettled.map(\.position) == [1, 74])
        take(75, device(2))
        #expect(started() == [1, 75])
        take(76, device(1), .deviceSuspended)
        take(77, device(1))
        take(78, device(1))
        #expect(queue.unsettled.map(\.position) == [1, 74, 75, 76, 78])
        for position in [1, 74, 76, 78] as [Int64] {
            if position > 1 { #expect(started() == [position]) }
            #expect(finish(position) == .taken)
        }
        #expect(queue.unsettled.map(\.position) == [75])
    }

    /// A receiver that fails at random, stops for hours and comes back, against a queue that restarts at random.
    @Test("at random: each event is taken, in the order of its call, none twice without a restart", arguments: 0..<40)
    mutating func random(seed: UInt64) {
        var choices = SeededGenerator(seed: seed)
        let events = (1...120).map { position in
            let call = UInt64.random(in: 0..<6, using: &choices)
            return Self.event(Int64(position), of: Self.call(call), by: "u\(call % 3)")
        }
        queue = DeliveryQueue(cursor: 0, room: 12)
        var now = Self.start
        var inFlight: [StoredEvent] = []
        var taken: [StoredEvent.Subject: [Int64]] = [:]
        var wasBehind = false
        var steps = 0
        while queue.cursor < 120 || queue.count > 0, steps < 20_000 {
            steps += 1
            wasBehind = wasBehind || !queue.behind.isEmpty
            #expect(queue.unsettled.count <= 12)
            switch Int.random(in: 0..<100, using: &choices) {
            case 0..<20:
                guard let source = queue.nextSource(newest: 120) else { continue }
                let page = Array(events.dropFirst(Int(source.position)).prefix(7))
                switch source {
                case .all: take(page, at: now)
                case .user(let user, _): queue.take(page, of: user, [.callEnded], now: now)
                }
            case 20..<60: while let event = queue.next(at: now) { inFlight.append(event) }
            case 60..<97:
                guard let event = inFlight.randomElement(using: &choices) else {
                    now = max(now, queue.nextDue ?? now)
                    continue
                }
                inFlight.removeAll { $0.position == event.position }
                let isDown = Int.random(in: 0..<4, using: &choices) == 0
                if !isDown { taken[event.subject, default: []].append(event.position) }
                let outcome: DeliveryQueue.Outcome =
                    Bool.random(using: &choices) ? .unreachable : .failed(retryAfter: nil)
                let verdict = queue.finish(event.position, isDown ? outcome : .taken, now: now, random: &choices)
                #expect(verdict != .givenUp)
            default:
                let old = queue
                queue = DeliveryQueue(cursor: old.cursor, room: 12)
                for unsettled in old.unsettled {
                    queue.restore(
                        events[Int(unsettled.position) - 1], attempts: unsettled.attempts, due: unsettled.due)
                }
                for (user, lag) in old.behind { queue.restore(lag, of: user) }
                inFlight = []
            }
        }
        for (subject, positions) in taken {
            #expect(positions == events.filter { $0.subject == subject }.map(\.position), "seed \(seed)")
        }
        #expect(taken.values.joined().count == 120)
        #expect(wasBehind, "seed \(seed)")
    }
}
