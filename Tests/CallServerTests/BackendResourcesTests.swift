import AdminServer
import ByteMutation
import CallCore
import CallVocabulary
import EventJournal
import EventLoop
import LibWebSockets
import StoreInterface
import TestCleanup
import Testing

@testable import CallServer

/// The resources of backends on their own loop, with the test as the core.
private final class Fixture {
    /// Releases the resources on their loop.
    private final class Slot {
        var resources: BackendResources?
    }

    static let call = CallID(high: 5, low: 6)

    private let text: String
    /// Another backend's token, for the same users.
    let other: String
    /// A token of the role admin for all users.
    let root: String
    let services: BackendServices
    private let loop: EventLoop
    private let slot: LoopBound<Slot>
    private let report: AsyncStream<HTTPResponse>.Continuation
    private var responses: AsyncStream<HTTPResponse>.AsyncIterator
    private var inputs: AsyncStream<CoreInput>.AsyncIterator

    /// - Parameters:
    ///   - commitWait: the age of the oldest commit. Above ``CallAdmission/commit`` the server is overloaded.
    ///   - export: reads a page; by default the store is closed.
    init(
        patience: Duration = .seconds(600), commitWait: Duration? = nil,
        export: @escaping @Sendable (BackendExport) async throws -> HTTPResponse = { _ in
            throw StoreFailure(.closed, path: "reveille.sqlite3", detail: "the connection is closed")
        }
    ) async throws {
        let made = BackendToken.make(name: "pbx", role: .calls, scope: BackendScope(users: ["alice"]))
        let second = BackendToken.make(name: "crm", role: .calls, scope: BackendScope(users: ["alice"]))
        let third = BackendToken.make(name: "root", role: .admin, scope: BackendScope())
        (text, other, root) = (made.text, second.text, third.text)
        let services = BackendServices(
            tokens: BackendTokens(try BackendToken.read("\(made.line)\n\(second.line)\n\(third.line)")),
            callSecret: [7], export: export)
        self.services = services
        let loop = try EventLoop.started("shard-test")
        self.loop = loop
        let (responses, report) = AsyncStream.makeStream(of: HTTPResponse.self)
        let (inputs, input) = AsyncStream.makeStream(of: CoreInput.self)
        self.responses = responses.makeAsyncIterator()
        self.report = report
        self.inputs = inputs.makeAsyncIterator()
        let slot = await loop.run {
            let core = Mailbox<CoreInput>(loop: loop, capacity: 10_000) { for fact in $0 { input.yield(fact) } }
            let slot = Slot()
            slot.resources = BackendResources(
                shard: 3, loop: loop, core: core, services: services,
                admission: CallAdmission(
                    clock: ServerClock(), counters: SignalCounters(), log: .none, loads: { (loop.load, loop.load) },
                    commitWait: { commitWait }),
                clock: ServerClock(), counters: SignalCounters(), log: .none, patience: patience)
            return LoopBound(slot, on: loop)
        }
        self.slot = try #require(slot)
        atEnd { [loop, slot = self.slot] in await loop.run { slot.value.resources = nil } }
    }

    func ask(
        _ method: HTTPRequest.Method, _ path: String, _ body: String = "", key: String? = nil, token: String? = nil
    ) async {
        let request = HTTPRequest(
            method: method, target: BackendRoute.root + path, path: BackendRoute.root + path,
            authorization: "Bearer \(token ?? text)", idempotencyKey: key, body: Array(body.utf8))
        await loop.run { [slot, report] in slot.value.resources?.ask(request) { response, _ in report.yield(response) }
        }
    }

    func answer(_ connection: ConnectionID, _ message: ServerMessage) async {
        await loop.run { [slot] in slot.value.resources?.answered(connection.serial, message) }
    }

    func lose(_ connection: ConnectionID) async {
        await loop.run { [slot] in slot.value.resources?.lost(connection.serial) }
    }

    func nextResponse() async throws -> HTTPResponse {
        let response = await responses.next()
        return try #require(response)
    }

