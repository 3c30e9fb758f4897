import CallVocabulary
import Foundation
import HTTP2
import PushSimulator
import PushVocabulary
import Testing

@Suite("Faults on demand", .simulator, .timeLimit(.minutes(5)))
struct FaultTests {
    typealias Harness = SimulatorHarness

    @Test("a refusal befalls its token only, as often as it is told")
    func refuse() async throws {
        let unlucky = try await harness.phone()
        let lucky = try await harness.phone()
        let client = try await harness.client()
        let token = try await harness.providerToken()
        await harness.simulator.inject(
            PushFault(
                .refuse(.unregistered, timestamp: Instant(milliseconds: 1234)), deviceToken: unlucky, count: 2))
        #expect(try await client.send(Harness.push(to: lucky, token: token)).status == 200)
        for _ in 1...2 {
            let answer = try await client.send(Harness.push(to: unlucky, token: token))
            #expect(answer.status == 410)
            #expect(answer.text == "{\"reason\":\"Unregistered\",\"timestamp\":1234}")
        }
        #expect(try await client.send(Harness.push(to: unlucky, token: token)).status == 200)
        #expect(try await harness.snapshot().counts.rejected == ["Unregistered": 2])
    }

    @Test("a fault for all lasts until it is cleared, and may have a status of its own")
    func cleared() async throws {
        let (device, client, token) = try await harness.provider()
        await harness.simulator.inject(PushFault(.refuse(.serviceUnavailable, status: 500)))
        for _ in 1...3 {
            let answer = try await client.send(Harness.push(to: device, token: token))
            #expect(answer.status == 500)
            #expect(answer.text == "{\"reason\":\"ServiceUnavailable\"}")
        }
        await harness.simulator.clearFaults()
        #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
    }

    @Test("a push can be accepted and lost, or come late in spite of its expiration")
    func lostAndLate() async throws {
        let (device, client, token) = try await harness.provider()
        let phone = try await TestPhone.attach(device)
        await harness.simulator.inject(PushFault(.lose, count: 1))
        await harness.simulator.inject(PushFault(.deliverLate(.seconds(2)), count: 1))
        var ids: [String] = []
        for _ in 0..<3 {
            ids.append(UUID().uuidString.lowercased())
            let push = Harness.push(to: device, token: token, id: ids[ids.count - 1], expiration: "1")
            #expect(try await client.send(push).status == 200)
        }
        #expect(try await phone.nextPush().id == ids[2])
        #expect(try await phone.nextPush().id == ids[1])
        let seen = try await harness.snapshot()
        #expect(seen.counts.accepted == 3)
        #expect(seen.counts.delivered == 2)
        #expect(seen.counts.dropped == ["fault": 1])
    }

    @Test("a push without an answer holds its stream until the provider gives it up")
    func noAnswer() async throws {
        let (device, client, token) = try await harness.provider()
        #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
        #expect(try await client.nextLimit() == 1000)
        await harness.simulator.inject(PushFault(.neverAnswer, count: 1))
        async let silent = client.send(Harness.push(to: device, token: token))
        while try await harness.snapshot().counts.unanswered == 0 { await Task.yield() }
        #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
        await client.resetAll()
        do {
            _ = try await silent
            Issue.record("an answer came")
        } catch TestClient.Trouble.streamClosed(let code) {
            #expect(code == .cancel)
        }
        #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
        #expect(try await harness.snapshot().counts.accepted == 3)
    }

    @Test("GOAWAY answers the push, names its reason, and ends the connection")
    func goAway() async throws {
        let (device, client, token) = try await harness.provider()
        let phone = try await TestPhone.attach(device)
        await harness.simulator.inject(PushFault(.goAway(.shutdown), count: 1))
        #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
        #expect(try await client.nextGoAway() == "{\"reason\":\"Shutdown\"}")
        await client.end()
        _ = try await phone.nextPush()
        #expect(try await harness.snapshot().counts.goAways == 1)
        let other = try await harness.client()
        #expect(try await other.send(Harness.push(to: device, token: token)).status == 200)
        _ = try await phone.nextPush()
        await harness.simulator.endProviderConnections(.sandbox)
        await harness.simulator.endProviderConnections(.production, reason: .idleTimeout)
        #expect(try await other.nextGoAway() == "{\"reason\":\"IdleTimeout\"}")
        await other.end()
        // The phone's link is no provider's connection.
        #expect(try await harness.snapshot().phone(device)?.isAttached == true)
        #expect(try await harness.snapshot().counts.goAways == 2)
    }

