import CallVocabulary
import PushCore
import PushVocabulary
import Testing

@Suite("The pool of connections")
struct PushMachineConnectionTests {
    @Test(
        "a connection in which requests die in silence is asked, and replaced, however short the client's patience is")
    func silentDeath() throws {
        var bench = MachineBench.ready {
            $0.requestTimeout = .seconds(3)
            $0.pingAfter = .seconds(3)
            $0.pingTimeout = .seconds(3)
        }
        let place = try bench.send(push(1))
        bench.pass(.seconds(2))
        // Another request is no sign of life either.
        let other = try bench.send(push(2))
        #expect(other.connection == place.connection)
        bench.pass(.seconds(1))
        #expect(bench.outcomes[push(1)] == [.unknown(reason: "no answer in time")])
        #expect(bench.effects.count { $0 == .ping(place.connection) } == 1)
        // The end of the stream that was given up comes from here.
        bench.give(.streamLost(place.connection, stream: place.stream, reason: "CANCEL"))
        bench.pass(.seconds(3))
        #expect(bench.outcomes[push(2)] == [.unknown(reason: "no answer in time")])
        #expect(bench.effects.contains(.close(place.connection)))
        #expect(bench.machine.openConnections == 0)
        bench.queue(push(3))
        #expect(bench.announced == [])
    }

    @Test("one that answers something while a request dies is not asked because of it")
    func livelyDeath() throws {
        var bench = MachineBench.ready {
            $0.requestTimeout = .seconds(3)
            $0.pingAfter = .seconds(30)
        }
        let place = try bench.send(push(1))
        bench.pass(.seconds(1))
        try bench.answer(bench.send(push(2)), 200)
        bench.pass(.seconds(2))
        #expect(bench.outcomes[push(1)] == [.unknown(reason: "no answer in time")])
        #expect(!bench.effects.contains(.ping(place.connection)))
    }

    @Test("connections open on demand, one after the other, and no more than the policy has")
    func staggeredOpening() {
        var bench = MachineBench { $0.connections = 3 }
        #expect(bench.machine.nextDeadline() == nil)
        bench.queue(push(1))
        #expect(bench.opened == [connection(0)])
        bench.pass(.milliseconds(249))
        #expect(bench.opened == [])
        bench.pass(.milliseconds(1))
        #expect(bench.opened == [connection(1)])
        bench.pass(.milliseconds(250))
        #expect(bench.opened == [connection(2)])
        bench.pass(.seconds(5))
        #expect(bench.opened == [])
    }

    @Test("a pool with streams to spare opens no second connection")
    func noNeedlessOpening() throws {
        var bench = MachineBench.ready()
        for number in 1...50 as ClosedRange<UInt64> { _ = try bench.send(push(number)) }
        bench.pass(.seconds(2))
        #expect(bench.opened == [])
        #expect(bench.machine.openConnections == 1)
    }

    @Test("failed connections are tried again after growing, bounded waits")
    func backoff() {
        var bench = MachineBench()
        bench.queue(push(1), ring: .seconds(100_000))
        var waits: [Int64] = []
        for serial in 0..<12 as Range<UInt64> {
            let failedAt = bench.now
            bench.give(.closed(connection(serial), reason: "refused"))
            #expect(bench.effects.contains(.alarm(.connectionFailed(reason: "refused"))))
            while bench.opened.isEmpty, let next = bench.machine.nextDeadline() { bench.pass(next - bench.now) }
            #expect(bench.opened == [connection(serial + 1)])
            waits.append((bench.now - failedAt).wholeMilliseconds)
        }
        #expect((250...750).contains(waits[0]))
        #expect((1000...3000).contains(waits[2]))
        #expect(waits.max() ?? 0 <= 7_500)
        #expect(waits.suffix(4).allSatisfy { $0 >= 2_500 })
        #expect(bench.machine.counters.connectionsFailed == 12)
    }

    @Test("a connection that does not stand in time is given up, and heard no more")
    func connectTimeout() {
        var bench = MachineBench()
        bench.queue(push(1))
        bench.give(.providerTokenSigned(generation: 1))
        bench.pass(.seconds(8))
        #expect(bench.effects.contains(.close(connection(0))))
        bench.give(.opened(connection(0), streamLimit: 100))
        #expect(bench.announced == [])
    }

