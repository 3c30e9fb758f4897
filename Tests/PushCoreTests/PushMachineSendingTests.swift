import CallVocabulary
import PushCore
import PushVocabulary
import Testing

@Suite("A push on its way to the wire")
struct PushMachineSendingTests {
    @Test("the first push has a token signed and one connection opened, and is announced when both are there")
    func firstPush() throws {
        var bench = MachineBench()
        bench.queue(push(1))
        #expect(
            bench.effects == [
                .signProviderToken(generation: 1, issuedAt: MachineBench.start), .open(connection(0)),
            ])
        bench.give(.opened(connection(0), streamLimit: 1))
        #expect(bench.effects == [])
        bench.give(.providerTokenSigned(generation: 1))
        #expect(bench.effects == [.ready(push(1))])
        #expect(bench.machine.queueDepth == 1)
    }

    @Test("nothing is submitted before the core's word, and exactly one request after it")
    func twoSteps() throws {
        var bench = MachineBench.ready()
        bench.queue(push(1))
        #expect(bench.effects == [.ready(push(1))])
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(0), push(1), tokenGeneration: 1)])
        let carried = bench.carryOutSubmit(of: push(1))
        let place = try #require(carried)
        #expect(bench.machine.queueDepth == 0)
        #expect(bench.machine.streamsInFlight == 1)
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [])
        bench.answer(place, 200)
        #expect(bench.effects == [.outcome(push(1), .accepted)])
        #expect(!bench.machine.contains(push(1)))
        #expect(bench.machine.counters.sent == 1)
    }

    @Test("a push that may not leave now returns, and is announced again")
    func postponed() throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.connectStagger = .seconds(1000) }
        bench.queue(push(1))
        bench.give(.postponed(push(1)))
        #expect(bench.effects == [.outcome(push(1), .returned), .ready(push(1))])
        #expect(bench.machine.counters.returned == 1)
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(0), push(1), tokenGeneration: 1)])
    }

    @Test("a dropped push leaves without an outcome and frees its stream", arguments: [false, true])
    func drop(_ isAnnounced: Bool) throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.connectStagger = .seconds(1000) }
        bench.queue(push(1))
        bench.queue(push(2))
        #expect(bench.announced == [])
        bench.give(.dropped(isAnnounced ? push(1) : push(2)))
        #expect(bench.effects == (isAnnounced ? [.ready(push(2))] : []))
        #expect(bench.machine.queueDepth == 1)
        bench.pass(.seconds(60))
        #expect(bench.outcomes[isAnnounced ? push(1) : push(2)] == nil)
    }

    @Test("cleared for an announcement before it was dropped and queued again, a push returns and keeps its turn")
    func clearedForAnEarlierOrder() throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.connectStagger = .seconds(1000) }
        bench.queue(push(1))
        bench.queue(push(2))
        bench.give(.dropped(push(1)))
        bench.queue(push(1))
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.outcome(push(1), .returned)])
        #expect(bench.machine.isUnsent(push(1)))
        let other = bench.transmit(push(2))
        try bench.answer(#require(other), 200)
        #expect(bench.announced == [push(1)])
        let place = bench.transmit(push(1))
        try bench.answer(#require(place), 200)
        #expect(bench.outcomes[push(1)] == [.returned, .accepted])
        #expect(!bench.machine.isUnsent(push(1)))
    }

    @Test("a drop comes too late once the push was transmitted")
    func lateDrop() throws {
        var bench = MachineBench.ready()
        let place = try bench.send(push(1))
        bench.give(.dropped(push(1)))
        bench.answer(place, 200)
        #expect(bench.outcomes[push(1)] == [.accepted])
    }

    @Test("the same push queued twice is one push")
    func repeated() {
        var bench = MachineBench.ready()
        bench.queue(push(1))
        bench.queue(push(1))
        #expect(bench.effects == [])
        #expect(bench.machine.queueDepth == 1)
    }

    @Test("a push that waits expires with the ring, earliest deadline first")
    func expiry() {
        var bench = MachineBench()
        bench.queue(push(1), ring: .seconds(30))
        bench.queue(push(2), ring: .seconds(10))
        bench.queue(push(3), ring: .seconds(20))
        bench.pass(.seconds(30))
        let expired = bench.effects.compactMap { effect -> PushID? in
            if case .outcome(let push, .unsent(reason: "expired")) = effect { push } else { nil }
        }
        #expect(expired == [push(2), push(3), push(1)])
        #expect(bench.machine.queueDepth == 0)
    }

    @Test("an announced push that expires before the core's word is not sent")
    func expiryWhileAnnounced() {
        var bench = MachineBench.ready(streamLimit: 1)
        bench.queue(push(1), ring: .seconds(5))
        bench.pass(.seconds(5))
        #expect(bench.outcomes[push(1)] == [.unsent(reason: "expired")])
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [])
        // Its stream is free again.
        bench.queue(push(2))
        #expect(bench.announced == [push(2)])
    }

    @Test("the core's word at the very deadline is too late")
    func clearedAtDeadline() {
        var bench = MachineBench.ready()
        bench.queue(push(1), ring: .seconds(5))
        bench.now = bench.now + .seconds(5)
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.outcome(push(1), .unsent(reason: "expired"))])
    }

    @Test("a push that is queued too late is not taken")
    func queuedTooLate() {
        var bench = MachineBench.ready()
        bench.queue(push(1), ring: .zero)
        #expect(bench.effects == [.outcome(push(1), .unsent(reason: "expired"))])
    }

    @Test("a full queue sheds what has expired, and refuses the newcomer when nothing has")
    func capacity() {
        var bench = MachineBench { $0.queueCapacity = 2 }
        bench.queue(push(1), ring: .seconds(10))
        bench.queue(push(2), ring: .seconds(20))
        bench.queue(push(3))
        #expect(bench.outcomes[push(3)] == [.unsent(reason: "push queue full")])
        bench.now = bench.now + .seconds(10)
        bench.queue(push(4))
        #expect(bench.outcomes[push(1)] == [.unsent(reason: "expired")])
        #expect(bench.outcomes[push(4)] == nil)
        #expect(bench.machine.queueDepth == 2)
    }

    @Test("no answer in time is unknown, gives the stream up, and the late answer changes nothing")
    func requestTimeout() throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.pingAfter = .seconds(100) }
        let place = try bench.send(push(1))
        bench.pass(.milliseconds(9_999))
        #expect(bench.effects == [])
        bench.pass(.milliseconds(1))
        #expect(
            bench.effects == [
                .cancel(place.connection, stream: place.stream), .ping(place.connection),
                .outcome(push(1), .unknown(reason: "no answer in time")),
            ])
        bench.answer(place, 200)
        #expect(bench.effects == [])
        #expect(bench.outcomes[push(1)]?.count == 1)
        #expect(bench.machine.streamsInFlight == 0)
        bench.queue(push(2))
        #expect(bench.announced == [push(2)])
    }

    @Test("a stream reset without an answer is unknown, and not tried again")
    func streamLost() throws {
        var bench = MachineBench.ready()
        let place = try bench.send(push(1))
        bench.give(.streamLost(place.connection, stream: place.stream, reason: "CANCEL"))
        #expect(bench.effects == [.outcome(push(1), .unknown(reason: "CANCEL"))])
        bench.pass(.seconds(45))
        #expect(bench.announced == [])
    }

    @Test("a token that cannot be signed leaves nobody waiting, and the next push tries again")
    func signingFailure() {
        var bench = MachineBench()
        bench.queue(push(1))
        bench.queue(push(2))
        bench.give(.providerTokenFailed(generation: 1, reason: "no key"))
        #expect(bench.outcomes[push(1)] == [.unsent(reason: "no provider token: no key")])
        #expect(bench.outcomes[push(2)] == [.unsent(reason: "no provider token: no key")])
        #expect(bench.effects.first == .alarm(.signingFailed(reason: "no key")))
        bench.queue(push(3))
        #expect(bench.effects.contains(.signProviderToken(generation: 1, issuedAt: bench.now)))
    }

    @Test("a line that many left early does not grow beyond twice those who wait")
    func staleEntries() {
        var bench = MachineBench { $0.queueCapacity = 100 }
        bench.queue(push(0), ring: .seconds(180))
        for number in 1...10_000 as ClosedRange<UInt64> {
            bench.queue(push(number))
            bench.give(.dropped(push(number)))
        }
        bench.give(.providerTokenSigned(generation: 1))
        bench.give(.opened(connection(0), streamLimit: 10))
        #expect(bench.announced == [push(0)])
        #expect(bench.machine.queueDepth == 1)
    }
}
