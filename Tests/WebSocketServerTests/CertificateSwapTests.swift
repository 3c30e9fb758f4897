import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import TLS
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

/// What is replaced in a listener while it runs.
@Suite("A running listener", .cleanup)
struct CertificateSwapTests {
    /// What a new connection is shown, as another implementation sees it.
    /// - Parameter options: of `openssl s_client`.
    private func serial(_ server: TestServer, _ options: String = "") async throws -> String {
        try await TestIdentity.seen(at: "127.0.0.1:\(server.address.port)", "-servername localhost \(options)")
    }

    @Test(
        "shows a new certificate to new connections, of whatever kind its key is; those that are up go on",
        arguments: [
            (TestIdentity.Key.elliptic, TestIdentity.Key.elliptic), (.elliptic, .rsa), (.rsa, .elliptic),
        ])
    func swap(kinds: (TestIdentity.Key, TestIdentity.Key)) async throws {
        let old = try await TestIdentity(key: kinds.0, serial: "0A")
        let new = try await TestIdentity(key: kinds.1, serial: "0B")
        let server = try await TestServer.start {
            $0.tls = old.files
            $0.shards = 2
        }
        let url = WebSocketURL(isSecure: true, host: "localhost", port: server.address.port, path: "/v1/signal")
        let (before, after) = (try await TestClient(trust: old.trust), try await TestClient(trust: new.trust))
        let journals = [Journal<ClientEvent>(), Journal<ClientEvent>()]
        await before.connect(to: url, journal: journals[0])
        try await journals[0].wait(for: .opened)
        #expect(try await serial(server) == "serial=0A")

        await server.server.replaceCertificate(with: try TLSCertificate(new.files))

        // On both shards, in both versions of TLS.
        for options in ["", "", "-tls1_2", "-tls1_2"] { #expect(try await serial(server, options) == "serial=0B") }
        await after.connect(to: url, journal: journals[1])
        try await journals[1].wait(for: .opened)
        before.send("still here")
        try await journals[0].wait(for: .received("still here"))
        after.send("here too")
        try await journals[1].wait(for: .received("here too"))
        before.send(String(repeating: "x", count: 60_000))
        try await journals[0].wait(for: .received("60000 bytes"))
        #expect(journals[0].entries.allSatisfy { if case .closed = $0 { false } else { true } })
    }

    @Test("keeps showing what was read, whatever becomes of the files, through many replacements")
    func files() async throws {
        let identity = try await TestIdentity(serial: "10")
        let server = try await TestServer.start { $0.tls = identity.files }
        for serial in ["11", "12", "13"] {
            let next = try await TestIdentity(serial: serial, rewriting: identity)
            await server.server.replaceCertificate(with: try TLSCertificate(next.files))
            #expect(try await self.serial(server) == "serial=\(serial)")
        }
        identity.remove()
        #expect(try await serial(server) == "serial=13")
        #expect(throws: TLSCertificate.Failure.self) { _ = try TLSCertificate(identity.files) }
    }

    @Test("sends the intermediate certificates after a replacement, and only the new ones")
    func chain() async throws {
        let identity = try await TestIdentity(serial: "21")
        let other = try await TestIdentity(name: "authority", serial: "22")
        let server = try await TestServer.start { $0.tls = identity.files }
        let own = try String(contentsOfFile: identity.files.certificateFile, encoding: .utf8)
        let issuer = try String(contentsOfFile: other.files.certificateFile, encoding: .utf8)
        for (text, count) in [(own + issuer, 2), (own, 1)] {
            try text.write(toFile: identity.files.certificateFile, atomically: true, encoding: .utf8)
            await server.server.replaceCertificate(with: try TLSCertificate(identity.files))
            let certificates = try await TestIdentity.seen(
                at: server.address, "-showcerts", filter: "grep -c 'BEGIN CERTIFICATE'")
            #expect(certificates == "\(count)")
        }
    }

    @Test("takes a lower or higher number of connections from then on, and cuts none")
    func maxConnections() async throws {
        let server = try await TestServer.start { $0.maxConnections = 2 }
        let client = try await TestClient()
        let journals = (0..<4).map { _ in Journal<ClientEvent>() }
        for number in 0..<2 {
            await client.connect(number, to: server.url, journal: journals[number])
            try await journals[number].wait(for: .opened)
        }
        server.server.setMaxConnections(1)
        await client.connect(2, to: server.url, journal: journals[2])
        try await journals[2].wait(for: "a failure") { if case .failed = $0.first { true } else { false } }
        client.send("still here", on: 1)
        try await journals[1].wait(for: .received("still here"))
        #expect(server.server.statistics.refused == 1)
        server.server.setMaxConnections(3)
        await client.connect(3, to: server.url, journal: journals[3])
        try await journals[3].wait(for: .opened)
        try await server.journal.wait(for: .opened(3))
        #expect(server.server.statistics.shards[0].connections == 3)
    }
}
