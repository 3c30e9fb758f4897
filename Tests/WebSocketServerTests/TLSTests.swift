import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import Testing
import WebSocketServer

@Suite("TLS on the listener")
struct TLSTests {
    /// A folder with `key.pem` and `certificate.pem`, which is its own authority and names `localhost`.
    private func makeIdentity(name: String = "localhost") async throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (output, status) = try await run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-keyout",
                folder.appending(path: "key.pem").path, "-out", folder.appending(path: "certificate.pem").path,
            ])
        try #require(status == 0, "\(output)")
        return folder
    }

    private func start(_ folder: URL) async throws -> TestServer {
        try await TestServer.start {
            $0.tls = TLSIdentity(
                certificateFile: folder.appending(path: "certificate.pem").path,
                keyFile: folder.appending(path: "key.pem").path)
        }
    }

    private func secure(_ server: TestServer) -> WebSocketURL {
        WebSocketURL(isSecure: true, host: "localhost", port: server.address.port, path: "/v1/signal")
    }

    @Test("a client that trusts the authority gets its message back, also a large one")
    func trusted() async throws {
        let folder = try await makeIdentity()
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try await start(folder)
        let client = try await TestClient(trust: .file(folder.appending(path: "certificate.pem").path))
        let journal = Journal<ClientEvent>()
        await client.connect(to: secure(server), journal: journal)
        try await journal.wait(for: .opened)
        client.send("over TLS")
        try await journal.wait(for: .received("over TLS"))
        client.send(String(repeating: "t", count: 60_000))
        try await journal.wait(for: .received("60000 bytes"))
        client.close(code: 1000, reason: "")
        try await server.journal.wait(for: .closed(1))
        await client.stop()
        await server.stop()
    }

    @Test("a client that does not trust the certificate, or finds another name in it, fails")
    func untrusted() async throws {
        let folder = try await makeIdentity()
        let other = try await makeIdentity(name: "elsewhere")
        defer { for folder in [folder, other] { try? FileManager.default.removeItem(at: folder) } }
        for (served, trusted) in [(folder, other), (other, other)] {
            let server = try await start(served)
            let client = try await TestClient(trust: .file(trusted.appending(path: "certificate.pem").path))
            let journal = Journal<ClientEvent>()
            await client.connect(to: secure(server), journal: journal)
            try await journal.wait(for: "a failure") { if case .failed = $0.first { true } else { false } }
            #expect(server.server.statistics.shards[0].opened == 0)
            await client.stop()
            await server.stop()
        }
    }

    @Test("a client of the system's authorities fails too")
    func systemTrust() async throws {
        let folder = try await makeIdentity()
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try await start(folder)
        let client = try await TestClient()
        let journal = Journal<ClientEvent>()
        await client.connect(to: secure(server), journal: journal)
        try await journal.wait(for: "a failure") { if case .failed = $0.first { true } else { false } }
        await client.stop()
        await server.stop()
    }

    @Test("curl speaks HTTPS to it, and not HTTP/2")
    func curl() async throws {
        let folder = try await makeIdentity()
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try await start(folder)
        let (output, _) = try await run(
            "/usr/bin/curl",
            [
                "-s", "-S", "-m", "15", "-i", "--cacert", folder.appending(path: "certificate.pem").path,
                "https://localhost:\(server.address.port)/healthz",
            ])
        #expect(output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        await server.stop()
    }

    @Test("certificates that cannot be read are an error at the start")
    func unreadable() async throws {
        await #expect(throws: LWSError.self) {
            try await start(URL(filePath: "/nonexistent"))
        }
        await #expect(throws: LWSError.self) {
            _ = try await TestClient(trust: .file("/nonexistent.pem"))
        }
    }
}
