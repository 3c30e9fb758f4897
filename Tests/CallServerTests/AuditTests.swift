import AdminKit
import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import EventJournal
import EventLoop
import Glibc
import LogCapture
import TestCleanup
import Testing

@testable import AdminServer
@testable import CallServer

@Suite("The audit trail", .cleanup, .timeLimit(.minutes(5)))
struct AuditTests {
    private static let alice = Handle("alice")!  // The literals are handles.
    private static let sales = Handle("sales")!
    private static let device = DeviceID(high: 1, low: 2)
    private static let me = "uid=\(getuid())"
    private static let myProcess = "pid=\(getpid())"

    /// The lines about changes since the last call.
    private static func changes(_ lines: LogLines) -> [String] { lines.take().filter { $0.hasPrefix("notice admin ") } }

    /// A request of each changing method, and its parameters as logged.
    private static func sample(_ method: AdminMethod) -> (any AdminRequest, String)? {
        let device = "device_id: \(Self.device)"
        return switch method {
        case .callEnd: (EndCall(CallID(high: 3, low: 4)), "call_id: \(CallID(high: 3, low: 4))")
        case .sessionDrop: (DropSession(user: alice, deviceID: Self.device), device)
        case .deviceResume: (ResumeDevice(user: alice, deviceID: Self.device), device)
        case .deviceDelete: (DeleteDevice(user: alice, deviceID: Self.device), device)
        case .userSet: (SetUser(alice, UserPolicyChange(doNotDisturb: true)), "do_not_disturb: true")
        case .userBlock: (BlockCallers(alice, [sales]), "callers: [sales]")
        case .userUnblock: (UnblockCallers(alice, [sales]), "callers: [sales]")
        case .userForward:
            (
                ForwardCalls(alice, busy: TargetView(.user(sales)), noAnswer: nil, noAnswerSeconds: nil),
                "busy: sales, no_answer: off"
            )
        case .userRevoke: (RevokeTokens(alice, before: Instant(milliseconds: 5)), "before_ms: 5")
        case .groupSet: (SetGroup(name: sales, strategy: .hunt, members: [alice]), "strategy: hunt")
        case .groupDelete: (DeleteGroup(sales), "name: sales")
        case .aliasSet: (SetAlias(alias: sales, user: alice), "alias: sales")
        case .aliasDelete: (DeleteAlias(sales), "alias: sales")
        case .webhookPause: (PauseWebhook("billing"), "name: billing")
        case .webhookResume: (ResumeWebhook("billing"), "name: billing")
        case .webhookReplay: (ReplayWebhook("billing", since: Instant(milliseconds: 7)), "since_ms: 7")
        case .webhookTest: (TestWebhook("billing"), "name: billing")
        case .serverDrain: (Drain(deadlineMilliseconds: 60_000), "deadline_ms: 60000")
        case .serverStop: (StopServer(), "params={}")
        case .logSet: (SetLogLevel("debug"), "level: debug")
        case .callList, .callGet, .callSubscribe, .sessionList, .deviceList, .deviceGet, .pushList, .pushGet,
            .pushAudit, .userGet, .groupList, .groupGet, .aliasList, .webhookList, .statsGet, .statsSubscribe,
            .serverInfo,
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
            let lines = LogLines()
            let fixture = try await AdminFixture(log: lines.logger(), endpoint: "billing") { _ in .success(.done) }
            let client = try fixture.client()
            func perform(_ request: some AdminRequest) async throws { _ = try await client.perform(request) }
            try await perform(request)
            // After the answer and its log line.
            _ = try await client.perform(SetLogLevel())
            let changes = Self.changes(lines)
            #expect(changes.count == 1)
            let line = try #require(changes.first)
            #expect(line.hasPrefix("notice admin \(method.rawValue) method=\(method.rawValue) params="))
            for part in [parameters, "result=done", Self.me, Self.myProcess] {
                #expect(line.contains(part), "\(line)")
            }
        }
    }

    @Test("reads are not logged as changes, and a refused change is logged with the code and the message")
    func refused() async throws {
        let log = LogLines()
        let fixture = try await AdminFixture(log: log.logger()) { _ in
            .failure(AdminRefusal(.notFound, "No such."))
        }
        let client = try fixture.client()
        _ = try await client.perform(SetLogLevel())
        _ = try await client.perform(ListGroups())
        #expect(Self.changes(log) == [])
        await #expect(throws: AdminFailure.self) { try await client.perform(DeleteGroup(Self.sales)) }
        await #expect(throws: AdminFailure.self) { try await client.perform(Drain(deadlineMilliseconds: -1)) }
        _ = try await client.perform(SetLogLevel())
        let lines = Self.changes(log)
        #expect(lines.count == 2)
        #expect(lines[0].contains("detail=No such. method=group.delete") && lines[0].contains("result=not_found"))
        #expect(lines[1].contains("method=server.drain") && lines[1].contains("result=invalid_params"))
    }

    @Test("a long list is truncated, TCP connections show address and credential, and a stop logs all changes")
    func bounds() async throws {
        let token = "0123456789abcdef-token"
        let listener = AdminListenerConfiguration(address: .anyPort, token: token)
        let lines = LogLines()
        let unanswered = Journal<AdminCommand>()
        let fixture = try await AdminFixture(listener: listener, log: lines.logger()) { command in
            guard case .deleteGroup = command else { return .success(.done) }
            unanswered.append(command)
            return nil
        }
        let client = try AdminClient(url: fixture.url(), token: token)
        let members = (0..<1000).compactMap { Handle("member\($0)") }
        _ = try await client.perform(SetGroup(name: Self.sales, strategy: .all, members: members))
        _ = try await client.perform(SetLogLevel())
        let line = try #require(Self.changes(lines).first)
        #expect(line.contains("member9, and 990 more") && !line.contains("member10") && line.count < 500, "\(line)")
        #expect(line.contains("address=127.0.0.1:") && line.contains("credential=admin.token_file"))
        #expect(!line.contains(token) && !line.contains("uid="))

        async let lost: Void = { _ = try? await client.perform(DeleteGroup(Self.sales)) }()
        try await unanswered.wait(for: .deleteGroup("sales"))
        await fixture.end()
        await lost
        await client.close()
        #expect(Self.changes(lines).contains { $0.contains("method=group.delete") && $0.contains("result=unanswered") })
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
