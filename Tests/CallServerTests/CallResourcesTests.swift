import CallCore
import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import SignalProtocol
import TestCleanup
import Testing
import WebSocketServer

@testable import CallServer

/// Call resources on their own loop, with the test as the core.
private final class Fixture {
    struct Answer: Sendable {
        let number: Int
        let response: HTTPResponse
        let user: Handle?
        var header: [String: String] { Dictionary(uniqueKeysWithValues: response.headers.map { ($0.name, $0.value) }) }
        var text: String { String(decoding: response.body, as: UTF8.self) }
    }

    /// Releases the resources on their loop.
    private final class Slot {
        var resources: CallResources?
    }

    static let call = CallID(high: 5, low: 6)
    static let device = DeviceID(high: 7, low: 8)

    let counters = SignalCounters()
    let token: String
    /// Of another user.
    let carol: String
    private let loop: EventLoop
    private let slot: LoopBound<Slot>
    private let report: AsyncStream<Answer>.Continuation
    private var answers: AsyncStream<Answer>.AsyncIterator
    private var inputs: AsyncStream<CoreInput>.AsyncIterator
    private var asked = 0

    init(
        coreCapacity: Int = 10_000, patience: Duration = .seconds(600),
        spend: @escaping @Sendable (Handle) -> Duration? = { _ in nil }
    ) async throws {
        let tokens = try await TokenAuthority(folder: .temporary())
        token = try await tokens.mint(
            user: #require(Handle("bob")), lifetime: .seconds(60), device: Self.device, name: "Bob")
        carol = try await tokens.mint(
            user: #require(Handle("carol")), lifetime: .seconds(60), device: Self.device, name: "Bob")
        let loop = try EventLoop.started("shard-test")
        self.loop = loop
        let (answers, report) = AsyncStream.makeStream(of: Answer.self)
        let (inputs, input) = AsyncStream.makeStream(of: CoreInput.self)
        self.answers = answers.makeAsyncIterator()
        self.report = report
        self.inputs = inputs.makeAsyncIterator()
        let made = await loop.run { [counters] in
            let core = Mailbox<CoreInput>(loop: loop, capacity: coreCapacity) { for fact in $0 { input.yield(fact) } }
            let slot = Slot()
            slot.resources = CallResources(
                shard: 3, loop: loop, core: core,
                tokens: TokenChecker(tokens, loop: loop, failures: RateLimiter(perMinute: 600)),
                clock: ServerClock(), counters: counters,
                patience: patience, spend: spend)
            return LoopBound(slot, on: loop)
        }
        slot = try #require(made)
        atEnd { [loop, slot] in await loop.run { slot.value.resources = nil } }
    }

    /// Requests the call `count` times; the responses are numbered from 0.
    func ask(_ count: Int = 1, query: String = "", token: String? = nil) async {
        let request = HTTPRequest(
            method: .get, target: "/v1/calls/\(Self.call)\(query)", path: "/v1/calls/\(Self.call)",
            authorization: "Bearer \(token ?? self.token)")
        let first = asked
        asked += count
        await loop.run { [slot, report] in
            for number in first..<first + count {
                slot.value.resources?.ask(.call(id: "\(Self.call)"), request) {
                    report.yield(Answer(number: number, response: $0, user: $1))
                }
            }
        }
    }

    func answer(_ serial: UInt64, _ message: ServerMessage) async {
        await loop.run { [slot] in slot.value.resources?.answered(serial, message) }
    }

    func lose(_ serial: UInt64) async {
        await loop.run { [slot] in slot.value.resources?.lost(serial) }
    }

    func nextAnswer() async throws -> Answer {
        let answer = await answers.next()
        return try #require(answer)
    }

    /// The serial of the core's next request.
    func nextSerial(of user: String = "bob") async throws -> UInt64 {
        let input = await inputs.next()
        guard case .client(.asked(let connection, _, let question, let grant, let device)) = input else {
            Issue.record("a question was due, not \(String(describing: input))")
            return 0
        }
        #expect(connection.shard == 3)
        #expect(question == .get(Self.call))
        #expect(grant == SessionGrant(user: try #require(Handle(user)), displayName: "Bob", issuedAt: grant.issuedAt))
        #expect(device == Self.device)
        return connection.serial
    }
}

@Suite("Requests about calls by HTTP", .cleanup, .timeLimit(.minutes(5)))
struct CallResourcesTests {
    private static let ringing = ServerMessage.reply(.number(0), .callState(.ringing, nil))

    @Test("each has a serial that no WebSocket of the shard has, and one answer")
    func serials() async throws {
        let fixture = try await Fixture()
        await fixture.ask(3)
        var serials: Set<UInt64> = []
        for _ in 0..<3 { serials.insert(try await fixture.nextSerial()) }
        let expected: Set<UInt64> = [.max, .max - 1, .max - 2]
        #expect(serials == expected)
        await fixture.answer(.max - 1, Self.ringing)
        await fixture.answer(.max - 1, .reply(.number(0), .callState(.ended, .hangup)))
        let second = try await fixture.nextAnswer()
        #expect(second.number == 1)
        #expect(second.response.status == 200)
        #expect(second.text == #"{"state":"ringing"}"#)
        // The next answer belongs to the next request, not to this one again.
        await fixture.answer(.max, .reply(.number(0), .callState(.ended, .hangup)))
        let first = try await fixture.nextAnswer()
        #expect(first.number == 0)
        #expect(first.text == #"{"state":"ended","reason":"hangup"}"#)
        await fixture.ask()
        #expect(try await fixture.nextSerial() == .max - 3)
        #expect(fixture.counters.unansweredQuestions == 0)
    }

    @Test("requests above the limit are refused at once with a retry time, until an earlier one is answered")
    func bound() async throws {
        let fixture = try await Fixture()
        await fixture.ask(CallResources.mostQuestions + 1)
        let refusal = try await fixture.nextAnswer()
        #expect(refusal.number == CallResources.mostQuestions)
        #expect(refusal.response.status == 503)
        #expect(refusal.header["Retry-After"] == "1")
        #expect(refusal.text.contains(#""data":{"code":"overloaded","retry_after_ms":1000}"#))
        // One user has half of them, once the tokens are checked.
        let share = CallResources.mostQuestions / 2
        for _ in 0..<share { #expect(try await fixture.nextAnswer().response.status == 503) }
        #expect(fixture.counters.unansweredQuestions == UInt64(share) + 1)
        let first = try await fixture.nextSerial()
        for _ in 1..<share { _ = try await fixture.nextSerial() }
        await fixture.ask()
        #expect(try await fixture.nextAnswer().response.status == 503)
        // That of another user goes on at once.
        await fixture.ask(token: fixture.carol)
        await fixture.answer(try await fixture.nextSerial(of: "carol"), Self.ringing)
        #expect(try await fixture.nextAnswer().response.status == 200)
        await fixture.answer(first, Self.ringing)
        #expect(try await fixture.nextAnswer().response.status == 200)
        await fixture.ask()
        #expect(try await fixture.nextSerial() == .max - UInt64(CallResources.mostQuestions) - 2)
        #expect(fixture.counters.unansweredQuestions == UInt64(share) + 2)
    }

    @Test("beyond the user's rate a request gets 429 with the time to wait")
    func rate() async throws {
        let fixture = try await Fixture { $0.text == "bob" ? .seconds(3) : nil }
        await fixture.ask()
        let refusal = try await fixture.nextAnswer()
        #expect(refusal.response.status == 429 && refusal.header["Retry-After"] == "3")
        #expect(refusal.user?.text == "bob" && refusal.text.contains(#""rate_limited""#))
    }

    @Test("a full core mailbox gives 503, and does not count against the limit")
    func coreBehind() async throws {
        let fixture = try await Fixture(coreCapacity: 0)
        for number in 0..<3 {
            await fixture.ask()
            let answer = try await fixture.nextAnswer()
            #expect(answer.number == number)
            #expect(answer.response.status == 503)
            #expect(answer.header["Retry-After"] == "1")
        }
        #expect(fixture.counters.unansweredQuestions == 3)
    }

    @Test("a request without an answer of the core gets 503 after a timeout, and a late answer is dropped")
    func neverAnswered() async throws {
        // Long enough for the answer to one of two.
        let fixture = try await Fixture(patience: .milliseconds(500))
        await fixture.ask(2)
        for _ in 0..<2 { _ = try await fixture.nextSerial() }
        await fixture.answer(.max, Self.ringing)
        #expect(try await fixture.nextAnswer().response.status == 200)
        let overdue = try await fixture.nextAnswer()
        #expect(overdue.number == 1)
        #expect(overdue.response.status == 503)
        #expect(fixture.counters.unansweredQuestions == 1)
        await fixture.answer(.max - 1, Self.ringing)
        // The timer is set again for the next request.
        await fixture.ask()
        let next = try await fixture.nextAnswer()
        #expect(next.number == 2)
        #expect(next.response.status == 503)
    }

    @Test("an answer lost on its way to the shard gives 503")
    func lost() async throws {
        let fixture = try await Fixture()
        await fixture.ask()
        await fixture.lose(try await fixture.nextSerial())
        #expect(try await fixture.nextAnswer().response.status == 503)
        #expect(fixture.counters.unansweredQuestions == 1)
    }

    @Test("a refusal of the core has the status of its code, and the core's retry time if there is one")
    func refusals() async throws {
        let fixture = try await Fixture()
        let cases: [(SignalError.Code, Int, String?)] = [
            (.forbidden, 403, nil), (.overloaded(retryAfter: .milliseconds(1001)), 503, "2"),
            (.rateLimited(retryAfter: .seconds(3)), 429, "3"), (.draining, 503, nil), (.invalidParams, 400, nil),
            (.internalError, 500, nil), (.callEnded(.hangup), 409, nil), (.notFound, 404, nil),
            (.unauthenticated, 401, nil),
        ]
        for (code, status, retryAfter) in cases {
            await fixture.ask()
            await fixture.answer(try await fixture.nextSerial(), .error(.number(0), SignalError(code, "No.")))
            let answer = try await fixture.nextAnswer()
            #expect(answer.response.status == status)
            #expect(answer.header["Retry-After"] == retryAfter)
            #expect(answer.header["Cache-Control"] == "no-store")
            #expect((answer.header["WWW-Authenticate"] != nil) == (status == 401))
            #expect(answer.text.hasPrefix(#"{"code":\#(code.number),"message":"No.","data":{"code":"\#(code.name)""#))
        }
    }

    @Test("a token of one device is refused for another, with the challenge of every refused token")
    func otherDevice() async throws {
        let fixture = try await Fixture()
        await fixture.ask(query: "?device=\(DeviceID(high: 1, low: 1))")
        let answer = try await fixture.nextAnswer()
        #expect(answer.response.status == 401)
        #expect(answer.header["WWW-Authenticate"] == #"Bearer error="invalid_token""#)
        #expect(answer.text.contains("The token is for another device: \(Fixture.device)."))
    }

    @Test("the OpenAPI document has these resources with their methods, and no other")
    func document() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Resources/reveille.openapi.json")
        let root = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        let paths = try #require(root?["paths"] as? [String: [String: Any]])
        for (path, item) in paths where path != TurnResource.path {
            let sample = path.replacing("{call_id}", with: "c").replacing("{push_id}", with: "p")
            let resource = try #require(CallResource(path: sample), "\(path)")
            let methods = item.keys.filter { $0 != "parameters" }.map { $0.uppercased() }
            // GET includes HEAD.
            #expect(methods == resource.methods.filter { $0 != .head }.map(\.rawValue), "\(path)")
        }
        let actions = CallAction.allCases.map { "/v1/calls/{call_id}/\($0.rawValue)" }
        #expect(
            Set(paths.keys) == Set(actions + ["/v1/calls/{call_id}", "/v1/pushes/{push_id}/report", TurnResource.path]))
    }

    @Test("a request to sign in by name is refused by its head wherever its body would change nothing")
    func signInByName() async throws {
        let tokens = try await TokenAuthority(folder: .temporary())
        let local = try #require(PeerAddress(numeric: "127.0.0.1"))
        func request(
            _ method: HTTPRequest.Method = .post, type: String = "application/json", host: String = "localhost"
        ) -> HTTPRequest {
            HTTPRequest(method: method, path: SignInByName.path, contentType: type, host: host, peer: local)
        }
        let signIn = SignInByName(secret: "s", tokens: tokens)
        #expect(!signIn.refuses(request()))
        #expect(signIn.refuses(request(.get)) && signIn.refuses(request(type: "text/plain")))
        #expect(signIn.refuses(request(host: "example.org")))
        #expect(SignInByName(secret: nil, tokens: tokens).refuses(request()), "nobody signs in by name")
    }

    @Test(
        "only the documented paths are resources of calls",
        arguments: [
            ("/v1/calls/x", CallResource.call(id: "x")), ("/v1/calls/", .call(id: "")),
            ("/v1/pushes/y/report", .report(push: "y")), ("/v1/calls/x/answer", .action(.answer, id: "x")),
            ("/v1/calls/x/ringing", .action(.ringing, id: "x")), ("/v1/calls/x/connected", nil),
            ("/v1/calls/x/answer/", nil), ("/v1/calls/x/Answer", nil), ("/v1/calls", nil), ("/v1/calls/x/", nil),
            ("/v1/pushes/y", nil), ("/v1/pushes/y/reports", nil), ("/v1/pushes/y/report/", nil), ("/v2/calls/x", nil),
            ("v1/calls/x", nil), ("x/v1/calls/y", nil), ("//v1/calls/x", nil), ("/", nil), ("", nil),
        ])
    func paths(path: String, resource: CallResource?) {
        #expect(CallResource(path: path) == resource)
    }
}
