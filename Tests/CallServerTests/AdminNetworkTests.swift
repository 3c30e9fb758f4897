import AdminKit
import AdminProtocol
import CallCore
import CallVocabulary
import ChildProcess
import EventJournal
import EventLoop
import LibWebSockets
import LogCapture
import TLS
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

@testable import AdminServer
@testable import CallServer

@Suite("The admin API on TCP", .cleanup)
struct AdminNetworkTests {
    private static let token = "0123456789abcdef-token"

    /// An admin service on TCP and on its socket, with an empty store.
    private func start(_ tls: TLSFiles? = nil) async throws -> AdminFixture {
        let listener = AdminListenerConfiguration(address: .anyPort, token: Self.token, tls: tls)
        return try await AdminFixture(listener: listener)
    }

    /// The comparable result of listing the groups.
    private func list(_ client: AdminClient) async -> Result<[GroupView], AdminFailure> {
        await client.outcome(ofAll: ListGroups())
    }

    @Test("accepts the token, and works in parallel with the socket in the data folder")
    func answered() async throws {
        let fixture = try await start()
        let near = try fixture.client()
        let far = try AdminClient(url: fixture.url(), token: Self.token)
        async let one = list(near)
        async let two = list(far)
        #expect(await one == .success([]))
        #expect(await two == .success([]))
    }

    @Test("distinguishes a wrong token, another service's path and a port without a listener")
    func failures() async throws {
        let fixture = try await start()
        let url = try fixture.url()
        let stranger = try AdminClient(url: url, token: "another-long-secret")
        #expect(await list(stranger) == .failure(.tokenRefused))
        let elsewhere = WebSocketURL(isSecure: false, host: url.host, port: url.port, path: "/v1/signal")
        let lost = try AdminClient(url: elsewhere, token: Self.token)
        guard case .failure(.unreachable(let words)) = await list(lost) else {
            Issue.record("another path was taken for the admin API")
            return
        }
        #expect(words.hasPrefix("\(elsewhere): "))
        let port = try freePort()
        let nobody = try AdminClient(
            url: WebSocketURL(isSecure: false, host: url.host, port: port, path: url.path), token: Self.token)
        guard case .failure(.unreachable(let reason)) = await list(nobody) else {
            Issue.record("a port where nobody listens was answered")
            return
        }
        #expect(reason.hasPrefix("ws://localhost:\(port)/v1/admin: "))
    }

    @Test("works over TLS, and distinguishes an untrusted certificate from an unknown token")
    func secure() async throws {
        let (identity, other) = (try await TestIdentity(), try await TestIdentity())
        let fixture = try await start(identity.files)
        let url = try fixture.url(isSecure: true)
        let trusting = try AdminClient(url: url, token: Self.token, trust: identity.trust)
        #expect(await list(trusting) == .success([]))
        let doubting = try AdminClient(url: url, token: Self.token, trust: other.trust)
        guard case .failure(.untrusted(let words)) = await list(doubting) else {
            Issue.record("a certificate of nobody's was trusted")
            return
        }
        #expect(words.contains("self"), "\(words)")
        let wrong = try AdminClient(url: url, token: "another-long-secret", trust: identity.trust)
        #expect(await list(wrong) == .failure(.tokenRefused))

        await fixture.service.reload(
            token: try AdminListenerConfiguration.check("another-long-secret"), readToken: nil,
            certificate: try TLSCertificate(other.files))
        let renewed = try AdminClient(url: url, token: "another-long-secret", trust: other.trust)
        #expect(await list(renewed) == .success([]))
        let stale = try AdminClient(url: url, token: Self.token, trust: other.trust)
        #expect(await list(stale) == .failure(.tokenRefused))
    }