    @Test("the peer's stream limit holds, and so does our own")
    func streamLimits() {
        for (peer, own, expected) in [(3, 500, 3), (1000, 2, 2), (0, 500, 0)] {
            var bench = MachineBench.ready(streamLimit: peer) {
                $0.streamsPerConnection = own
                $0.connectStagger = .seconds(1000)
            }
            for number in 1...5 as ClosedRange<UInt64> { bench.queue(push(number)) }
            #expect(bench.machine.queueDepth == 5)
            bench.give(.pingAnswered(connection(0)))
            var sent = 0
            for number in 1...5 as ClosedRange<UInt64> where bench.transmit(push(number)) != nil { sent += 1 }
            #expect(sent == expected)
            #expect(bench.machine.streamsInFlight == expected)
        }
    }

    @Test("a limit that falls mid-flight lets those on the wire end and starts no others above it")
    func shrinkingLimit() throws {
        var bench = MachineBench.ready(streamLimit: 3) { $0.connectStagger = .seconds(1000) }
        let first = try bench.send(push(1))
        let second = try bench.send(push(2))
        bench.queue(push(3))
        #expect(bench.announced == [push(3)])
        bench.give(.streamLimitChanged(connection(0), 1))
        // Announced under the old limit: no stream is left for it, so the core's word is given back.
        #expect(bench.transmit(push(3)) == nil)
        #expect(bench.outcomes[push(3)] == [.returned])
        bench.answer(first, 200)
        #expect(bench.effects == [.outcome(push(1), .accepted)])
        bench.answer(second, 200)
        #expect(bench.effects == [.outcome(push(2), .accepted), .ready(push(3))])
    }

