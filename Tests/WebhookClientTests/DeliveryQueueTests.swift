import CallCore
import CallVocabulary
import Determinism
import StoreInterface
import Testing

@testable import WebhookClient

struct DeliveryQueueTests {
    private static let start = Instant(milliseconds: 1_000_000)
    private static func call(_ number: UInt64) -> StoredEvent.Subject { .call(CallID(high: 0, low: number)) }

    /// - Parameter bytes: of the body.
    private static func event(_ position: Int64, of subject: StoredEvent.Subject, bytes: Int = 10) -> StoredEvent {
        StoredEvent(
            position: position, id: EventID(high: 0, low: UInt64(position)), kind: .callEnded, at: start,
            subject: subject, body: RawJSON(bytes: [UInt8](repeating: 0x20, count: bytes)))
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
        #expect(started(at: probe + .seconds(600)) == [])
        #expect(finish(9, at: probe) == .taken)
        // Also the first ones, whose next attempt was later.
        #expect(started(at: probe) == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test("the probe's pause grows to a minute, and no more")
    mutating func probePauses() {
        take((1...40).map { Self.event($0, of: Self.call(UInt64($0))) })
        var now = Self.start
        var pauses: [Duration] = []
        for _ in 0..<20 {
            guard let position = queue.next(at: now)?.position else { break }
            _ = finish(position, .failed(retryAfter: nil), at: now)
            let next = queue.nextDue ?? now
            if queue.isProbing { pauses.append(next - now) }
            now = max(now, next)
        }
        #expect(pauses.first == .seconds(1))
        #expect(pauses.last == DeliveryQueue.longestProbePause)
        #expect(pauses == pauses.sorted())
    }

    @Test("Retry-After holds back all events of the endpoint, for an hour at most")
    mutating func retryAfter() {
        take((1...9).map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(started().count == 8)
        _ = finish(1, .failed(retryAfter: .seconds(90)))
        #expect(started(at: Self.start + .seconds(89)) == [])
        #expect(started(at: Self.start + .seconds(90)).contains(9))
        _ = finish(2, .failed(retryAfter: .seconds(86_400)))
        #expect(queue.nextDue.map { $0 <= Self.start + DeliveryQueue.longestRetryAfter } == true)
    }

    @Test("an event that is taken does not end the pause that the receiver asked for")
    mutating func heeded() {
        take((1...3).map { Self.event($0, of: Self.call(UInt64($0))) })
        #expect(started() == [1, 2, 3])
        _ = finish(1, .failed(retryAfter: .seconds(600)))
        #expect(finish(2) == .taken)
        take([Self.event(4, of: Self.call(4))])
        #expect(started(at: Self.start + .seconds(599)) == [])
        #expect(queue.nextDue == Self.start + .seconds(600))
    }

    @Test("a receiver that comes and goes does not use up the attempts of its events")
    mutating func flapping() {
        take((1...6).map { Self.event($0, of: Self.call(UInt64($0))) })
        var now = Self.start
        var position: Int64 = 7
        for _ in 0..<30 {
            // Down, until one attempt is made at a time.
            while !queue.isProbing {
                now = max(now, queue.nextDue ?? now)
                for position in started(at: now) {
                    #expect(finish(position, .failed(retryAfter: nil), at: now) != .givenUp)
                }
            }
            // Then one event is taken.
            take([Self.event(position, of: Self.call(UInt64(position)))], at: now)
            position += 1
            now = max(now, queue.nextDue ?? now)
            if let event = queue.next(at: now) { #expect(finish(event.position, at: now) == .taken) }
            if queue.count < 6 { take([Self.event(position, of: Self.call(UInt64(position)))], at: now) }
            position += 1
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
        take((1...Int64(DeliveryQueue.mostHeld)).map { Self.event($0, of: Self.call(1)) })
        #expect(!queue.hasRoom)
        var large = DeliveryQueue(cursor: 0)
        large.take(
            (1...5).map { Self.event($0, of: Self.call(1), bytes: 1 << 20) }, of: [.callEnded], now: Self.start)
        #expect(!large.hasRoom)
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
        #expect(started() == [1, 4, 5, 6])
    }

    /// A receiver that fails at random, stops for hours and comes back, against a queue that restarts at random.
    @Test("at random: each event is taken, in the order of its call, none twice without a restart", arguments: 0..<40)
    mutating func random(seed: UInt64) {
        var choices = SeededGenerator(seed: seed)
        let events = (1...120).map { position in
            Self.event(Int64(position), of: Self.call(UInt64.random(in: 0..<6, using: &choices)))
        }
        var now = Self.start
        var inFlight: [StoredEvent] = []
        var taken: [StoredEvent.Subject: [Int64]] = [:]
        var restarts = 0
        var steps = 0
        while queue.cursor < 120 || queue.count > 0, steps < 20_000 {
            steps += 1
            switch Int.random(in: 0..<100, using: &choices) {
            case 0..<20: take(Array(events.dropFirst(Int(queue.cursor)).prefix(7)), at: now)
            case 20..<60: while let event = queue.next(at: now) { inFlight.append(event) }
            case 60..<97:
                guard let event = inFlight.randomElement(using: &choices) else {
                    now = max(now, queue.nextDue ?? now)
                    continue
                }
                inFlight.removeAll { $0.position == event.position }
                let isDown = Int.random(in: 0..<4, using: &choices) == 0
                if !isDown { taken[event.subject, default: []].append(event.position) }
                let verdict = queue.finish(
                    event.position, isDown ? .failed(retryAfter: nil) : .taken, now: now, random: &choices)
                #expect(verdict != .givenUp)
            default:
                restarts += 1
                let old = queue
                queue = DeliveryQueue(cursor: old.cursor)
                for unsettled in old.unsettled {
                    queue.restore(
                        events[Int(unsettled.position) - 1], attempts: unsettled.attempts, due: unsettled.due)
                }
                inFlight = []
            }
        }
        for (subject, positions) in taken {
            #expect(positions == events.filter { $0.subject == subject }.map(\.position), "seed \(seed)")
        }
        #expect(taken.values.joined().count == 120)
    }
}
