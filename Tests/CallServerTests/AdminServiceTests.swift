import AdminKit
import AdminProtocol
import CallCore
import CallVocabulary
import EventJournal
import EventLoop
import Glibc
import LibWebSockets
import LogCapture
import StoreInterface
import TestCleanup
import Testing

@testable import AdminServer
@testable import CallServer

/// Holds an object that must be released on its loop.
private final class Slot {
    var acceptor: SocketAcceptor?
}

@Suite("The admin API", .cleanup)
struct AdminServiceTests {
    private static let alice = Handle("alice")!  // The literals are handles.
    private static let bob = Handle("bob")!
    private static let sales = CallGroup(name: "sales", strategy: .hunt, members: [alice, bob])
    private static let user = UserSummary(
        handle: alice, policy: UserPolicy(), rules: CallRules(), aliases: [bob], groups: ["sales"], devices: 2,
        devicesOnline: 1, liveCalls: 0)
    private static let alias = Alias(handle: bob, user: alice)

    /// One exchange, number `count` in total.
    private func exchange<Request: AdminRequest>(
        _ fixture: AdminFixture, _ client: AdminClient, _ count: Int, _ request: Request, _ command: AdminCommand,
        _ reply: AdminReply, _ response: Request.Response
    ) async throws {
        async let outcome = client.outcome(request)
        #expect(try await fixture.answer(count, .success(reply)) == command)
        #expect(await outcome == .success(response))
    }

    @Test("figures that are due together are made once for all subscriptions")
    func figuresForAll() async throws {
        let (made, frames) = (Journal<Instant>(), Journal<Int>())
        let figures = FigureSources { completion in
            FigureSources.plain(nil).askCore { gather in
                completion { live, now in
                    made.append(now)
                    return gather(live, now)
                }
            }
        }
        let fixture = try await AdminFixture(figures: figures)
        let client = try fixture.client()
        for _ in 0..<SubscriptionDriver.mostPerConnection {
            try await client.subscribe(SubscribeToStats(intervalMilliseconds: 200)) { event in
                if case .notification(let frame) = event { frames.append(frame.subscription) }
            }
        }
        let (told, before) = (frames.entries.count, made.entries.count)
        try await frames.wait(for: "four of each") { $0.count >= told + 64 }
        #expect(made.entries.count - before <= 16)
        await client.close()
    }

    @Test("every request reaches the core unchanged, and its answer comes back")
    func commands() async throws {
        let fixture = try await AdminFixture()
        let client = try fixture.client()
        let (alice, bob, sales, device) = (Self.alice, Self.bob, Handle("sales")!, DeviceID(high: 1, low: 2))
        func done(_ count: Int, _ request: some AdminRequest, _ command: AdminCommand) async throws {
            async let outcome: Void = { _ = try await client.perform(request) }()
            #expect(try await fixture.answer(count, .success(.done)) == command)
            try await outcome
        }
        try await exchange(
            fixture, client, 1, GetGroup(sales), .showGroup("sales"), .group(Self.sales), GroupView(Self.sales))
        try await exchange(
            fixture, client, 2, GetUser(alice), .showUser(alice), .user(Self.user), UserView(Self.user))
        try await done(
            3, SetGroup(name: sales, strategy: .hunt, members: [alice, bob]), .setGroup(Self.sales))
        try await done(4, DeleteGroup(sales), .deleteGroup("sales"))
        let change = UserPolicyChange(decline: .device)
        try await done(5, SetUser(alice, change), .setUser(alice, change))
        try await done(6, SetAlias(alias: bob, user: alice), .setAlias(Self.alias))
        try await done(7, DeleteAlias(bob), .deleteAlias(bob))
        try await done(8, ResumeDevice(user: bob, deviceID: device), .resumeDevice(bob, device))
        try await done(9, DropSession(user: bob, deviceID: device), .dropSession(bob, device))
        try await done(10, EndCall(CallID(high: 3, low: 4)), .endCall(CallID(high: 3, low: 4)))
        await client.close()
        await fixture.end()
        #expect(fixture.asked.entries.count == 10)
    }