    @Test("a token for reading reads, and changes nothing; the refusal names the other token, and the log this one")
    func reading() async throws {
        let lines = LogLines()
        var listener = AdminListenerConfiguration(address: .anyPort, token: Self.token)
        listener.readToken = "for-dashboards-only"
        let fixture = try await AdminFixture(listener: listener, log: lines.logger()) { _ in
            .success(.done)
        }
        let reader = try AdminClient(url: fixture.url(), token: "for-dashboards-only")
        #expect(await list(reader) == .success([]))
        // Without a level it only tells.
        _ = try await reader.perform(SetLogLevel())
        #expect(try await reader.perform(GetServerInfo()).mayChange == false)
        for request in Self.changes {
            guard case .failure(.notTaken(let error)) = await Self.outcome(request, of: reader) else {
                Issue.record("\(type(of: request).method) was taken")
                continue
            }
            #expect(error.name == "forbidden" && error.message.contains("admin.token_file"), "\(error)")
        }
        let asked = fixture.asked.entries.filter { if case .administered = $0 { true } else { false } }
        #expect(asked.isEmpty)
        let refused = lines.take().filter { $0.contains("result=forbidden") }
        #expect(refused.count == Self.changes.count)
        #expect(refused.allSatisfy { $0.contains("credential=admin.read_token_file") })
        let writer = try AdminClient(url: fixture.url(), token: Self.token)
        _ = try await writer.perform(DeleteGroup(Self.sales))
        #expect(try await writer.perform(GetServerInfo()).mayChange == true)
        // Another token for reading, and none.
        let other = try AdminListenerConfiguration.check("for-other-dashboards")
        await fixture.service.reload(
            token: try AdminListenerConfiguration.check(Self.token), readToken: other, certificate: nil)
        #expect(
            await list(try AdminClient(url: fixture.url(), token: "for-dashboards-only")) == .failure(.tokenRefused))
        #expect(await list(try AdminClient(url: fixture.url(), token: "for-other-dashboards")) == .success([]))
        await fixture.service.reload(
            token: try AdminListenerConfiguration.check(Self.token), readToken: nil, certificate: nil)
        #expect(
            await list(try AdminClient(url: fixture.url(), token: "for-other-dashboards")) == .failure(.tokenRefused))
    }

    @Test("idle connections with the token for reading keep nobody out: the oldest makes room, and the log tells")
    func roomForAdministrators() async throws {
        let lines = LogLines()
        var listener = AdminListenerConfiguration(address: .anyPort, token: Self.token)
        listener.readToken = "for-dashboards-only"
        let fixture = try await AdminFixture(listener: listener, log: lines.logger())
        var readers: [AdminClient] = []
        for _ in 0..<AdminService.mostConnections {
            let reader = try AdminClient(url: fixture.url(), token: "for-dashboards-only")
            #expect(await list(reader) == .success([]))
            readers.append(reader)
        }
        let writer = try AdminClient(url: fixture.url(), token: Self.token)
        #expect(await list(writer) == .success([]))
        let newest = readers[readers.count - 1]
        #expect(await list(newest) == .success([]))
        guard case .failure = await list(readers[0]) else {
            Issue.record("the oldest kept its place")
            return
        }
        #expect(lines.take().contains { $0.hasPrefix("warning the admin API has too many connections") })
        for client in readers + [writer] { await client.close() }
    }

    @Test("connections with the token for reading share a number of subscriptions, and each has what a board needs")
    func subscriptionsOfReaders() async throws {
        var listener = AdminListenerConfiguration(address: .anyPort, token: Self.token)
        listener.readToken = "for-dashboards-only"
        let fixture = try await AdminFixture(listener: listener)
        var clients: [AdminClient] = []
        for _ in 0..<SubscriptionDriver.mostOfReaders / SubscriptionDriver.mostPerConnection {
            let reader = try AdminClient(url: fixture.url(), token: "for-dashboards-only")
            for _ in 0..<SubscriptionDriver.mostPerConnection {
                try await reader.subscribe(SubscribeToCalls()) { _ in }
            }
            clients.append(reader)
        }
        let board = try AdminClient(url: fixture.url(), token: "for-dashboards-only")
        try await board.subscribe(SubscribeToCalls()) { _ in }
        try await board.subscribe(SubscribeToStats()) { _ in }
        let words = "The connections with the token for reading have 64 subscriptions; beyond it each has at most 2."
        await #expect(throws: AdminFailure.refused(AdminRefusal(.limitReached, words))) {
            try await board.subscribe(SubscribeToCalls()) { _ in }
        }
        let administrator = try AdminClient(url: fixture.url(), token: Self.token)
        for _ in 0..<SubscriptionDriver.mostPerConnection {
            try await administrator.subscribe(SubscribeToStats()) { _ in }
        }
        for client in clients + [board, administrator] { await client.close() }
    }

    private static let sales = Handle("sales")!  // The literal is a handle.

    /// A request of each kind of change.
    private static var changes: [any AdminRequest] {
        let device = DeviceID(high: 1, low: 2)
        let changes: [any AdminRequest] = [
            EndCall(CallID(high: 3, low: 4)), DropSession(user: sales, deviceID: device),
            ResumeDevice(user: sales, deviceID: device), DeleteDevice(user: sales, deviceID: device),
            SetUser(sales, UserPolicyChange(doNotDisturb: true)), BlockCallers(sales, [sales]),
            UnblockCallers(sales, [sales]), ForwardCalls(sales, busy: nil, noAnswer: nil, noAnswerSeconds: nil),
            RevokeTokens(sales), SetGroup(name: sales, strategy: .all, members: [sales]), DeleteGroup(sales),
            SetAlias(alias: sales, user: sales), DeleteAlias(sales), PauseWebhook("billing"), ResumeWebhook("billing"),
            ReplayWebhook("billing", since: Instant(milliseconds: 1)), TestWebhook("billing"),
            Drain(deadlineMilliseconds: 1), StopServer(), SetLogLevel("debug"),
        ]
        let all = AdminMethod.allCases.filter { if case .changes = $0.effect { true } else { false } }
        precondition(Set(changes.map { type(of: $0).method }) == Set(all), "each change is here")
        return changes
    }

    private static func outcome(_ request: some AdminRequest, of client: AdminClient) async -> Result<
        Void, AdminFailure
    > {
        await client.outcome(request).map { _ in }
    }

    /// A listener that asks for certificates of `authority`.
    private func start(
        _ identity: TestIdentity, authority: TestIdentity, names: [String] = []
    ) async throws -> AdminFixture {
        var listener = AdminListenerConfiguration(address: .anyPort, token: Self.token, tls: identity.files)
        listener.clientAuthorities = authority.files.certificateFile
        listener.clientNames = names
        return try await AdminFixture(listener: listener)
    }

    @Test("asks clients for a certificate, and refuses others in the handshake")
    func clientCertificates() async throws {
        let (identity, admins, strangers) = (
            try await TestIdentity(), try await TestIdentity(name: "ops"), try await TestIdentity(name: "ops")
        )
        let fixture = try await start(identity, authority: admins)
        let url = try fixture.url(isSecure: true)
        func outcome(_ shown: TLSFiles?) async throws -> Result<[GroupView], AdminFailure> {
            await list(try AdminClient(url: url, token: Self.token, trust: identity.trust, identity: shown))
        }
        // A resumed session of TLS included.
        for _ in 0..<3 { #expect(try await outcome(admins.files) == .success([])) }
        for shown in [nil, strangers.files, identity.files] {
            guard case .failure = try await outcome(shown) else {
                Issue.record("let in without a certificate of the authority")
                continue
            }
        }
    }

    @Test(
        "openssl is let in with a certificate over TLS 1.2 and 1.3, and refused in the handshake without or with a foreign one"
    )
    func foreignClients() async throws {
        let (identity, admins, strangers) = (
            try await TestIdentity(), try await TestIdentity(name: "ops"), try await TestIdentity(name: "ops")
        )
        let fixture = try await start(identity, authority: admins, names: ["monitor", "ops"])
        let port = try fixture.url().port
        func answer(_ version: String, _ shown: TestIdentity?) async throws -> String {
            let files = shown.map { "-cert \($0.path("certificate.pem")) -key \($0.path("key.pem"))" } ?? ""
            let request = #"printf 'GET /v1/admin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'"#
            let client = "timeout 15 openssl s_client -connect localhost:\(port) -\(version) -quiet \(files) 2>&1"
            return try await ChildProcess.run("/bin/sh", ["-c", "\(request) | \(client)"]).output
        }
        for version in ["tls1_2", "tls1_3"] {
            // Past the handshake, the token is asked for.
            let known = try await answer(version, admins)
            #expect(known.contains("HTTP/1.1 401"), "\(version): \(known)")
            for shown in [nil, strangers] {
                let refused = try await answer(version, shown)
                #expect(!refused.contains("HTTP/1.1") && refused.contains("alert"), "\(version): \(refused)")
            }
        }
    }

    @Test("lets in the clients on the list alone, when there is a list")
    func clientNames() async throws {
        let (identity, admins) = (try await TestIdentity(), try await TestIdentity(name: "ops"))
        for (names, isIn) in [(["ops"], true), (["monitor", "OPS"], true), (["op", "ops.example"], false)] {
            let fixture = try await start(identity, authority: admins, names: names)
            let client = try AdminClient(
                url: fixture.url(isSecure: true), token: Self.token, trust: identity.trust, identity: admins.files)
            if case .success = await list(client) { #expect(isIn, "\(names)") } else { #expect(!isIn, "\(names)") }
        }
    }

    @Test("does not start with authorities that are none, nor without a certificate of its own")
    func badAuthorities() async throws {
        let identity = try await TestIdentity()
        var listener = AdminListenerConfiguration(address: .anyPort, token: Self.token, tls: identity.files)
        for (file, words) in [("/nowhere.pem", "No such file"), (identity.path("key.pem"), "no certificate")] {
            listener.clientAuthorities = file
            let failure = #expect(throws: ServerConfigurationError.self) { _ = try listener.networkListener() }
            #expect(failure?.field == "admin.client_ca" && failure?.problem.contains(words) == true)
        }
        listener.clientAuthorities = identity.files.certificateFile
        _ = try listener.networkListener()
        listener.tls = nil
        #expect(throws: ServerConfigurationError.self) { _ = try listener.networkListener() }
    }

    @Test("does not start on a remote address without TLS, nor with a token that can be guessed")
    func refused() throws {
        let everywhere = try #require(SocketAddress(host: "0.0.0.0", port: 0))
        var listener = AdminListenerConfiguration(address: everywhere, token: Self.token)
        let failure = #expect(throws: ServerConfigurationError.self) { _ = try listener.checkedToken() }
        #expect(failure?.field == "admin.address")
        listener.isInsecure = true
        _ = try listener.checkedToken()
        listener.isInsecure = false
        listener.tls = TLSFiles(certificateFile: "c.pem", keyFile: "k.pem")
        _ = try listener.checkedToken()
        listener.token = "guess me"
        let short = #expect(throws: ServerConfigurationError.self) { _ = try listener.checkedToken() }
        #expect(short?.field == "admin.token")
        #expect(short?.description.contains("guess me") == false)
    }
}
