import AdminKit
import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import EventJournal
import EventLoop
import Foundation
import Glibc
import LibWebSockets
import Logging
import Synchronization
import Testing

@testable import AdminServer
@testable import CallServer

@Suite("The audit trail", .timeLimit(.minutes(1)))
struct AuditTests {
    /// An admin service with a core that answers each command with `answer`.
    private final class Fixture: Sendable {
        let folder = DataFolder(path: NSTemporaryDirectory() + "audit-\(UUID().uuidString.prefix(8))")
        let lines = LogLines()
        let core: EventLoop
        let service: AdminService
        private let mailbox = Mutex<Mailbox<AdminMessage>?>(nil)

        init(
            listener: AdminListenerConfiguration? = nil,
            _ answer: @escaping @Sendable (AdminCommand) -> Result<AdminReply, AdminRefusal>? = { _ in .success(.done) }
        ) async throws {
            try folder.prepare()
            let core = try EventLoop(name: "core")
            core.start()
            self.core = core
            let slot = Slot()
            let inbox = Mailbox<CoreInput>(loop: core, capacity: 100) { inputs in
                for case .administered(let request, let command) in inputs {
                    guard let answer = answer(command) else { continue }
                    slot.mailbox.withLock { $0 }?.postAlways(.answered(request, answer))
                }
            }
            let environment = try AdminShard.Environment.plain(
                folder, core: inbox, hooks: AdminHooks(setLogLevel: { $0 ?? "info" }, stop: {}), log: lines.logger())
            service = try await AdminService.start(
                at: folder.adminSocket(), listener: listener?.networkListener(), environment: environment)
            slot.mailbox.withLock { $0 = service.mailbox }
        }

        private final class Slot: Sendable {
            let mailbox = Mutex<Mailbox<AdminMessage>?>(nil)
        }

        /// The logged lines about changes.
        func take() -> [String] { lines.take().filter { $0.hasPrefix("notice admin ") } }

        func end() async {
            await service.stop(grace: .milliseconds(200))
            await core.stopAndWait()
            try? FileManager.default.removeItem(atPath: folder.path)
        }
    }

    private static let alice = Handle("alice")!  // The literals are handles.
    private static let sales = Handle("sales")!
    private static let device = DeviceID(high: 1, low: 2)
    private static let me = "uid=\(getuid())"
    private static let myProcess = "pid=\(getpid())"

    /// A request of each changing method, and its parameters as logged.
    private static func sample(_ method: AdminMethod) -> (any AdminRequest, String)? {
        let device = "device_id: \(Self.device)"
        return switch method {
        case .callEnd: (EndCall(CallID(high: 3, low: 4)), "call_id: \(CallID(high: 3, low: 4))")
        case .sessionDrop: (DropSession(user: alice, deviceID: Self.device), device)
        case .deviceResume: (ResumeDevice(user: alice, deviceID: Self.device), device)
        case .userSet: (SetUser(alice, UserPolicyChange(doNotDisturb: true)), "do_not_disturb: true")
        case .userBlock: (BlockCallers(alice, [sales]), "callers: [sales]")
        case .userUnblock: (UnblockCallers(alice, [sales]), "callers: [sales]")
        case .userForward:
            (
                ForwardCalls(alice, busy: TargetView(.user(sales)), noAnswer: nil, noAnswerSeconds: nil),
                "busy: sales, no_answer: off"
            )
        case .groupSet: (SetGroup(name: sales, strategy: .hunt, members: [alice]), "strategy: hunt")
        case .groupDelete: (DeleteGroup(sales), "name: sales")
        case .aliasSet: (SetAlias(alias: sales, user: alice), "alias: sales")
        case .aliasDelete: (DeleteAlias(sales), "alias: sales")
        case .serverDrain: (Drain(deadlineMilliseconds: 60_000), "deadline_ms: 60000")
        case .serverStop: (StopServer(), "params={}")
        case .logSet: (SetLogLevel("debug"), "level: debug")
        case .callList, .callGet, .callSubscribe, .sessionList, .deviceList, .deviceGet, .pushList, .pushGet,
            .pushAudit, .userGet, .groupList, .groupGet, .aliasList, .statsGet, .statsSubscribe, .serverInfo,
            .unsubscribe:
            nil
        }
    }

