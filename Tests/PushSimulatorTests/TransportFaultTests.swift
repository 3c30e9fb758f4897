import CallVocabulary
import Foundation
import HTTP2
import PushSimulator
import PushVocabulary
import Testing

@Suite("Faults of the connection", .simulator, .timeLimit(.minutes(5)))
struct TransportFaultTests {
    typealias Harness = SimulatorHarness

    /// A phone, a client whose connection allows many streams, and a push for them.
    private func prepared() async throws -> (client: TestClient, push: HTTP2Request) {
        let push = Harness.push(to: try await harness.phone(), token: try await harness.providerToken())
        let client = try await harness.client()
        #expect(try await client.send(push).status == 200)
        #expect(try await client.nextLimit() == 1000)
        return (client, push)
    }

    private func code(_ send: () async throws -> TestClient.Answer) async throws -> HTTP2ErrorCode? {
        do {
            _ = try await send()
            return nil
        } catch TestClient.Trouble.streamClosed(let code) {
            return code
        }
    }

    @Test("a stream is reset with the code that was asked for, and the next one is served")
    func reset() async throws {
        let (client, push) = try await prepared()
        for expected in [HTTP2ErrorCode.refusedStream, .streamClosed, .enhanceYourCalm] {
            await harness.simulator.inject(PushFault(.reset(expected), count: 1))
            #expect(try await code { try await client.send(push) } == expected)
            #expect(try await client.send(push).status == 200)
        }
        let counts = try await harness.snapshot().counts
        #expect(counts.unanswered == 3)
        #expect(counts.accepted == 4)
        #expect(counts.faults == ["reset": 3])
    }

    @Test("the stream limit falls in the middle of the connection")
    func streamLimit() async throws {
        let (client, push) = try await prepared()
        await harness.simulator.inject(PushFault(.limitStreams(2), count: 1))
        #expect(try await client.send(push).status == 200)
        #expect(try await client.nextLimit() == 2)
        #expect(try await client.send(push).status == 200)
    }

    @Test("503 and the end of the connection; another one is served")
    func refuseAndClose() async throws {
        let (client, push) = try await prepared()
        await harness.simulator.inject(PushFault(.refuseAndClose, count: 1))
        let answer = try await client.send(push)
        #expect(answer.status == 503)
        #expect(answer.text == "{\"reason\":\"ServiceUnavailable\"}")
        await client.end()
        #expect(try await harness.client().send(push).status == 200)
    }