    @Test("members that are one text in two forms of Unicode have no delays, which name members as texts")
    func formsOfUnicode() throws {
        let forms = ["caf\u{e9}", "cafe\u{301}"].map { Handle($0)! }
        func group(_ delays: [String: Int]) -> SetGroup {
            SetGroup(name: Handle("sales")!, strategy: .all, members: forms + [Self.bob], delays: delays)
        }
        for form in forms {
            #expect(throws: AdminRefusal.self) { try group([form.text: 5]).command() }
        }
        let delayed = CallGroup(
            name: "sales", strategy: .all, members: forms + [Self.bob], delays: [Self.bob: .seconds(5)])
        #expect(try group(["bob": 5]).command() == .setGroup(delayed))
    }

    @Test("groups and aliases are listed from the store, a page at a time")
    func lists() async throws {
        let fixture = try await AdminFixture()
        let client = try fixture.client()
        let handles = (0..<1200).map { Handle("+8130000\(10_000 + $0)")! }
        let aliases = handles.map { Alias(handle: $0, user: Self.alice) }
        try fixture.store([.group(Self.sales)] + aliases.shuffled().map { .alias($0) })
        #expect(await client.outcome(ofAll: ListGroups()) == .success([GroupView(Self.sales)]))
        #expect(await client.outcome(ofAll: ListAliases()) == .success(aliases.map { AliasView($0) }))
        let first = try await client.perform(ListAliases())
        #expect(first.items.count < aliases.count && first.next == first.items.last?.alias.text)
        let odd = await client.outcome(ListAliases(after: "no handle"))
        guard case .failure(.refused(let refusal)) = odd, refusal.code == .invalidParams else {
            Issue.record("a page after no handle: \(odd)")
            return
        }
        #expect(fixture.asked.entries.isEmpty)
    }

    @Test("a refusal of the core arrives with its code and its message", arguments: AdminRefusal.Code.allCases)
    func refused(code: AdminRefusal.Code) async throws {
        let fixture = try await AdminFixture()
        let client = try fixture.client()
        let refusal = AdminRefusal(code, "There is a reason.")
        async let outcome = client.outcome(GetGroup(Self.alice))
        _ = try await fixture.answer(1, .failure(refusal))
        // A client asks a busy server again.
        let failure: AdminFailure = code == .overloaded ? .notTaken(AdminError(refusal)) : .refused(refusal)
        #expect(await outcome == .failure(failure))
    }

    @Test("two clients each get their own answers, in any order of the core's answers")
    func twoClients() async throws {
        let fixture = try await AdminFixture()
        let (first, second) = (try fixture.client(), try fixture.client())
        async let one = first.outcome(GetGroup(Handle("one")!))
        _ = try await fixture.requests(1)
        async let two = second.outcome(GetGroup(Handle("two")!))
        _ = try await fixture.requests(2)
        async let three = first.outcome(GetGroup(Handle("three")!))
        let requests = try await fixture.requests(3)
        for (request, command) in requests.reversed() {
            guard case .showGroup(let name) = command else { continue }
            fixture.answer(request, .success(.group(CallGroup(name: name, strategy: .all, members: []))))
        }
        #expect(await one == .success(GroupView(CallGroup(name: "one", strategy: .all, members: []))))
        #expect(await two == .success(GroupView(CallGroup(name: "two", strategy: .all, members: []))))
        #expect(await three == .success(GroupView(CallGroup(name: "three", strategy: .all, members: []))))
    }

    @Test("a client that disconnects before its answer causes no error")
    func gone() async throws {
        let fixture = try await AdminFixture()
        let (hasty, patient) = (try fixture.client(), try fixture.client())
        async let lost = hasty.outcome(DeleteGroup(Handle("sales")!))
        let request = try await fixture.requests(1)[0].0
        await hasty.close()
        #expect(await lost == .failure(.lost("the client is closed")))
        async let first = patient.outcome(GetGroup(Handle("sales")!))
        _ = try await fixture.requests(2)
        fixture.answer(request, .success(.done))
        _ = try await fixture.answer(2, .success(.group(Self.sales)))
        #expect(await first == .success(GroupView(Self.sales)))
        // A second answer to the same request, and one to an unknown request.
        fixture.answer(request, .success(.done))
        fixture.answer(AdminRequestID(serial: 99), .success(.done))
        async let second = patient.outcome(GetGroup(Handle("sales")!))
        _ = try await fixture.answer(3, .success(.group(Self.sales)))
        #expect(await second == .success(GroupView(Self.sales)))
    }

