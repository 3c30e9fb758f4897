import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("The queue: calls before notices, within bounds")
struct PushMachineQueueTests {
    private func queue(_ bench: inout MachineBench, notices: ClosedRange<UInt64>) {
        for number in notices { bench.queue(push(number), ring: .seconds(3600), isUrgent: false) }
    }

    @Test("calls go before notices that have waited longer, and a returned call goes before both")
    func order() throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.connectStagger = .seconds(1000) }
        let place = try bench.send(push(1))
        queue(&bench, notices: 10...11)
        bench.queue(push(2))
        bench.give(.streamRefused(place.connection, stream: place.stream))
        bench.pass(.seconds(1))
        var order: [PushID] = []
        for _ in 0..<4 {
            let next = try #require(bench.announced.first)
            order.append(next)
            try bench.answer(bench.retransmit(next), 200)
        }
        #expect(order == [push(1), push(2), push(10), push(11)])
    }

    @Test("a full queue sheds the oldest notices for calls, and refuses only when none is left")
    func shedding() {
        var bench = MachineBench { $0.queueCapacity = 3 }
        queue(&bench, notices: 10...11)
        bench.queue(push(1))
        bench.queue(push(2))
        let shed = PushOutcome.unsent(reason: "push queue full: calls go before notices")
        #expect(bench.outcomes == [push(10): [shed]])
        bench.queue(push(3))
        #expect(bench.outcomes[push(11)] == [shed])
        bench.queue(push(4))
        #expect(bench.outcomes[push(4)] == [.unsent(reason: "push queue full")])
        queue(&bench, notices: 12...12)
        #expect(bench.outcomes[push(12)] == [.unsent(reason: "push queue full")])
        #expect(bench.machine.queueDepth == 3)
        #expect(bench.machine.counters.unsentByCause == [.noticeShed: 2, .queueFull: 2])
    }

    @Test("what has expired goes before any notice")
    func expiredFirst() {
        var bench = MachineBench { $0.queueCapacity = 2 }
        queue(&bench, notices: 10...10)
        bench.queue(push(1), ring: .seconds(5))
        bench.now = bench.now + .seconds(5)
        bench.queue(push(2))
        #expect(bench.outcomes == [push(1): [.unsent(reason: "expired")]])
    }

    @Test("notices have a bound of their own, which counts the held ones and lets go of those sent")
    func noticeBound() throws {
        var bench = MachineBench.ready { $0.noticeCapacity = 2 }
        try bench.answer(bench.send(push(9), ring: .seconds(3600), isUrgent: false), 503, "ServiceUnavailable")
        #expect(bench.machine.heldPushes == 1)
        queue(&bench, notices: 10...11)
        #expect(bench.outcomes[push(11)] == [.unsent(reason: "too many notices wait")])
        bench.queue(push(1))
        #expect(bench.announced == [push(1)])
        bench.give(.cleared(push(10)))
        _ = bench.carryOutSubmit(of: push(10))
        queue(&bench, notices: 12...12)
        #expect(bench.outcomes[push(12)] == nil)
        bench.give(.dropped(push(12)))
        queue(&bench, notices: 13...13)
        #expect(bench.outcomes[push(13)] == nil)
    }

    @Test("a full queue sheds notices that are held back as well, before it refuses a call")
    func heldNotices() throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.queueCapacity = 1 }
        try bench.answer(bench.send(push(10), ring: .seconds(3600), isUrgent: false), 503, "ServiceUnavailable")
        #expect(bench.machine.heldPushes == 1)
        bench.queue(push(1))
        #expect(bench.machine.contains(push(1)) && !bench.machine.contains(push(10)))
        #expect(
            bench.outcomes[push(10)]?.last == .unsent(reason: "push queue full: calls go before notices"))
        #expect(bench.machine.heldPushes == 0)
    }

    @Test("what comes back is within the bound too: a notice gives way, then the push itself")
    func returned() throws {
        var bench = MachineBench.ready(streamLimit: 3) {
            $0.queueCapacity = 2
            $0.connectStagger = .seconds(1000)
        }
        for number in 1...3 as ClosedRange<UInt64> { _ = try bench.send(push(number)) }
        queue(&bench, notices: 10...10)
        bench.queue(push(4))
        #expect(bench.machine.queueDepth == 2)
        bench.give(.goneAway(connection(0), lastStream: 0, reason: ""))
        #expect(bench.machine.queueDepth == 2)
        #expect(bench.outcomes[push(10)] == [.unsent(reason: "push queue full: calls go before notices")])
        #expect(bench.outcomes[push(1)] == [.returned])
        for number in 2...3 as ClosedRange<UInt64> {
            #expect(bench.outcomes[push(number)] == [.returned, .unsent(reason: "push queue full")])
        }
    }

    @Test("a notice that the server failed on is tried once more after a quarter of an hour, if it lives so long")
    func noticeRetry() throws {
        for ring in [Duration.seconds(3600), .seconds(900)] {
            var bench = MachineBench.ready()
            try bench.answer(bench.send(push(1), ring: ring, isUrgent: false), 500, "InternalServerError")
            guard ring > .seconds(900) else {
                #expect(bench.outcomes[push(1)] == [.rejected(reason: "InternalServerError", isTokenDead: false)])
                continue
            }
            bench.pass(.milliseconds(900_000 - 1))
            #expect(bench.announced == [])
            bench.pass(.milliseconds(1))
            bench.give(.opened(connection(1), streamLimit: 10))
            #expect(bench.announced == [push(1)])
        }
    }

    @Test("the age of the oldest that waits is known, without those that left")
    func oldest() {
        var bench = MachineBench()
        #expect(bench.machine.oldestWaiting == nil)
        let began = bench.now
        bench.queue(push(1))
        bench.pass(.seconds(1))
        queue(&bench, notices: 10...10)
        bench.pass(.seconds(1))
        bench.queue(push(2))
        #expect(bench.machine.oldestWaiting == began)
        bench.give(.dropped(push(1)))
        #expect(bench.machine.oldestWaiting == began + .seconds(1))
        bench.give(.dropped(push(10)))
        #expect(bench.machine.oldestWaiting == began + .seconds(2))
    }
}