    @Test("a limit that rises is used at once")
    func risingLimit() throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.connectStagger = .seconds(1000) }
        _ = try bench.send(push(1))
        bench.queue(push(2))
        bench.queue(push(3))
        bench.give(.streamLimitChanged(connection(0), 1000))
        #expect(bench.announced == [push(2), push(3)])
    }

    @Test("a refused stream goes back to the queue, and its connection is left alone for a moment")
    func refusedStream() throws {
        var bench = MachineBench.ready { $0.connectStagger = .seconds(1000) }
        let place = try bench.send(push(1))
        bench.give(.streamRefused(place.connection, stream: place.stream))
        #expect(bench.effects == [.outcome(push(1), .returned)])
        #expect(bench.machine.queueDepth == 1)
        bench.pass(.milliseconds(24))
        #expect(bench.announced == [])
        bench.pass(.milliseconds(76))
        #expect(bench.announced == [push(1)])
        let again = bench.transmit(push(1))
        #expect(again?.stream == 3)
    }

    @Test("a connection that refuses again and again is replaced, and the push goes out on the next")
    func refusingConnection() throws {
        var bench = MachineBench.ready { $0.connectStagger = .seconds(1000) }
        bench.queue(push(1))
        var refusals = 0
        while bench.machine.openConnections == 1 {
            if bench.announced.isEmpty { bench.pass(.seconds(3)) }
            let place = try bench.retransmit(push(1))
            bench.give(.streamRefused(place.connection, stream: place.stream))
            refusals += 1
            try #require(refusals <= 8)
        }
        #expect(refusals == 8)
        #expect(bench.effects.contains(.close(connection(0))))
        #expect(bench.outcomes[push(1)] == Array(repeating: .returned, count: 8))
    }

    @Test("a request that the connection would not take goes out on another, without a second word of the core")
    func notSubmitted() throws {
        var bench = MachineBench.ready(streamLimit: 1)
        _ = try bench.send(push(1))
        bench.queue(push(2))
        bench.give(.dropped(push(2)))
        bench.queue(push(3))
        bench.pass(.milliseconds(250))
        bench.give(.opened(connection(1), streamLimit: 10))
        #expect(bench.announced == [push(3)])
        bench.give(.streamLimitChanged(connection(0), 10))
        bench.give(.cleared(push(3)))
        #expect(bench.effects == [.submit(connection(1), push(3), tokenGeneration: 1)])
        bench.give(.notSubmitted(connection(1), push(3)))
        #expect(bench.effects == [.submit(connection(0), push(3), tokenGeneration: 1)])
        #expect(bench.outcomes[push(3)] == nil)
    }

    @Test("with the reserved connection gone, another stream is taken, or the push comes back")
    func reservationLost() throws {
        for hasOther in [true, false] {
            var bench = MachineBench.ready(streamLimit: 1)
            let first = try bench.send(push(1))
            bench.queue(push(2))
            bench.pass(.milliseconds(250))
            bench.give(.opened(connection(1), streamLimit: 1))
            #expect(bench.announced == [push(2)])
            if hasOther { bench.answer(first, 200) }
            bench.give(.closed(connection(1), reason: "reset"))
            bench.give(.cleared(push(2)))
            if hasOther {
                #expect(bench.effects == [.submit(connection(0), push(2), tokenGeneration: 1)])
            } else {
                #expect(bench.effects.first == .outcome(push(2), .returned))
                #expect(bench.machine.contains(push(2)))
            }
        }
    }

    @Test("a push that is submitted on a connection just lost is unknown at once, and leaves nothing behind")
    func lostWhileSubmitting() throws {
        var bench = MachineBench.ready()
        bench.queue(push(1))
        bench.give(.cleared(push(1)))
        bench.give(.closed(connection(0), reason: "reset"))
        bench.give(.submitted(connection(0), push(1), stream: 1))
        #expect(bench.outcomes[push(1)] == [.unknown(reason: "connection lost")])
        #expect(!bench.machine.contains(push(1)))
        #expect(bench.machine.counters.sent == 0)
        bench.pass(.seconds(60))
        #expect(bench.outcomes[push(1)]?.count == 1)
    }

    @Test("a lost connection leaves what was on it unknown, and what was not yet on it unharmed")
    func lostConnection() throws {
        var bench = MachineBench.ready()
        _ = try bench.send(push(1))
        _ = try bench.send(push(2))
        bench.queue(push(3))
        bench.give(.closed(connection(0), reason: "reset"))
        #expect(bench.outcomes[push(1)] == [.unknown(reason: "connection lost: reset")])
        #expect(bench.outcomes[push(2)] == [.unknown(reason: "connection lost: reset")])
        #expect(bench.outcomes[push(3)] == nil)
        #expect(bench.machine.streamsInFlight == 0)
        #expect(bench.machine.contains(push(3)))
    }

    @Test("silence while requests wait is answered with a PING, and a PING unanswered ends the connection")
    func ping() throws {
        var bench = MachineBench.ready { $0.connectStagger = .seconds(1000) }
        bench.pass(.seconds(100))
        #expect(bench.effects == [])
        _ = try bench.send(push(1))
        bench.pass(.milliseconds(2_999))
        #expect(bench.effects == [])
        bench.pass(.milliseconds(1))
        #expect(bench.effects == [.ping(connection(0))])
        bench.give(.pingAnswered(connection(0)))
        bench.pass(.seconds(3))
        #expect(bench.effects == [.ping(connection(0))])
        bench.pass(.seconds(3))
        #expect(bench.effects.first == .close(connection(0)))
        #expect(bench.outcomes[push(1)] == [.unknown(reason: "connection lost: PING unanswered")])
        #expect(bench.machine.openConnections == 0)
    }

    @Test("an idle connection is pinged once an hour")
    func idlePing() {
        var bench = MachineBench.ready()
        bench.pass(.seconds(3599))
        #expect(bench.effects == [])
        bench.pass(.seconds(1))
        #expect(bench.effects == [.ping(connection(0))])
    }

    @Test("what is heard of a connection that is gone counts for nothing")
    func stale() {
        var bench = MachineBench.ready()
        bench.give(.closed(connection(0), reason: "reset"))
        let inputs: [PushInput] = [
            .opened(connection(0), streamLimit: 5), .streamLimitChanged(connection(0), 5),
            .goneAway(connection(0), lastStream: 0, reason: ""), .pingAnswered(connection(0)),
            .closed(connection(0), reason: ""), .submitted(connection(0), push(1), stream: 1),
            .notSubmitted(connection(0), push(1)), .streamRefused(connection(0), stream: 1),
            .answered(connection(0), stream: 1, PushAnswer.apns(status: 200, body: [])),
            .streamLost(connection(0), stream: 1, reason: ""), .cleared(push(1)), .dropped(push(1)),
        ]
        for input in inputs {
            bench.give(input)
            #expect(bench.effects == [])
        }
        #expect(bench.machine.openConnections == 0)
    }
}