    @Test("with the core's inbox full a request is refused as overloaded, and accepted later")
    func overloaded() async throws {
        let fixture = try await AdminFixture(inboxCapacity: 1)
        _ = await fixture.core.run { [inbox = fixture.inbox] in inbox.pause() }
        let client = try fixture.client()
        #expect(fixture.inbox.post(.drainingBegan(within: .seconds(60))))
        let failure = await client.outcome(GetGroup(Handle("sales")!))
        let words = SignalError(.overloaded(retryAfter: .seconds(1)), "The server is busy; try again shortly.")
        #expect(failure == .failure(.notTaken(AdminError(words))))
        _ = await fixture.core.run { [inbox = fixture.inbox] in inbox.resume() }
        try await fixture.asked.wait(for: .drainingBegan(within: .seconds(60)))
        async let second = client.outcome(GetGroup(Handle("sales")!))
        try await fixture.asked.wait(for: "the second request") { $0.count == 2 }
        fixture.answer(try await fixture.requests(2)[0].0, .success(.group(Self.sales)))
        #expect(await second == .success(GroupView(Self.sales)))
    }

    @Test("a list of many frames arrives completely and in order; a longer result that is no list is an error")
    func longAnswers() async throws {
        let fixture = try await AdminFixture()
        let client = try fixture.client()
        let members = (0..<CallGroup.mostMembers).map { Handle(String(repeating: "m", count: 120) + "\($0)")! }
        let groups = (1...7).map { CallGroup(name: "\($0)", strategy: .all, members: members) }
        try fixture.store(groups.reversed().map { .group($0) })
        #expect(await client.outcome(ofAll: ListGroups()) == .success(groups.map { GroupView($0) }))
        var user = Self.user
        user.aliases = members + members + members + members + members
        async let view = client.outcome(GetUser(Self.alice))
        _ = try await fixture.answer(1, .success(.user(user)))
        guard case .failure(.notTaken(let error)) = await view else {
            Issue.record("an answer over the limit went out")
            return
        }
        #expect(error.name == "too_large")
    }

    /// The answer to a backend, by HTTP.
    private func answer(
        _ fixture: AdminFixture, to method: AdminMethod, _ params: String
    ) async throws -> BackendQuestion.Answer {
        let answers = try ask(fixture, method, params)
        let answer = await answers.first { _ in true }
        return try #require(answer)
    }

    /// Asks for a backend, which gets the answer.
    private func ask(
        _ fixture: AdminFixture, _ method: AdminMethod, _ params: String, of backend: String = "test",
        deadline: Instant = .latest
    ) throws -> AsyncStream<BackendQuestion.Answer> {
        let (answers, answered) = AsyncStream.makeStream(of: BackendQuestion.Answer.self)
        let question = try BackendQuestion(
            method, params: Array(params.utf8), peer: PeerAddress(), credential: "backend \(backend)",
            deadline: deadline
        ) { answer in
            answered.yield(answer)
        }
        #expect(fixture.service.mailbox.post(.backend(question)))
        return answers
    }

    private static let busy = AdminError(
        SignalError(.overloaded(retryAfter: .seconds(1)), "The server is busy; try again shortly."))

