import AdminKit
import AdminProtocol
import CallCore
import CallStore
import CallVocabulary
import EventJournal
import EventLoop
import Foundation
import Logging
import Testing

@testable import AdminServer
@testable import CallServer

/// An admin service on its own socket, with the test as the core.
private final class Fixture: Sendable {
    typealias Answer = Result<AdminReply, AdminRefusal>

    let folder: DataFolder
    let socket: SocketAddress
    let asked = Journal<CoreInput>()
    let core: EventLoop
    let inbox: Mailbox<CoreInput>
    let service: AdminService

    init(
        inboxCapacity: Int = 1000, hooks: AdminHooks = AdminHooks(setLogLevel: { _ in nil }, stop: {})
    ) async throws {
        folder = DataFolder(path: NSTemporaryDirectory() + "admin-\(UUID().uuidString.prefix(8))")
        try folder.prepare()
        socket = try folder.adminSocket()
        let core = try EventLoop(name: "core")
        core.start()
        let asked = self.asked
        inbox = Mailbox(loop: core, capacity: inboxCapacity) { inputs in for input in inputs { asked.append(input) } }
        self.core = core
        service = try await AdminService.start(at: socket, environment: .plain(folder, core: inbox, hooks: hooks))
    }

    func client(patience: Duration = .seconds(10)) throws -> AdminClient {
        try AdminClient(socket: socket, patience: patience)
    }

    /// Waits until the core got `count` requests in total.
    func requests(_ count: Int) async throws -> [(AdminRequestID, AdminCommand)] {
        try await asked.wait(for: "\(count) requests") { $0.count >= count }
        return asked.entries.compactMap {
            if case .administered(let id, let command) = $0 { (id, command) } else { nil }
        }
    }

    func answer(_ request: AdminRequestID, _ answer: Answer) {
        service.mailbox.postAlways(.answered(request, answer))
    }

    /// Answers the next request, number `count` in total.
    func answer(_ count: Int, _ answer: Answer) async throws -> AdminCommand {
        let (request, command) = try await requests(count)[count - 1]
        self.answer(request, answer)
        return command
    }

    func end() async {
        await service.stop(grace: .milliseconds(200))
        await core.stopAndWait()
        try? FileManager.default.removeItem(atPath: folder.path)
    }
}

/// Holds an object that must be released on its loop.
private final class Slot {
    var acceptor: SocketAcceptor?
}

@Suite("The admin API")
struct AdminServiceTests {
    private static let alice = Handle("alice")!  // The literals are handles.
    private static let bob = Handle("bob")!
    private static let sales = CallGroup(name: "sales", strategy: .hunt, members: [alice, bob])
    private static let user = UserSummary(
        handle: alice, policy: UserPolicy(), rules: CallRules(), aliases: [bob], groups: ["sales"], devices: 2,
        devicesOnline: 1, liveCalls: 0)
    private static let alias = Alias(handle: bob, user: alice)

    /// The comparable result of a request.
    private func outcome<Request: AdminRequest>(
        _ client: AdminClient, _ request: Request
    ) async -> Result<Request.Response, AdminFailure> {
        do throws(AdminFailure) {
            return .success(try await client.perform(request))
        } catch {
            return .failure(error)
        }
    }

    private func outcome<Request: AdminListRequest>(
        ofAll client: AdminClient, _ request: Request
    ) async -> Result<[Request.Item], AdminFailure> {
        do throws(AdminFailure) {
            return .success(try await client.all(request))
        } catch {
            return .failure(error)
        }
    }

    /// One exchange, number `count` in total.
    private func exchange<Request: AdminRequest>(
        _ fixture: Fixture, _ client: AdminClient, _ count: Int, _ request: Request, _ command: AdminCommand,
        _ reply: AdminReply, _ response: Request.Response
    ) async throws {
        async let outcome = outcome(client, request)
        #expect(try await fixture.answer(count, .success(reply)) == command)
        #expect(await outcome == .success(response))
    }