    @Test(
        "each method that changes something logs one line with the user, its parameters and its result",
        arguments: AdminMethod.allCases)
    func changes(method: AdminMethod) async throws {
        switch method.effect {
        case .reads:
            #expect(Self.sample(method) == nil)
        case .changes(let type):
            #expect(type.method == method)
            let (request, parameters) = try #require(Self.sample(method))
            let fixture = try await Fixture()
            let client = try AdminClient(socket: fixture.folder.adminSocket())
            func perform(_ request: some AdminRequest) async throws { _ = try await client.perform(request) }
            try await perform(request)
            // After the answer and its log line.
            _ = try await client.perform(SetLogLevel())
            let lines = fixture.take()
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            #expect(line.hasPrefix("notice admin \(method.rawValue) method=\(method.rawValue) params="))
            for part in [parameters, "result=done", Self.me, Self.myProcess] {
                #expect(line.contains(part), "\(line)")
            }
            await client.close()
            await fixture.end()
        }
    }

    @Test("reads are not logged as changes, and a refused change is logged with the code and the message")
    func refused() async throws {
        let fixture = try await Fixture { command in
            if case .listGroups = command { return .success(.groups([])) }
            return .failure(AdminRefusal(.notFound, "No such."))
        }
        let client = try AdminClient(socket: fixture.folder.adminSocket())
        _ = try await client.perform(SetLogLevel())
        _ = try await client.perform(ListGroups())
        #expect(fixture.take() == [])
        await #expect(throws: AdminFailure.self) { try await client.perform(DeleteGroup(Self.sales)) }
        await #expect(throws: AdminFailure.self) { try await client.perform(Drain(deadlineMilliseconds: -1)) }
        _ = try await client.perform(SetLogLevel())
        let lines = fixture.take()
        #expect(lines.count == 2)
        #expect(lines[0].contains("detail=No such. method=group.delete") && lines[0].contains("result=not_found"))
        #expect(lines[1].contains("method=server.drain") && lines[1].contains("result=invalid_params"))
        await client.close()
        await fixture.end()
    }

    @Test("a long list is truncated, TCP connections show address and credential, and a stop logs all changes")
    func bounds() async throws {
        let token = "0123456789abcdef-token"
        // Force-unwrap: the literal is a numeric address.
        let listener = AdminListenerConfiguration(address: SocketAddress(host: "127.0.0.1", port: 0)!, token: token)
        let unanswered = Journal<AdminCommand>()
        let fixture = try await Fixture(listener: listener) { command in
            guard case .deleteGroup = command else { return .success(.done) }
            unanswered.append(command)
            return nil
        }
        let url = WebSocketURL(
            isSecure: false, host: "127.0.0.1", port: try #require(fixture.service.address).port, path: "/")
        let client = try AdminClient(url: url, token: token)
        let members = (0..<1000).compactMap { Handle("member\($0)") }
        _ = try await client.perform(SetGroup(name: Self.sales, strategy: .all, members: members))
        _ = try await client.perform(SetLogLevel())
        let line = try #require(fixture.take().first)
        #expect(line.contains("member9, and 990 more") && !line.contains("member10") && line.count < 500, "\(line)")
        #expect(line.contains("address=127.0.0.1:") && line.contains("credential=admin.token_file"))
        #expect(!line.contains(token) && !line.contains("uid="))

        async let lost: Void = { _ = try? await client.perform(DeleteGroup(Self.sales)) }()
        try await unanswered.wait(for: .deleteGroup("sales"))
        await fixture.end()
        await lost
        await client.close()
        #expect(fixture.take().contains { $0.contains("method=group.delete") && $0.contains("result=unanswered") })
    }

    @Test("the last line of a call ended by an administrator names the administrator")
    func calls() {
        let lines = LogLines()
        let log = CallLog(log: lines.logger())
        var call = CallRecord(
            id: CallID(high: 1, low: 2), caller: Party(user: Self.alice, device: Self.device), callerName: nil,
            to: .user(Self.sales), video: false, inviteDigest: 7, state: .ended,
            createdAt: Instant(milliseconds: 1000), ringsUntil: Instant(milliseconds: 46_000))
        call.endReason = .admin
        log.write(.call(call, was: .ringing)) { $0 == call.id ? "uid 0, pid 7" : nil }
        call.endReason = .hangup
        log.write(.call(call, was: .ringing)) { _ in "uid 0, pid 7" }
        let both = lines.take()
        #expect(both.first?.contains("call ended admin=uid 0, pid 7 ") == true)
        #expect(both.last?.contains("admin=") == false)
    }
}