    // MARK: The same by HTTP

    private func call(
        _ client: TestClient, _ method: String, _ path: String, _ body: String = ""
    ) async throws -> TestClient.Answer {
        try await client.send(
            HTTP2Request(
                method: method, authority: "localhost", path: "/simulator/v1/" + path, body: Array(body.utf8)))
    }

    @Test("faults are injected and cleared, and the state is read, by HTTP")
    func admin() async throws {
        let client = try await harness.client()
        let bob = "{\"topic\":\"\(Harness.voipTopic)\",\"name\":\"bob\"}"
        let registered = try await call(client, "POST", "phones", bob)
        #expect(registered.status == 201)
        let device = try JSONDecoder().decode([String: String].self, from: Data(registered.body))["token"] ?? ""
        let token = try await harness.providerToken()
        let fault = "{\"fault\":\"refuse\",\"reason\":\"TooManyRequests\",\"token\":\"\(device)\"}"
        #expect(try await call(client, "POST", "faults", fault).status == 200)
        let refused = try await client.send(Harness.push(to: device, token: token))
        #expect(refused.status == 429)
        #expect(refused.text == "{\"reason\":\"TooManyRequests\"}")
        #expect(try await call(client, "DELETE", "faults").status == 200)
        for fault in ["lose", "late\",\"delay_ms\":5,\"x\":\"", "no_answer", "goaway\",\"reason\":\"Shutdown"] {
            #expect(try await call(client, "POST", "faults", "{\"fault\":\"\(fault)\"}").status == 200, "\(fault)")
        }
        #expect(try await call(client, "DELETE", "faults").status == 200)
        let lasting = Harness.push(to: device, token: token, expiration: "9999999999")
        #expect(try await client.send(lasting).status == 200)
        let state = try await call(client, "GET", "state")
        let snapshot = try JSONDecoder().decode(PushSimulatorSnapshot.self, from: Data(state.body))
        #expect(snapshot.counts.received == 2)
        #expect(snapshot.counts.rejected == ["TooManyRequests": 1])
        #expect(snapshot.counts.stored == 1)
        #expect(snapshot.phone(device)?.name == "bob")
        #expect(snapshot == (try await harness.snapshot()))
    }

    @Test("a report may name the call instead of the push")
    func reportByCall() async throws {
        let device = try await harness.phone()
        let phone = try await TestPhone.attach(device)
        let client = try await harness.client()
        let call = "6b1e8f0a-0000-4000-8000-000000000001"
        let token = try await harness.providerToken()
        let push = Harness.push(to: device, token: token, payload: "{\"uuid\":\"\(call)\"}")
        #expect(try await client.send(push).status == 200)
        _ = try await phone.nextPush()
        let report = "{\"uuid\":\"\(call.uppercased())\"}"
        let answer = try await self.call(client, "POST", "phones/\(device)/reported", report)
        #expect(answer.text == "{\"verdict\":\"accepted\"}")
        #expect(try await harness.snapshot().counts.reported == 1)
        let unknown = try await self.call(client, "POST", "phones/\(device)/reported", "{\"uuid\":\"x\"}")
        #expect(unknown.status == 404)
    }

    @Test(
        "calls that make no sense are refused in words",
        arguments: [
            ("GET", "nothing", "", 404), ("PUT", "state", "", 404), ("POST", "phones", "{}", 400),
            ("POST", "phones", "{\"topic\":\"a\",\"environment\":\"moon\"}", 400), ("GET", "phones/00", "", 404),
            ("POST", "phones/00/reported", "{\"push_id\":\"a\"}", 404), ("POST", "faults", "{\"fault\":\"rain\"}", 400),
            ("POST", "faults", "{\"fault\":\"refuse\"}", 400), ("POST", "faults", "{\"fault\":\"late\"}", 400),
            ("POST", "faults", "{\"fault\":\"refuse\",\"reason\":\"Because\"}", 400),
            ("POST", "faults", "{\"fault\":\"lose\",\"count\":0}", 400), ("POST", "faults", "not json", 400),
        ])
    func nonsense(method: String, path: String, body: String, status: Int) async throws {
        let answer = try await call(harness.client(), method, path, body)
        #expect(answer.status == status)
        let error = try JSONDecoder().decode([String: String].self, from: Data(answer.body))["error"]
        #expect(error?.isEmpty == false)
    }
}
