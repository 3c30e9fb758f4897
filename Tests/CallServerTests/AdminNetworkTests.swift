import AdminKit
import AdminProtocol
import CallCore
import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import Logging
import Synchronization
import TLS
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

@testable import AdminServer
@testable import CallServer

/// An admin service on TCP and on its socket, with a core that answers every request with an empty list.
private final class NetworkFixture: Sendable {
    static let token = "0123456789abcdef-token"

    let folder = DataFolder(path: NSTemporaryDirectory() + "admin-\(UUID().uuidString.prefix(8))")
    let core: EventLoop
    let service: AdminService

    init(tls: TLSFiles? = nil) async throws {
        try folder.prepare()
        let core = try EventLoop(name: "core")
        core.start()
        self.core = core
        let slot = AnswerSlot()
        let inbox = Mailbox<CoreInput>(loop: core, capacity: 100) { inputs in
            for case .administered(let request, _) in inputs { slot.answer(request) }
        }
        // Force-unwrap: the literal is a numeric address.
        let listener = AdminListenerConfiguration(
            address: SocketAddress(host: "127.0.0.1", port: 0)!, token: Self.token, tls: tls)
        service = try await AdminService.start(
            at: folder.adminSocket(), listener: listener.networkListener(), environment: .plain(folder, core: inbox))
        slot.set(service.mailbox)
    }

    private final class AnswerSlot: Sendable {
        private let mailbox = Mutex<Mailbox<AdminMessage>?>(nil)

        func set(_ mailbox: Mailbox<AdminMessage>) { self.mailbox.withLock { $0 = mailbox } }

        func answer(_ request: AdminRequestID) {
            mailbox.withLock { $0 }?.postAlways(.answered(request, .success(.groups([]))))
        }
    }

    func url(isSecure: Bool = false) throws -> WebSocketURL {
        WebSocketURL(
            isSecure: isSecure, host: "localhost", port: try #require(service.address).port, path: "/")
    }

    func end() async {
        await service.stop(grace: .milliseconds(200))
        await core.stopAndWait()
        try? FileManager.default.removeItem(atPath: folder.path)
    }
}

@Suite("The admin API on TCP", .cleanup)
struct AdminNetworkTests {
    /// The comparable result of listing the groups.
    private func list(_ client: AdminClient) async -> Result<[GroupView], AdminFailure> {
        let result: Result<[GroupView], AdminFailure>
        do throws(AdminFailure) {
            result = .success(try await client.all(ListGroups()))
        } catch {
            result = .failure(error)
        }
        await client.close()
        return result
    }

    @Test("accepts the token, and works in parallel with the socket in the data folder")
    func answered() async throws {
        let fixture = try await NetworkFixture()
        let (near, far) = (
            try AdminClient(socket: fixture.folder.adminSocket()),
            try AdminClient(url: fixture.url(), token: NetworkFixture.token)
        )
        async let one = list(near)
        async let two = list(far)
        #expect(await one == .success([]))
        #expect(await two == .success([]))
        await fixture.end()
    }

    @Test("distinguishes a wrong token, another service's path and a port without a listener")
    func failures() async throws {
        let fixture = try await NetworkFixture()
        let url = try fixture.url()
        let stranger = try AdminClient(url: url, token: "another-long-secret")
        #expect(await list(stranger) == .failure(.tokenRefused))
        let elsewhere = WebSocketURL(isSecure: false, host: url.host, port: url.port, path: "/v1/signal")
        let lost = try AdminClient(url: elsewhere, token: NetworkFixture.token)
        guard case .failure(.unreachable(let words)) = await list(lost) else {
            Issue.record("another path was taken for the admin API")
            return
        }
        #expect(words.hasPrefix("\(elsewhere): "))
        await fixture.end()
        let late = try AdminClient(url: url, token: NetworkFixture.token)
        guard case .failure(.unreachable(let reason)) = await list(late) else {
            Issue.record("a port where nobody listens was answered")
            return
        }
        #expect(reason.hasPrefix("ws://localhost:\(url.port)/v1/admin: "))
    }

    @Test("works over TLS, and distinguishes an untrusted certificate from an unknown token")
    func secure() async throws {
        let (identity, other) = (try await TestIdentity(), try await TestIdentity())
        let fixture = try await NetworkFixture(tls: identity.files)
        let url = try fixture.url(isSecure: true)
        let trusting = try AdminClient(url: url, token: NetworkFixture.token, trust: identity.trust)
        #expect(await list(trusting) == .success([]))
        let doubting = try AdminClient(url: url, token: NetworkFixture.token, trust: other.trust)
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
        let stale = try AdminClient(url: url, token: NetworkFixture.token, trust: other.trust)
        #expect(await list(stale) == .failure(.tokenRefused))
        await fixture.end()
    }

    @Test("does not start on a remote address without TLS, nor with a token that can be guessed")
    func refused() throws {
        let everywhere = try #require(SocketAddress(host: "0.0.0.0", port: 0))
        var listener = AdminListenerConfiguration(address: everywhere, token: NetworkFixture.token)
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