    func nextInput() async throws -> (connection: ConnectionID, request: BackendRequest) {
        let input = await inputs.next()
        guard case .client(.backend(let connection, _, let request, let scope))? = input else {
            throw Unexpected(input: "\(String(describing: input))")
        }
        if case .unfollow = request {} else { #expect(scope == BackendScope(users: ["alice"])) }
        return (connection, request)
    }

    private struct Unexpected: Error {
        let input: String
    }
}

@Suite("Requests of backends", .cleanup, .timeLimit(.minutes(5)))
struct BackendResourcesTests {
    @Test("a request that waits for a change is answered 204 at its end, and withdrawn from the core")
    func unchanged() async throws {
        let fixture = try await Fixture()
        await fixture.ask(.get, "/calls/\(Fixture.call)?after=1f&wait=0")
        let (connection, request) = try await fixture.nextInput()
        #expect(request == .follow(Fixture.call, after: 0x1F))
        #expect(try await fixture.nextResponse().status == 204)
        let (other, withdrawn) = try await fixture.nextInput()
        #expect(other == connection && withdrawn == .unfollow(Fixture.call))
        await fixture.answer(connection, .reply(.number(0), .done))
    }

    @Test("a core that does not answer in time leads to 503, as a full mailbox does")
    func busy() async throws {
        let fixture = try await Fixture(patience: .milliseconds(1))
        await fixture.ask(.post, "/calls/\(Fixture.call)/connected")
        let late = try await fixture.nextResponse()
        #expect(late.status == 503 && late.headers.contains { $0 == ("Retry-After", "1") })
        let patient = try await Fixture()
        await patient.ask(.post, "/calls/\(Fixture.call)/hangup", #"{"reason":"ice_failed"}"#)
        let (connection, request) = try await patient.nextInput()
        #expect(request == .hangup(Fixture.call, .iceFailed))
        await patient.lose(connection)
        #expect(try await patient.nextResponse().status == 503)
    }

    @Test("an overloaded server refuses a new call with 503, and accepts requests about existing calls")
    func overloaded() async throws {
        let fixture = try await Fixture(commitWait: .seconds(1))
        await fixture.ask(.post, "/calls", #"{"from":"alice","to":"bob"}"#)
        let refusal = try await fixture.nextResponse()
        #expect(refusal.status == 503 && refusal.headers.contains { $0.0 == "Retry-After" })
        await fixture.ask(.post, "/calls/\(Fixture.call)/hangup")
        #expect(try await fixture.nextInput().request == .hangup(Fixture.call, .hangup))
    }

    @Test("a conflict is 422 for a key that was used with another body, and 409 for a chosen id")
    func conflict() async throws {
        let fixture = try await Fixture()
        let body = #"{"from":"alice","to":"bob"}"#
        for (key, status) in [("key", 422), (nil, 409)] {
            await fixture.ask(.post, "/calls", body, key: key)
            let (connection, _) = try await fixture.nextInput()
            await fixture.answer(connection, .error(.number(0), SignalError(.conflict, "")))
            #expect(try await fixture.nextResponse().status == status)
        }
    }

    @Test(
        "what cannot be read is refused with the member's name",
        arguments: [
            ("/calls/x?after=1", "call_id: expected a UUID"), ("/calls/\(Fixture.call)?after=x", "after: "),
            ("/calls/\(Fixture.call)?after=1&wait=26", "wait: expected 0 to 25 seconds"),
            ("/calls/\(Fixture.call)?after=+5", "after: "), ("/calls/\(Fixture.call)?after=-1", "after: "),
            ("/calls/\(Fixture.call)?after=", "after: "), ("/calls/\(Fixture.call)?after=5%205", "after: "),
            ("/calls/\(Fixture.call)?after=10000000000000000", "after: "),
            ("/calls/\(Fixture.call)?after=1&wait=-1", "wait: "), ("/calls/\(Fixture.call)?after=1&wait=+5", "wait: "),
            ("/calls/\(Fixture.call)?after=1&wait=", "wait: "), ("/calls/\(Fixture.call)?after=1&wait=1e400", "wait: "),
            ("/calls/\(Fixture.call)?after=1&wait=99999999999999999999", "wait: "),
            ("/calls/\(Fixture.call)?wait=26", "wait: "), ("/calls/\(Fixture.call)?wait=x", "wait: "),
            ("/calls/\(Fixture.call)?after=00000000000000001", "after: "),
            ("/calls/\(Fixture.call)?bogus=1", "bogus: the query has no such parameter here; there are: after, wait"),
            ("/calls/\(Fixture.call)?a=%zz", "invalid percent escape"),
            ("/calls/\(Fixture.call)?a=%+5", "invalid percent escape"),
            ("/calls/\(Fixture.call)?after=%FF", "not UTF-8"), ("/calls/\(Fixture.call)?%C3=1", "not UTF-8"),
        ])
    func unreadable(path: String, words: String) async throws {
        let fixture = try await Fixture()
        await fixture.ask(.get, path)
        let response = try await fixture.nextResponse()
        #expect(response.status == 400 && String(decoding: response.body, as: UTF8.self).contains(words))
    }

    @Test("a parameter that the query of a resource does not have is refused, with those that it has")
    func unknownParameters() throws {
        let made = BackendToken.make(name: "root", role: .admin, scope: BackendScope())
        let tokens = BackendTokens(try BackendToken.read(made.line))
        for route in BackendRoute.allCases {
            let segments = route.place.path.split(separator: "/")
            let path = BackendRoute.root + segments.map { $0.hasPrefix("{") ? "/x" : "/\($0)" }.joined()
            let request = HTTPRequest(
                method: route.place.method, target: path + "?sinse=1", path: path,
                authorization: "Bearer \(made.text)")
            let asked = try BackendHTTPRequest(request, tokens)
            do throws(SignalError) {
                _ = try asked.work(request, callSecret: [])
                Issue.record("\(path) takes any parameter")
            } catch {
                let known = route.query.isEmpty ? "none" : route.query.joined(separator: ", ")
                #expect(error.code == .invalidParams)
                #expect(error.message == "sinse: the query has no such parameter here; there are: \(known)", "\(path)")
            }
        }
    }

    @Test("an Idempotency-Key is 1 to 255 visible characters of ASCII")
    func keys() async throws {
        let fixture = try await Fixture()
        let body = #"{"from":"alice","to":"bob"}"#
        for key in ["", String(repeating: "k", count: 256), "a b", " ", "\t", "\u{7f}", "\u{e9}", "k\u{301}"] {
            await fixture.ask(.post, "/calls", body, key: key)
            let response = try await fixture.nextResponse()
            #expect(response.status == 400, "\(key)")
            #expect(String(decoding: response.body, as: UTF8.self).contains("Idempotency-Key: expected 1 to 255"))
        }
        for key in ["!", "~", #""8e03978e-40d5""#, String(repeating: "k", count: 255)] {
            await fixture.ask(.post, "/calls", body, key: key)
            guard case .invite = try await fixture.nextInput().request else {
                Issue.record("\(key)")
                continue
            }
        }
    }

    @Test("a token of some users reads the records of their calls, and no other's")
    func records() throws {
        let made = BackendToken.make(name: "crm", role: .read, scope: BackendScope(users: ["alice", "desk-*"]))
        let tokens = BackendTokens(try BackendToken.read(made.line))
        func asked(_ path: String) throws(BackendRefusal) -> BackendHTTPRequest {
            try BackendHTTPRequest(
                HTTPRequest(
                    method: .get, target: BackendRoute.root + path, path: BackendRoute.root + path,
                    authorization: "Bearer \(made.text)"), tokens)
        }
        let record = try asked("/calls/\(Fixture.call)/record")
        for (json, status) in [
            (#"{"call":{"from":"alice"}}"#, nil), (#"{"call":{"from":"desk-2","to":"bob"},"legs":[]}"#, nil),
            (#"{"call":{"from":"bob","to":"alice"}}"#, 403), ("{}", 403),
        ] as [(String, Int?)] {
            #expect(record.refusal(of: Array(json.utf8))?.response.status == status, "\(json)")
        }
        for path in ["/calls", "/pushes", "/pushes/\(Fixture.call)", "/groups", "/users/bob", "/stats"] {
            do throws(BackendRefusal) {
                _ = try asked(path)
                Issue.record("\(path) is allowed")
            } catch {
                #expect(error.response.status == 403, "\(path)")
            }
        }
    }

    @Test("a body for the administration costs little at the greatest length, whatever is in it")
    func costOfBody() throws {
        let made = BackendToken.make(name: "crm", role: .read, scope: BackendScope())
        let tokens = BackendTokens(try BackendToken.read(made.line))
        func request(_ body: [UInt8]) -> HTTPRequest {
            let path = BackendRoute.root + "/stats"
            return HTTPRequest(
                method: .get, target: path, path: path, authorization: "Bearer \(made.text)", body: body)
        }
        let asked = try BackendHTTPRequest(request([]), tokens)
        func work(_ body: [UInt8]) throws(SignalError) -> [UInt8]? {
            guard case .admin(_, let params) = try asked.work(request(body), callSecret: []) else { return nil }
            return params
        }
        for unit in ["1", "1.5e3", "[]", "{}", #""a""#, "null"] {
            func body(_ count: Int) -> [UInt8] {
                let units = Array(repeating: unit, count: count / (unit.utf8.count + 1)).joined(separator: ",")
                return Array("{\"a\":[\(units)]}".utf8)
            }
            let growth = WorstInput.growth(at: 7000, of: body) { _ = try? work($0) }
            #expect(growth <= WorstInput.mostGrowth, "\(unit)")
            let longest = body(HTTPRequest.longestBody - 10)
            #expect(WorstInput.isQuick { _ = try? work(longest) }, "\(unit)")
            #expect(try work(longest) == longest, "it is passed on as it stands")
        }
        let members = (0..<6000).map { "\"\($0)\":1" }.joined(separator: ",")
        let marks = String(decoding: WorstInput.marks.bytes(2000), as: UTF8.self)
        let refused: [(text: String, words: String)] = [
            ("{\(members)}", "more than 32 members"), ("{\"\(marks)\":1}", "is not all ASCII"),
            ("[1]", "expected a JSON object"), ("{", "not valid JSON"), ("{\"a\":1}\0", "not UTF-8"),
        ]
        for (text, words) in refused {
            let body = Array(text.utf8)
            #expect(WorstInput.isQuick { _ = try? work(body) }, "\(words)")
            do throws(SignalError) {
                _ = try work(body)
                Issue.record("taken: \(words)")
            } catch {
                #expect(error.message.contains(words))
            }
        }
    }

    static let reads: [(HTTPRequest.Method, String, String)] = [
        (.get, "/calls", ""), (.get, "/calls/\(Fixture.call)/record", ""), (.get, "/pushes", ""),
        (.get, "/pushes/\(Fixture.call)", ""), (.get, "/users/alice/devices", ""),
        (.get, "/users/alice/devices/\(Fixture.call)", ""), (.get, "/groups", ""), (.get, "/aliases", ""),
        (.post, "/webhooks/billing/replay", #"{"since_ms":1}"#),
    ]

    @Test("each resource for which the store is read answers 500 while it cannot be read", arguments: reads)
    func unreadableStore(method: HTTPRequest.Method, path: String, body: String) async throws {
        let fixture = try await Fixture()
        let admin = try await AdminFixture(endpoint: "billing")
        await admin.queries.close()
        fixture.services.attach(admin.service.mailbox)
        await fixture.ask(method, path, body, token: fixture.root)
        let response = try await fixture.nextResponse()
        #expect(response.status == 500)
        #expect(String(decoding: response.body, as: UTF8.self).contains("The store cannot be read"))
    }

    @Test("the exports of a token are read one after the other")
    func exports() async throws {
        let reads = HeldReads()
        let fixture = try await Fixture { _ in
            _ = await withCheckedContinuation { done in reads.hold { done.resume(returning: $0) } }
            return .text("page\n", status: 200)
        }
        for _ in 0..<3 { await fixture.ask(.get, "/calls", token: fixture.root) }
        for count in 1...3 {
            try await reads.wait(for: count)
            reads.letGo()
            #expect(try await fixture.nextResponse().status == 200)
        }
        #expect(reads.begun.entries == [1, 1, 1])
    }

    @Test("the requests of a shard are bounded, waiting ones too, and one token has half of them")
    func bounds() async throws {
        let fixture = try await Fixture()
        let share = BackendResources.mostQuestions / 2
        let (shown, followed) = ("/calls/\(Fixture.call)", "/calls/\(Fixture.call)?after=1")
        for _ in 0..<share { await fixture.ask(.get, followed) }
        await fixture.ask(.get, shown)
        #expect(try await fixture.nextResponse().status == 503)
        // That of another backend goes on at once.
        await fixture.ask(.get, shown, token: fixture.other)
        for _ in 0..<share { #expect(try await fixture.nextInput().request == .follow(Fixture.call, after: 1)) }
        #expect(try await fixture.nextInput().request == .get(Fixture.call))
        for _ in 1..<share { await fixture.ask(.get, followed, token: fixture.other) }
        await fixture.ask(.get, shown, token: fixture.other)
        #expect(try await fixture.nextResponse().status == 503)
    }
}