@Suite("GOAWAY")
struct PushMachineGoAwayTests {
    @Test("streams above the last id go back to the queue at once, those up to it are awaited")
    func lastStream() throws {
        var bench = MachineBench.ready()
        let places = try (1...4 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        bench.give(.goneAway(connection(0), lastStream: places[1].stream, reason: "Shutdown"))
        #expect(bench.outcomes[push(1)] == nil)
        #expect(bench.outcomes[push(2)] == nil)
        #expect(bench.outcomes[push(3)] == [.returned])
        #expect(bench.outcomes[push(4)] == [.returned])
        #expect(bench.machine.streamsInFlight == 2)
        // nghttp2 reports the refused ones once more, one by one.
        bench.give(.streamRefused(places[2].connection, stream: places[2].stream))
        #expect(bench.outcomes[push(3)] == [.returned])
        bench.answer(places[0], 200)
        #expect(bench.outcomes[push(1)] == [.accepted])
        #expect(!bench.effects.contains(.close(connection(0))))
        bench.pass(.seconds(10))
        #expect(bench.outcomes[push(2)]?.count == 1)
        guard case .unknown? = bench.outcomes[push(2)]?.first else {
            Issue.record("not answered after GOAWAY is unknown")
            return
        }
        #expect(bench.machine.streamsInFlight == 0)
    }

    @Test("with last id 0 everything comes back, and the connection is closed")
    func nothingProcessed() throws {
        var bench = MachineBench.ready()
        _ = try bench.send(push(1))
        bench.give(.goneAway(connection(0), lastStream: 0, reason: ""))
        #expect(Array(bench.effects.prefix(2)) == [.outcome(push(1), .returned), .close(connection(0))])
        #expect(bench.machine.openConnections == 0)
    }

    @Test("a second GOAWAY with a lower last id returns the rest")
    func twice() throws {
        var bench = MachineBench.ready()
        let places = try (1...2 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        bench.give(.goneAway(connection(0), lastStream: .max, reason: ""))
        #expect(bench.outcomes.isEmpty)
        bench.give(.goneAway(connection(0), lastStream: places[0].stream, reason: ""))
        #expect(bench.outcomes == [push(2): [.returned]])
    }

    @Test("nothing is announced or submitted on a connection that goes away, in any phase of a push")
    func noScheduling() throws {
        var bench = MachineBench.ready { $0.connectStagger = .seconds(1000) }
        bench.queue(push(1))
        bench.give(.goneAway(connection(0), lastStream: .max, reason: ""))
        #expect(bench.effects == [.close(connection(0))])
        bench.give(.cleared(push(1)))
        #expect(bench.effects.first == .outcome(push(1), .returned))
        bench.queue(push(2))
        #expect(bench.announced == [])
    }

    @Test("GOAWAY between submit and submitted does not lose the push")
    func whileSubmitting() throws {
        var bench = MachineBench.ready()
        let keeper = try bench.send(push(9))
        bench.queue(push(1))
        bench.give(.cleared(push(1)))
        bench.give(.goneAway(keeper.connection, lastStream: .max, reason: ""))
        bench.give(.submitted(keeper.connection, push(1), stream: 3))
        #expect(bench.machine.streamsInFlight == 2)
        bench.answer((keeper.connection, 3), 200)
        #expect(bench.outcomes[push(1)] == [.accepted])
    }

    @Test("a connection that answered well is replaced without waiting, one of no use is not")
    func replacement() throws {
        for isProven in [true, false] {
            var bench = MachineBench.ready()
            let place = try bench.send(push(1))
            if isProven { bench.answer(place, 200) }
            bench.pass(.seconds(1))
            bench.give(.goneAway(connection(0), lastStream: .max, reason: ""))
            bench.queue(push(2))
            #expect(bench.opened == (isProven ? [connection(1)] : []))
        }
    }
}