    @Test("every request reaches the core unchanged, and its answer comes back")
    func commands() async throws {
        let fixture = try await Fixture()
        let client = try fixture.client()
        let (alice, bob, sales, device) = (Self.alice, Self.bob, Handle("sales")!, DeviceID(high: 1, low: 2))
        func done(_ count: Int, _ request: some AdminRequest, _ command: AdminCommand) async throws {
            async let outcome: Void = { _ = try await client.perform(request) }()
            #expect(try await fixture.answer(count, .success(.done)) == command)
            try await outcome
        }
        try await exchange(
            fixture, client, 1, ListGroups(), .listGroups, .groups([Self.sales]),
            AdminPage(items: [GroupView(Self.sales)]))
        try await exchange(
            fixture, client, 2, GetGroup(sales), .showGroup("sales"), .group(Self.sales), GroupView(Self.sales))
        try await exchange(
            fixture, client, 3, GetUser(alice), .showUser(alice), .user(Self.user), UserView(Self.user))
        try await exchange(
            fixture, client, 4, ListAliases(), .listAliases, .aliases([Self.alias]),
            AdminPage(items: [AliasView(Self.alias)]))
        try await done(
            5, SetGroup(name: sales, strategy: .hunt, members: [alice, bob]), .setGroup(Self.sales))
        try await done(6, DeleteGroup(sales), .deleteGroup("sales"))
        let change = UserPolicyChange(decline: .device)
        try await done(7, SetUser(alice, change), .setUser(alice, change))
        try await done(8, SetAlias(alias: bob, user: alice), .setAlias(Self.alias))
        try await done(9, DeleteAlias(bob), .deleteAlias(bob))
        try await done(10, ResumeDevice(user: bob, deviceID: device), .resumeDevice(bob, device))
        try await done(11, DropSession(user: bob, deviceID: device), .dropSession(bob, device))
        try await done(12, EndCall(CallID(high: 3, low: 4)), .endCall(CallID(high: 3, low: 4)))
        await client.close()
        await fixture.end()
        #expect(fixture.asked.entries.count == 12)
    }

    @Test("a refusal of the core arrives with its code and its message", arguments: AdminRefusal.Code.allCases)
    func refused(code: AdminRefusal.Code) async throws {
        let fixture = try await Fixture()
        let client = try fixture.client()
        let refusal = AdminRefusal(code, "There is a reason.")
        async let outcome = outcome(client, GetGroup(Self.alice))
        _ = try await fixture.answer(1, .failure(refusal))
        #expect(await outcome == .failure(.refused(refusal)))
        await client.close()
        await fixture.end()
    }

    @Test("two clients each get their own answers, in any order of the core's answers")
    func twoClients() async throws {
        let fixture = try await Fixture()
        let (first, second) = (try fixture.client(), try fixture.client())
        async let one = outcome(first, GetGroup(Handle("one")!))
        _ = try await fixture.requests(1)
        async let two = outcome(second, GetGroup(Handle("two")!))
        _ = try await fixture.requests(2)
        async let three = outcome(first, GetGroup(Handle("three")!))
        let requests = try await fixture.requests(3)
        for (request, command) in requests.reversed() {
            guard case .showGroup(let name) = command else { continue }
            fixture.answer(request, .success(.group(CallGroup(name: name, strategy: .all, members: []))))
        }
        #expect(await one == .success(GroupView(CallGroup(name: "one", strategy: .all, members: []))))
        #expect(await two == .success(GroupView(CallGroup(name: "two", strategy: .all, members: []))))
        #expect(await three == .success(GroupView(CallGroup(name: "three", strategy: .all, members: []))))
        await first.close()
        await second.close()
        await fixture.end()
    }

    @Test("a client that disconnects before its answer causes no error")
    func gone() async throws {
        let fixture = try await Fixture()
        let (hasty, patient) = (try fixture.client(), try fixture.client())
        async let lost = outcome(hasty, DeleteGroup(Handle("sales")!))
        let request = try await fixture.requests(1)[0].0
        await hasty.close()
        #expect(await lost == .failure(.lost("the client is closed")))
        async let first = outcome(ofAll: patient, ListGroups())
        _ = try await fixture.requests(2)
        fixture.answer(request, .success(.done))
        _ = try await fixture.answer(2, .success(.groups([Self.sales])))
        #expect(await first == .success([GroupView(Self.sales)]))
        // A second answer to the same request, and one to an unknown request.
        fixture.answer(request, .success(.done))
        fixture.answer(AdminRequestID(serial: 99), .success(.done))
        async let second = outcome(ofAll: patient, ListAliases())
        _ = try await fixture.answer(3, .success(.aliases([])))
        #expect(await second == .success([]))
        await patient.close()
        await fixture.end()
    }

