import AdminKit
import AdminProtocol
import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets
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

    /// An admin service on TCP and on its socket, with a core that answers every request with an empty list.
    private func start(_ tls: TLSFiles? = nil) async throws -> AdminFixture {
        let listener = AdminListenerConfiguration(address: .anyPort, token: Self.token, tls: tls)
        return try await AdminFixture(listener: listener) { _ in .success(.groups([])) }
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
        await fixture.end()
        let late = try AdminClient(url: url, token: Self.token)
        guard case .failure(.unreachable(let reason)) = await list(late) else {
            Issue.record("a port where nobody listens was answered")
            return
        }
        #expect(reason.hasPrefix("ws://localhost:\(url.port)/v1/admin: "))
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
            token: try AdminListenerConfiguration.check("another-long-secret"),
            certificate: try TLSCertificate(other.files))
        let renewed = try AdminClient(url: url, token: "another-long-secret", trust: other.trust)
        #expect(await list(renewed) == .success([]))
        let stale = try AdminClient(url: url, token: Self.token, trust: other.trust)
        #expect(await list(stale) == .failure(.tokenRefused))
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
