import CallVocabulary
import PushCore
import PushVocabulary
import Testing

@Suite("Retries")
struct PushMachineRetryTests {
    /// Two open connections; the push is on the first.
    private func benchWithTwo() throws -> (bench: MachineBench, place: MachineBench.Place) {
        var bench = MachineBench.ready(streamLimit: 1)
        let place = try bench.send(push(1))
        bench.queue(push(2))
        bench.pass(.milliseconds(250))
        bench.give(.opened(connection(1), streamLimit: 10))
        bench.give(.dropped(push(2)))
        bench.give(.streamLimitChanged(connection(0), 10))
        return (bench, place)
    }

    @Test(
        "a 5xx is tried once more, on another connection, after another look of the core",
        arguments: [
            (500, "InternalServerError"), (503, "ServiceUnavailable"), (502, ""),
        ])
    func serverError(_ row: (status: Int, reason: String)) throws {
        var (bench, place) = try benchWithTwo()
        bench.answer(place, row.status, row.reason)
        #expect(bench.effects == [.outcome(push(1), .returned), .ready(push(1))])
        let second = try bench.retransmit(push(1))
        #expect(second.connection != place.connection)
        bench.answer(second, row.status, row.reason)
        let reason = row.reason.isEmpty ? "HTTP 502" : row.reason
        #expect(bench.outcomes[push(1)] == [.returned, .rejected(reason: reason, isTokenDead: false)])
        bench.pass(.seconds(45))
        #expect(bench.announced == [])
    }

    @Test("a push is counted as failed if the provider is at fault, and not if its device or the credential is")
    func failed() throws {
        var (bench, place) = try benchWithTwo()
        bench.answer(place, 503, "ServiceUnavailable")
        try bench.answer(bench.retransmit(push(1)), 503, "ServiceUnavailable")
        #expect(bench.machine.counters.ended == 1 && bench.machine.counters.failed == 1)
        for (number, answer) in [(410, "Unregistered"), (400, "BadDeviceToken"), (200, "")].enumerated() {
            try bench.answer(bench.send(push(UInt64(3 + number))), answer.0, answer.1)
        }
        #expect(bench.machine.counters.ended == 4 && bench.machine.counters.failed == 1)
        _ = try bench.send(push(6))
        bench.pass(.seconds(45))
        #expect(bench.machine.counters.unknown == 1)
        #expect(bench.machine.counters.ended == 5 && bench.machine.counters.failed == 2)
        // No connection takes it any more.
        bench.give(.streamLimitChanged(connection(1), 0))
        bench.queue(push(7))
        bench.pass(.seconds(45))
        #expect(bench.machine.counters.unsent == 1)
        #expect(bench.machine.counters.ended == 6 && bench.machine.counters.failed == 3)
    }

    @Test("a throttled push is counted as failed once the devices of three users in a row are throttled")
    func failedByQuota() throws {
        var bench = MachineBench.ready()
        for number in 1...3 {
            let place = try bench.send(push(UInt64(number)), to: device(number), of: Handle("u\(number)"))
            bench.answer(
                place, PushAnswer(status: 429, reason: "QUOTA_EXCEEDED", verdict: .throttled, retryAfter: .seconds(60)))
            #expect(bench.machine.counters.rejected == UInt64(number))
            #expect(bench.machine.counters.failed == (number < 3 ? 0 : 1))
        }
    }

    @Test("the core may call the retry off")
    func droppedRetry() throws {
        var (bench, place) = try benchWithTwo()
        bench.answer(place, 503, "ServiceUnavailable")
        bench.give(.dropped(push(1)))
        #expect(!bench.machine.contains(push(1)))
        #expect(bench.outcomes[push(1)] == [.returned])
    }

    @Test("with one connection a retry has a second opened, and does not hold up those behind it")
    func opensAnother() throws {
        var bench = MachineBench.ready()
        bench.pass(.seconds(1))
        try bench.answer(bench.send(push(1)), 500, "InternalServerError")
        #expect(bench.effects == [.outcome(push(1), .returned), .open(connection(1))])
        bench.queue(push(2))
        #expect(bench.announced == [push(2)])
        bench.give(.opened(connection(1), streamLimit: 10))
        #expect(bench.announced == [push(1)])
    }