    @Test("a connection has a share of the requests in progress, and reads take no room of changes")
    func share() async throws {
        let fixture = try await AdminFixture()
        let (client, other) = (try fixture.client(), try fixture.client())
        let share = RequestShares.mostOfConnection
        let waiting = (0..<share).map { _ in Task { await client.outcome(GetGroup(Self.alice)) } }
        let requests = try await fixture.requests(share)
        #expect(await client.outcome(GetGroup(Self.alice)) == .failure(.notTaken(Self.busy)))
        #expect(await client.outcome(GetServerInfo()) == .failure(.notTaken(Self.busy)))
        try await exchange(fixture, client, share + 1, DeleteGroup(Self.alice), .deleteGroup("alice"), .done, Done())
        let (group, view) = (AdminReply.group(Self.sales), GroupView(Self.sales))
        try await exchange(fixture, other, share + 2, GetGroup(Self.alice), .showGroup("alice"), group, view)
        for (request, _) in requests { fixture.answer(request, .success(group)) }
        for outcome in waiting { #expect(await outcome.value == .success(view)) }
        try await exchange(fixture, client, share + 3, GetGroup(Self.alice), .showGroup("alice"), group, view)
    }

    @Test("a connection has one read at a time at the store, and others do not wait for its further ones")
    func turns() async throws {
        let reads = HeldReads()
        let fixture = try await AdminFixture(settle: { reads.hold($0) })
        let (client, other) = (try fixture.client(), try fixture.client())
        let lists = (0..<3).map { _ in Task { await client.outcome(ListGroups()) } }
        try await reads.wait(for: 1)
        async let list = other.outcome(ListGroups())
        try await reads.wait(for: 2)
        reads.letGo()
        try await reads.wait(for: 3)
        reads.letGo()
        #expect(await list == .success(AdminPage(items: [])))
        reads.letGo()
        try await reads.wait(for: 4)
        reads.letGo()
        for list in lists { #expect(await list.value == .success(AdminPage(items: []))) }
        #expect(reads.begun.entries.allSatisfy { $0 <= 2 })
    }

    @Test("an asker gets one answer from memory in a turn of the loop, and those of others come between")
    func liveTurns() async throws {
        let fixture = try await AdminFixture()
        let answered = Journal<String>()
        let questions = try ["one", "one", "one", "other"].map { backend in
            let question = try BackendQuestion(
                .sessionList, params: Array("{}".utf8), peer: PeerAddress(), credential: backend, deadline: .latest
            ) { _ in answered.append(backend) }
            return AdminMessage.backend(question)
        }
        #expect(fixture.service.mailbox.post(contentsOf: questions))
        let order = try await answered.wait(for: "all answers") { $0.count == 4 }
        #expect(order == ["one", "other", "one", "one"])
    }

    @Test("what a backend does not wait for any more is not read")
    func overdue() async throws {
        let reads = HeldReads()
        let fixture = try await AdminFixture(settle: { reads.hold($0) })
        let first = try ask(fixture, .groupList, "{}")
        let late = try ask(fixture, .groupList, "{}", deadline: Instant(milliseconds: .min))
        let other = try ask(fixture, .groupList, "{}", of: "other")
        try await reads.wait(for: 2)
        for _ in 0..<2 { reads.letGo() }
        for answers in [first, other] {
            guard case .success? = await answers.first(where: { _ in true }) else {
                Issue.record("a read that was waited for failed")
                continue
            }
        }
        guard case .failure(let error)? = await late.first(where: { _ in true }) else {
            Issue.record("it was read")
            return
        }
        #expect(error == Self.busy)
        #expect(reads.begun.entries.count == 2)
    }

    @Test("a call to a thousand devices is longer than a frame, and answered to a backend, whose response may be")
    func longRecord() async throws {
        let fixture = try await AdminFixture()
        let now = Instant(milliseconds: 1)
        let user = Handle(String(repeating: "m", count: 120))!
        let call = CallRecord(
            id: CallID(high: 3, low: 4), caller: Party(user: Self.alice, device: DeviceID(high: 1, low: 1)),
            callerName: nil, to: .user(user), video: false, inviteDigest: 1, state: .ringing, createdAt: now,
            ringsUntil: Instant(milliseconds: 2))
        let token = PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: "org.example.voip", token: "0011")
        let legs = (UInt64(1)...1000).map { number in
            LegRecord(
                call: call.id, device: DeviceKey(user: user, device: DeviceID(high: 2, low: number)),
                push: PushID(high: 5, low: number), state: .waking, createdAt: now)
        }
        let pushes = legs.map { leg in
            PushRecord(
                id: leg.push, call: call.id, device: leg.device, token: token, intendedAt: now,
                expiresAt: call.ringsUntil)
        }
        try fixture.store([StoreRecord.call(call)] + legs.map(StoreRecord.leg) + pushes.map(StoreRecord.push))
        let client = try fixture.client()
        guard case .failure(.notTaken(let error)) = await client.outcome(GetCall(call.id)) else {
            Issue.record("a frame over the limit went out")
            return
        }
        #expect(error.name == "too_large")
        let answer = try await answer(fixture, to: .callGet, "{\"call_id\":\"\(call.id)\"}")
        guard case .success(let json) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(json.count > AdminEndpoint.longestFrame)
    }

    @Test("a store that cannot be read is an internal error with a line in the log, whoever reads it")
    func unreadable() async throws {
        let lines = LogLines()
        let fixture = try await AdminFixture(log: lines.logger(), endpoint: "billing")
        await fixture.queries.close()
        let requests: [(method: AdminMethod, params: String)] = [
            (.webhookReplay, #"{"name":"billing","since_ms":1}"#), (.groupList, "{}"),
            (.callGet, "{\"call_id\":\"\(CallID(high: 3, low: 4))\"}"),
        ]
        for (method, params) in requests {
            guard case .failure(let error) = try await answer(fixture, to: method, params) else {
                Issue.record("\(method.rawValue) is answered")
                continue
            }
            #expect(error.name == "internal_error", "\(method.rawValue)")
            #expect(lines.take().contains { $0.hasPrefix("error the store cannot be read") }, "\(method.rawValue)")
        }
    }

    @Test("events are sent again since a time that is over, not since one to come")
    func replayOfTheFuture() async throws {
        let fixture = try await AdminFixture(endpoint: "billing")
        let tomorrow = ServerClock().wallTime() + .seconds(86_400)
        let params = #"{"name":"billing","since_ms":\#(tomorrow.milliseconds)}"#
        guard case .failure(let error) = try await answer(fixture, to: .webhookReplay, params) else {
            Issue.record("taken")
            return
        }
        #expect(error.name == "invalid_params")
    }

    @Test("a stopping server tells its administrators, and removes its socket")
    func stop() async throws {
        let fixture = try await AdminFixture()
        let client = try fixture.client()
        async let outcome = client.outcome(GetGroup(Handle("sales")!))
        _ = try await fixture.requests(1)
        await fixture.service.stop(grace: .milliseconds(200))
        #expect(await outcome == .failure(.lost("the server stops; reconnect")))
        await client.close()
        let late = try fixture.client()
        #expect(
            await late.outcome(ofAll: ListGroups()) == .failure(.notRunning(socket: fixture.socket.description)))
    }

    @Test("a server that does not answer in time and a foreign program behind the socket give different errors")
    func noAnswer() async throws {
        let fixture = try await AdminFixture()
        let client = try fixture.client(patience: .milliseconds(100))
        #expect(await client.outcome(GetGroup(Handle("sales")!)) == .failure(.timedOut))
        await client.close()

        let other = try SocketAddress(path: fixture.folder.path + "/other.sock")
        let slot = LoopBound(Slot(), on: fixture.core)
        let listening = await fixture.core.run { [core = fixture.core] in
            Result { slot.value.acceptor = try SocketAcceptor(loop: core, address: other) { close($0) } }
        }
        try listening?.get()
        let stranger = try AdminClient(socket: other)
        guard case .failure(.unreachable(let words)) = await stranger.outcome(ofAll: ListGroups()) else {
            Issue.record("a listener that hangs up was taken for a server")
            return
        }
        #expect(words.contains(other.description))
        await stranger.close()
        _ = await fixture.core.run { slot.value.acceptor = nil }
    }

    @Test("a data folder with too long a path for its socket is refused with a clear message")
    func longFolder() {
        let longest = DataFolder(path: "/" + String(repeating: "x", count: 95))
        #expect((try? longest.adminSocket())?.path?.utf8.count == 107)
        let tooLong = DataFolder(path: longest.path + "x")
        let failure = #expect(throws: DataFolder.Failure.self) { _ = try tooLong.adminSocket() }
        #expect(failure?.description.contains("would take 108 bytes and the system allows 107") == true)
    }
}