    @Test("with the core's inbox full a request is refused as overloaded, and accepted later")
    func overloaded() async throws {
        let fixture = try await Fixture(inboxCapacity: 1)
        _ = await fixture.core.run { [inbox = fixture.inbox] in inbox.pause() }
        let client = try fixture.client()
        #expect(fixture.inbox.post(.drainingBegan(within: .seconds(60))))
        let failure = await outcome(ofAll: client, ListGroups())
        let words = SignalError(.overloaded(retryAfter: .seconds(1)), "The server is busy; try again shortly.")
        #expect(failure == .failure(.notTaken(AdminError(words))))
        _ = await fixture.core.run { [inbox = fixture.inbox] in inbox.resume() }
        try await fixture.asked.wait(for: .drainingBegan(within: .seconds(60)))
        async let second = outcome(ofAll: client, ListGroups())
        try await fixture.asked.wait(for: "the second request") { $0.count == 2 }
        fixture.answer(try await fixture.requests(2)[0].0, .success(.groups([])))
        #expect(await second == .success([]))
        await client.close()
        await fixture.end()
    }

    @Test("a list of many frames arrives completely and in order; a longer result that is no list is an error")
    func longAnswers() async throws {
        let fixture = try await Fixture()
        let client = try fixture.client()
        let members = (0..<CallGroup.mostMembers).map { Handle(String(repeating: "m", count: 120) + "\($0)")! }
        let groups = (1...7).map { CallGroup(name: "\($0)", strategy: .all, members: members) }
        async let list = outcome(ofAll: client, ListGroups())
        for page in 1...4 {
            #expect(try await fixture.answer(page, .success(.groups(groups.reversed()))) == .listGroups)
        }
        #expect(await list == .success(groups.map { GroupView($0) }))
        var user = Self.user
        user.aliases = members + members + members + members + members
        async let view = outcome(client, GetUser(Self.alice))
        _ = try await fixture.answer(5, .success(.user(user)))
        guard case .failure(.notTaken(let error)) = await view else {
            Issue.record("an answer over the limit went out")
            return
        }
        #expect(error.name == "too_large")
        await client.close()
        await fixture.end()
    }

    @Test("a stopping server tells its administrators, and removes its socket")
    func stop() async throws {
        let fixture = try await Fixture()
        let client = try fixture.client()
        async let outcome = outcome(ofAll: client, ListGroups())
        _ = try await fixture.requests(1)
        await fixture.service.stop(grace: .milliseconds(200))
        #expect(await outcome == .failure(.lost("the server stops; reconnect")))
        await client.close()
        let late = try fixture.client()
        #expect(
            await self.outcome(ofAll: late, ListGroups()) == .failure(.notRunning(socket: fixture.socket.description)))
        await late.close()
        await fixture.end()
    }

    @Test("a server that does not answer in time and a foreign program behind the socket give different errors")
    func noAnswer() async throws {
        let fixture = try await Fixture()
        let client = try fixture.client(patience: .milliseconds(100))
        #expect(await outcome(ofAll: client, ListGroups()) == .failure(.timedOut))
        await client.close()

        let other = try SocketAddress(path: fixture.folder.path + "/other.sock")
        let slot = LoopBound(Slot(), on: fixture.core)
        let listening = await fixture.core.run { [core = fixture.core] in
            Result { slot.value.acceptor = try SocketAcceptor(loop: core, address: other) { close($0) } }
        }
        try listening?.get()
        let stranger = try AdminClient(socket: other)
        guard case .failure(.unreachable(let words)) = await outcome(ofAll: stranger, ListGroups()) else {
            Issue.record("a listener that hangs up was taken for a server")
            return
        }
        #expect(words.contains(other.description))
        await stranger.close()
        _ = await fixture.core.run { slot.value.acceptor = nil }
        await fixture.end()
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