    @Test("a retry takes the connection it failed on when the only other one takes nothing, and only then")
    func lastResort() throws {
        for limit in [0, 1] {
            var (bench, place) = try benchWithTwo()
            bench.give(.streamLimitChanged(connection(1), limit))
            bench.answer(place, 503, "ServiceUnavailable")
            #expect(bench.announced == [push(1)])
            let second = try bench.retransmit(push(1))
            #expect((second.connection == place.connection) == (limit == 0))
        }
    }

    @Test("when time is up a status without the end of its body is the answer; nothing more of it counts")
    func statusAlone() throws {
        var (bench, place) = try benchWithTwo()
        let answer = PushAnswer.apns(status: 410, body: Array(#"{"reason":"Unreg"#.utf8))
        bench.give(.statusRead(place.connection, stream: place.stream, answer))
        #expect(bench.effects.isEmpty)
        #expect(bench.machine.contains(push(1)))
        waitInVain(&bench, place)
        #expect(bench.outcomes[push(1)] == [.rejected(reason: "HTTP 410", isTokenDead: true)])
        #expect(bench.effects.count { $0 == .cancel(place.connection, stream: place.stream) } == 1)
        bench.give(.statusRead(place.connection, stream: place.stream, answer))
        bench.answer(place, 200)
        #expect(bench.outcomes[push(1)]?.count == 1)
        #expect(bench.machine.counters.unknown == 0 && bench.machine.counters.rejected == 1)
    }

    @Test("a 5xx without the end of its body is tried again when time is up, and a 200 is taken")
    func statusAloneRetried() throws {
        var (bench, place) = try benchWithTwo()
        bench.give(.statusRead(place.connection, stream: place.stream, PushAnswer.apns(status: 503, body: [])))
        waitInVain(&bench, place)
        #expect(bench.outcomes[push(1)] == [.returned])
        let again = try bench.retransmit(push(1))
        #expect(again.connection != place.connection)
        bench.give(.statusRead(again.connection, stream: again.stream, PushAnswer.apns(status: 200, body: [])))
        waitInVain(&bench, again)
        #expect(bench.outcomes[push(1)] == [.returned, .accepted])
    }

    /// Until the request's time is up, on a connection that lives.
    private func waitInVain(_ bench: inout MachineBench, _ place: MachineBench.Place) {
        for _ in 1...3 {
            bench.pass(.seconds(3))
            bench.give(.pingAnswered(place.connection))
        }
        bench.pass(.seconds(1))
    }

    @Test("the whole answer takes the place of its status")
    func statusThenAnswer() throws {
        var (bench, place) = try benchWithTwo()
        bench.give(.statusRead(place.connection, stream: place.stream, PushAnswer.apns(status: 410, body: [])))
        bench.answer(place, 410, "ExpiredToken")
        #expect(bench.outcomes[push(1)] == [.rejected(reason: "ExpiredToken", isTokenDead: true)])
        bench.pass(.seconds(20))
        #expect(bench.outcomes[push(1)]?.count == 1)
    }

    @Test("a retry that finds no connection in ring time ends with what came first")
    func expiredRetry() throws {
        var bench = MachineBench.ready()
        try bench.answer(bench.send(push(1), ring: .seconds(5)), 503, "ServiceUnavailable")
        bench.pass(.seconds(5))
        #expect(bench.outcomes[push(1)] == [.returned, .unsent(reason: "expired after ServiceUnavailable")])
    }

    @Test("Shutdown takes the connection out of use as well")
    func serverLeaving() throws {
        var (bench, place) = try benchWithTwo()
        bench.answer(place, 503, "Shutdown")
        #expect(bench.effects.contains(.close(place.connection)))
        #expect(bench.machine.openConnections == 1)
        #expect(bench.announced == [push(1)])
    }

    @Test("an expired provider token is replaced with its connection, and the push is sent once more with the new one")
    func expiredProviderToken() throws {
        var bench = MachineBench.ready()
        try bench.answer(bench.send(push(9)), 200)
        bench.pass(.seconds(30 * 60))
        let places = try (1...3 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        bench.answer(places[0], 403, "ExpiredProviderToken")
        #expect(
            bench.effects == [
                .outcome(push(1), .returned), .signProviderToken(generation: 2, issuedAt: bench.now),
                .open(connection(1)),
            ])
        // The others on the old connection fail likewise, and lead to no further token.
        bench.answer(places[1], 403, "ExpiredProviderToken")
        #expect(bench.effects == [.outcome(push(2), .returned)])
        bench.answer(places[2], 200)
        #expect(bench.effects.contains(.close(connection(0))))
        bench.give(.providerTokenSigned(generation: 2))
        bench.give(.opened(connection(1), streamLimit: 10))
        #expect(bench.announced == [push(1), push(2)])
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(1), push(1), tokenGeneration: 2)])
        let carried = bench.carryOutSubmit(of: push(1))
        let again = try #require(carried)
        bench.answer(again, 403, "ExpiredProviderToken")
        #expect(bench.outcomes[push(1)] == [.returned, .rejected(reason: "ExpiredProviderToken", isTokenDead: false)])
        #expect(bench.machine.counters.tokensSigned == 2)
    }

    @Test("two tokens called expired within 20 minutes mean a wrong clock: an alarm, and no third token")
    func clockSkew() throws {
        var bench = MachineBench.ready()
        try bench.answer(bench.send(push(1)), 403, "ExpiredProviderToken")
        #expect(
            bench.effects == [
                .close(connection(0)), .outcome(push(1), .returned),
                .signProviderToken(generation: 2, issuedAt: bench.now), .open(connection(1)),
            ])
        bench.letConnect()
        try bench.answer(bench.retransmit(push(1)), 403, "ExpiredProviderToken")
        #expect(
            bench.effects == [
                .alarm(.clockSkew), .close(connection(1)),
                .outcome(push(1), .rejected(reason: "ExpiredProviderToken", isTokenDead: false)),
            ])
        bench.queue(push(2))
        #expect(bench.signed == [])
    }

    @Test("TooManyProviderTokenUpdates takes a new connection, and keeps a token younger than 20 minutes")
    func tooManyUpdates() throws {
        var (bench, place) = try benchWithTwo()
        bench.answer(place, 429, "TooManyProviderTokenUpdates")
        #expect(bench.effects.contains(.close(place.connection)))
        #expect(bench.announced == [push(1)])
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(1), push(1), tokenGeneration: 1)])
        let carried = bench.carryOutSubmit(of: push(1))
        let again = try #require(carried)
        bench.answer(again, 429, "TooManyProviderTokenUpdates")
        #expect(
            bench.outcomes[push(1)] == [
                .returned, .rejected(reason: "TooManyProviderTokenUpdates", isTokenDead: false),
            ])
    }

    @Test("a token of 50 minutes is renewed when the next push needs it, which does not wait for that")
    func refresh() throws {
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        bench.pass(.seconds(50 * 60))
        #expect(bench.effects == [])
        bench.queue(push(1))
        #expect(bench.effects == [.signProviderToken(generation: 2, issuedAt: bench.now), .ready(push(1))])
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(0), push(1), tokenGeneration: 1)])
        bench.give(.providerTokenSigned(generation: 2))
        bench.queue(push(2))
        bench.give(.cleared(push(2)))
        #expect(bench.effects == [.submit(connection(0), push(2), tokenGeneration: 2)])
    }

    @Test("a token of 58 minutes is not used: the push waits for the new one")
    func tooOld() throws {
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        bench.pass(.seconds(58 * 60))
        bench.queue(push(1))
        #expect(bench.announced == [])
        bench.give(.providerTokenSigned(generation: 2))
        #expect(bench.announced == [push(1)])
    }
}