    @Test("a connection that has become a black hole takes nothing and answers nothing; another one is served")
    func blackHole() async throws {
        let (client, push) = try await prepared()
        await harness.simulator.inject(PushFault(.blackHole, count: 1))
        async let first = code { try await client.send(push) }
        while try await harness.snapshot().counts.unanswered == 0 { await Task.yield() }
        async let second = code { try await client.send(push) }
        for _ in 1...3 { #expect(try await harness.client().send(push).status == 200) }
        #expect(try await harness.snapshot().counts.received == 5)
        await client.resetAll()
        #expect(try await first == .cancel)
        await client.resetAll()
        #expect(try await second == .cancel)
    }

    @Test("a body comes in two pieces with a pause")
    func splitBody() async throws {
        let (client, push) = try await prepared()
        let pause = Duration.milliseconds(120)
        await harness.simulator.inject(PushFault(.splitBody(.badTopic, pause: pause), count: 1))
        let start = ContinuousClock.now
        let answer = try await client.send(push)
        // The wall clock, by which the pause is counted, has whole milliseconds.
        #expect(ContinuousClock.now - start >= pause - .milliseconds(2))
        #expect(answer.status == 400)
        #expect(answer.text == "{\"reason\":\"BadTopic\"}")
        #expect(answer.pieces == 2)
    }

    @Test("an error may come without a body, or with a page in place of JSON")
    func strangeBodies() async throws {
        let (client, push) = try await prepared()
        await harness.simulator.inject(PushFault(.emptyBody(status: 500), count: 1))
        let empty = try await client.send(push)
        #expect((empty.status, empty.text) == (500, ""))
        await harness.simulator.inject(PushFault(.html(status: 502), count: 1))
        let page = try await client.send(push)
        #expect(page.status == 502)
        #expect(page.first("content-type")?.hasPrefix("text/html") == true)
        #expect(page.text.hasPrefix("<html>"))
        #expect(try await harness.snapshot().counts.rejected == ["500": 1, "502": 1])
    }

    @Test("GOAWAY comes twice if so told, in plain text, and the push is answered")
    func doubledGoAway() async throws {
        let (client, push) = try await prepared()
        let goAway = PushFault.GoAway(text: .plain(.idleTimeout), isDoubled: true)
        await harness.simulator.inject(PushFault(.retire(goAway), count: 1))
        #expect(try await client.send(push).status == 200)
        #expect(try await client.nextGoAway() == "IdleTimeout")
        #expect(try await client.nextGoAway() == "IdleTimeout")
        await client.end()
    }

    @Test(
        "GOAWAY may leave the push out: it counts as never seen",
        arguments: [(PushFault.GoAway.LastStream.zero, Int32(0)), (.before, 1)])
    func goAwayMidFlight(last: PushFault.GoAway.LastStream, stream: Int32) async throws {
        let (client, push) = try await prepared()
        let goAway = PushFault.GoAway(text: .none, lastStream: last)
        await harness.simulator.inject(PushFault(.retire(goAway), count: 1))
        #expect(try await code { try await client.send(push) } == .refusedStream)
        #expect(try await client.nextLastStream() == stream)
        await client.end()
        let counts = try await harness.snapshot().counts
        #expect(counts.accepted == 1)
        #expect(counts.goAways == 1)
    }

    @Test(
        "GOAWAY in the middle of many pushes: what it disowns was not processed, and comes to no phone",
        arguments: [PushFault.GoAway.LastStream.zero, .before, .current], [false, true])
    func goAwayAmongMany(last: PushFault.GoAway.LastStream, isDoubled: Bool) async throws {
        let (client, push) = try await prepared()
        let fault = PushFault(.retire(.init(isDoubled: isDoubled, lastStream: last)), count: 1)
        let answered = try await harness.sendMany(push, over: client, into: fault)
        #expect((answered == 16) == (last == .current))
    }

    @Test("pushes whose token is still being checked are disowned by a GOAWAY like all others")
    func goAwayWhileChecking() async throws {
        try await Harness.with({ $0.streamsBeforeAuthorization = 16 }) {
            let client = try await TestClient.connect(loop: harness.loop, to: harness.address(), tls: harness.tls)
            #expect(try await client.nextLimit() == 16)
            // The first token of the connection is checked off the loop: all wait for it.
            let push = Harness.push(to: try await harness.phone(), token: try await harness.providerToken())
            let fault = PushFault(.retire(.init(lastStream: .zero)), count: 1)
            _ = try await harness.sendMany(push, over: client, into: fault)
        }
    }

    @Test("a GOAWAY that an administrator sends disowns what waits for an answer that is held back")
    func goAwayByHand() async throws {
        let (client, push) = try await prepared()
        let before = try await harness.snapshot().counts
        await harness.simulator.inject(PushFault(.neverAnswer, count: 2))
        async let answers = client.sendTogether([push, push])
        while try await harness.snapshot().counts.unanswered < before.unanswered + 2 { await Task.yield() }
        let order = HTTP2Request(
            method: "POST", authority: "localhost", path: "/simulator/v1/goaway",
            body: Array(#"{"last_stream":"zero"}"#.utf8))
        #expect(try await harness.client().send(order).status == 200)
        #expect(await answers == [])
        await client.end()
        #expect(try await harness.snapshot().counts.arrived == before.arrived)
    }

    @Test("a connection is closed after so many bad device tokens, and not before")
    func badTokens() async throws {
        try await Harness.with({ $0.closesAfterBadTokens = 3 }) {
            let (client, push) = try await prepared()
            let bad = Harness.push(to: "00", token: try await harness.providerToken())
            for _ in 1...2 { #expect(try await client.send(bad).status == 400) }
            #expect(try await client.send(push).status == 200)
            #expect(try await client.send(bad).text == "{\"reason\":\"BadDeviceToken\"}")
            await client.end()
        }
    }

    @Test("a provider token that is refused may bring the connection back to one stream")
    func limitAfterRejection() async throws {
        try await Harness.with({ $0.limitsStreamsAfterRejection = true }) {
            let (client, push) = try await prepared()
            let device = try await harness.phone()
            #expect(try await client.send(Harness.push(to: device, token: "x")).status == 403)
            #expect(try await client.nextLimit() == 1)
            #expect(try await client.send(push).status == 200)
            #expect(try await client.nextLimit() == 1000)
        }
    }

    @Test("a simulator that is far away takes its round trip for each answer")
    func roundTrip() async throws {
        try await Harness.with({ $0.roundTrip = .milliseconds(80) }) {
            let (client, push) = try await prepared()
            for _ in 1...2 {
                let start = ContinuousClock.now
                #expect(try await client.send(push).status == 200)
                // The wall clock, by which it is counted, has whole milliseconds.
                #expect(ContinuousClock.now - start >= .milliseconds(78))
            }
            // What is on its way when the connection ends arrives.
            await harness.simulator.inject(PushFault(.refuseAndClose, count: 1))
            #expect(try await client.send(push).status == 503)
            await client.end()
        }
    }

    // MARK: A seed

    /// What a run with faults looks like from outside.
    private func run(seed: UInt64) async throws -> [String] {
        var seen: [String] = []
        try await Harness.with({ $0.seed = seed }) {
            let device = try await harness.phone()
            let android = try #require(
                await harness.simulator.registerPhone(topic: "p", environment: .production, provider: .fcm))
            seen += [device, android]
            await harness.simulator.inject(PushFault(.refuse(.tooManyRequests), rate: 0.3))
            await harness.simulator.inject(PushFault(.emptyBody(status: 500), rate: 0.3))
            let client = try await harness.client()
            let token = try await harness.providerToken()
            for _ in 1...60 {
                seen.append("\(try await client.send(Harness.push(to: device, token: token)).status)")
            }
        }
        return seen
    }

    @Test("a run is repeated by its seed: the same tokens, the same pushes hit")
    func seed() async throws {
        let first = try await run(seed: 7)
        #expect(try await run(seed: 7) == first)
        #expect(try await run(seed: 8) != first)
        #expect(Set(first.dropFirst(2)) == ["200", "429", "500"])
    }

    // MARK: By admin calls

    @Test("another process lists, adds and clears faults, ends connections, and reads the state")
    func admin() async throws {
        let (client, push) = try await prepared()
        let admin = try PushSimulatorAdmin(folder: harness.folder)
        var order = PushFaultOrder(.refuse)
        (order.reason, order.count, order.rate) = ("Unregistered", 2, 1)
        try await admin.inject(order)
        try await admin.inject(PushFaultOrder(.html, provider: .oauth))
        #expect(try await client.send(push).status == 410)
        let waiting = try await admin.waitingFaults()
        #expect(waiting.map(\.fault) == ["refuse", "html"])
        #expect(waiting.map(\.count) == [1, nil])
        #expect(await harness.simulator.waitingFaults().count == 2)
        try await admin.clearFaults()
        #expect(try await admin.waitingFaults().isEmpty)
        #expect(try await client.send(push).status == 200)
        let goAway = PushFault.GoAway(text: .json(.shutdown))
        try await admin.endProviderConnections(provider: .fcm, environment: .production, goAway)
        try await admin.endProviderConnections(provider: .apns, environment: .production, goAway)
        #expect(try await client.nextGoAway() == "{\"reason\":\"Shutdown\"}")
        await client.end()
        #expect(try await admin.snapshot().counts.goAways == 1)
        var nonsense = PushFaultOrder(.lose)
        nonsense.rate = 7
        await #expect(throws: PushSimulatorAdmin.Failure.self) { try await admin.inject(nonsense) }
        await harness.simulator.stop()
        await #expect {
            _ = try await admin.snapshot()
        } throws: { error in
            "\(error)".contains("no push simulator runs on \(harness.folder)")
        }
    }

    @Test("a folder where no simulator has run is refused in words")
    func noFolder() {
        #expect {
            _ = try PushSimulatorAdmin(folder: "/nonexistent")
        } throws: { error in
            "\(error)".contains("start reveille push-sim")
        }
    }
}

extension PushSimulatorSnapshot.Counts {
    /// Pushes that have left the provider for a phone, whatever became of them there.
    var arrived: Int { delivered + stored + dropped.values.reduce(0, +) }
}