@Suite("Pushes that wait in vain")
struct PushesInVainTests {
    @Test("one that is given up without a connection has failed, and that is known until a connection is opened")
    func cutOff() throws {
        for isDropped in [true, false] {
            var bench = MachineBench()
            bench.queue(push(1), ring: isDropped ? .seconds(45) : .milliseconds(2001))
            bench.give(.closed(connection(0), reason: "refused"))
            bench.pass(.milliseconds(2001))
            if isDropped { bench.give(.dropped(push(1))) }
            #expect(bench.machine.cutOffAt == bench.now)
            #expect(bench.machine.connectionFailure == "refused")
            #expect(bench.machine.counters.failed == 1 && bench.machine.counters.ended == 1)
            let since = bench.now
            bench.pass(.seconds(600))
            #expect(bench.machine.cutOffAt == since)
            bench.queue(push(2))
            let opened = try #require(bench.opened.first)
            bench.give(.opened(opened, streamLimit: 100))
            #expect(bench.machine.cutOffAt == nil && bench.machine.connectionFailure == nil)
        }
    }

    @Test("one that is given up during the first handshake has not failed")
    func handshake() {
        var bench = MachineBench()
        bench.queue(push(1))
        bench.pass(.seconds(2))
        bench.give(.dropped(push(1)))
        #expect(bench.machine.cutOffAt == nil && bench.machine.counters.failed == 0)
        #expect(bench.machine.counters.ended == 0)
    }

    @Test("one that a provider takes too late, or not before it is given up, is known until one is sent in time")
    func overdue() {
        for isDropped in [true, false] {
            var bench = MachineBench.ready(streamLimit: 0) {
                ($0.connectStagger, $0.pingAfter) = (.seconds(1000), .seconds(1000))
            }
            bench.queue(push(1))
            bench.pass(.milliseconds(10_001))
            if isDropped { bench.give(.dropped(push(1))) }
            bench.give(.streamLimitChanged(connection(0), 10))
            if !isDropped { bench.transmit(push(1)) }
            #expect(bench.machine.overdueAt == bench.now && bench.machine.cutOffAt == nil)
            #expect(bench.machine.counters.failed == (isDropped ? 1 : 0))
            bench.queue(push(2))
            bench.transmit(push(2))
            #expect(bench.machine.overdueAt == nil)
        }
    }
}

@Suite("Figures")
struct PushFiguresTests {
    @Test("latency is counted from the request to its answer, whatever it says, and not for what has none")
    func latency() throws {
        var bench = MachineBench.ready { $0.pingAfter = .seconds(100) }
        let places = try (1...4 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        bench.pass(.milliseconds(5))
        bench.answer(places[0], 200)
        bench.pass(.milliseconds(1))
        bench.answer(places[1], 410, "Unregistered")
        bench.pass(.milliseconds(3000))
        bench.answer(places[2], 200)
        bench.pass(.seconds(10))
        let latency = bench.machine.counters.latency
        #expect(latency.counts == [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0])
        #expect(latency.count == 3)
        #expect(latency.total == .milliseconds(5 + 6 + 3006))
        #expect(latency.cumulative.map(\.count) == [1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3])
        #expect(latency.cumulative.last?.bound == nil)
        #expect(latency.quantile(0.5) == .milliseconds(10))
        #expect(latency.quantile(0.99) == .milliseconds(5000))
        #expect(LatencyHistogram().quantile(0.5) == nil)
    }

    @Test("a wait beyond the last bound is in the last bucket")
    func overflow() {
        var histogram = LatencyHistogram()
        histogram.observe(milliseconds: 10_000)
        histogram.observe(milliseconds: 10_001)
        #expect(histogram.counts.suffix(2) == [1, 1])
        #expect(histogram.quantile(1) == nil)
    }

    @Test("refusals are counted by their reason where it is documented, and all that a provider makes up together")
    func refusals() throws {
        var bench = MachineBench.ready()
        let made = (1...120).map { "REASON_\($0)" } + ["HTTP 418", "HTTP 599", "HTTP -1", "badDeviceToken", ""]
        let known = ["PayloadEmpty", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "HTTP 400", "HTTP 413"]
        for (number, reason) in (made + known + known).enumerated() {
            try bench.answer(bench.send(push(UInt64(number))), providerAnswer(400, reason, .requestFaulty))
        }
        let refusals = bench.machine.counters.refusals
        #expect(refusals.counts == Dictionary(uniqueKeysWithValues: known.map { ($0, 2) }))
        #expect(refusals.other == UInt64(made.count))
        for reason in APNSReason.allCases { #expect(PushRefusals.known.contains(reason.rawValue)) }
        for code in FCMErrorCode.allCases { #expect(PushRefusals.known.contains(code.rawValue)) }
    }
}
