import ChildProcess
import EventJournal
import EventLoop
import Foundation
import Glibc
import LibWebSockets
import TLS
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

@Suite("TLS on the listener", .cleanup)
struct TLSTests {
    private let identity: TestIdentity

    init() async throws { identity = try await TestIdentity() }

    private func start(_ identity: TestIdentity) async throws -> TestServer {
        try await TestServer.start { $0.tls = identity.files }
    }

    private func secure(_ server: TestServer) -> WebSocketURL {
        WebSocketURL(isSecure: true, host: "localhost", port: server.address.port, path: "/v1/signal")
    }

    @Test("a client that trusts the authority gets its message back, also a large one")
    func trusted() async throws {
        let server = try await start(identity)
        let (client, journal) = try await TestClient.opened(to: secure(server), trust: identity.trust)
        client.send("over TLS")
        try await journal.wait(for: .received("over TLS"))
        client.send(String(repeating: "t", count: 60_000))
        try await journal.wait(for: .received("60000 bytes"))
        client.close(code: 1000, reason: "")
        try await server.journal.wait(for: .closed(1))
    }

    @Test("a client that does not trust the certificate, or finds another name in it, fails")
    func untrusted() async throws {
        let other = try await TestIdentity(name: "elsewhere")
        for (served, trusted) in [(identity, other), (other, other)] {
            let server = try await start(served)
            _ = try await TestClient.failure(of: secure(server), trust: trusted.trust)
            #expect(server.server.statistics.shards[0].opened == 0)
        }
    }

    @Test("what a certificate was refused for is not said of the connection after it")
    func complaints() async throws {
        let (secured, plain) = (try await start(identity), try await TestServer.start { _ in })
        let client = try await TestClient()
        var reasons: [String] = []
        for server in [secured, plain] {
            let journal = Journal<ClientEvent>()
            await client.connect(to: secure(server), journal: journal)
            try await journal.wait(for: "a failure") { if case .failed = $0.first { true } else { false } }
            reasons.append("\(journal.entries[0])")
        }
        #expect(reasons[0].contains("not trusted"), "\(reasons[0])")
        #expect(reasons[1].contains("expects ws://"), "\(reasons[1])")
    }

    @Test("a client of the system's authorities fails too")
    func systemTrust() async throws {
        _ = try await TestClient.failure(of: secure(start(identity)))
    }

    @Test(
        "only TLS 1.2 and 1.3 with forward secrecy and authenticated encryption are spoken",
        arguments: [
            ("-tls1_3", true), ("-tls1_2", true), ("-tls1_2 -cipher ECDHE-RSA-CHACHA20-POLY1305", true),
            ("-tls1_2 -cipher AES128-GCM-SHA256", false), ("-tls1_2 -cipher ECDHE-RSA-AES128-SHA256", false),
            ("-tls1_2 -cipher DHE-RSA-AES128-GCM-SHA256", false), ("-tls1_1 -cipher ALL:@SECLEVEL=0", false),
        ])
    func ciphers(options: String, isSpoken: Bool) async throws {
        // Of this key, because the ciphers that are refused need it.
        let server = try await start(TestIdentity(key: .rsa))
        let seen = try await TestIdentity.seen(
            at: "localhost:\(server.address.port)", options, filter: "grep -c '^New, TLS'")
        #expect(seen == (isSpoken ? "1" : "0"))
    }

    @Test("curl speaks HTTPS to it, and not HTTP/2")
    func curl() async throws {
        let server = try await start(identity)
        let output = try await ChildProcess.run(
            "/usr/bin/curl",
            [
                "-s", "-S", "-m", "15", "-i", "--cacert", identity.path("certificate.pem"),
                "https://localhost:\(server.address.port)/healthz",
            ]
        ).output
        #expect(output.hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test("python3-websockets speaks wss to it")
    func python() async throws {
        let server = try await start(identity)
        let script = """
            import asyncio, ssl, sys, websockets
            async def main():
                trust = ssl.create_default_context(cafile=sys.argv[2])
                async with websockets.connect(sys.argv[1], subprotocols=["reveille.v1"], ssl=trust) as ws:
                    await ws.send("g" * 40000)
                    print(len(await ws.recv()), ws.transport.get_extra_info("ssl_object").version())
            asyncio.run(asyncio.wait_for(main(), 20))
            """
        let result = try await ChildProcess.run(
            "/usr/bin/python3", ["-", secure(server).description, identity.path("certificate.pem")], input: script)
        #expect(result.ending == .exit(0))
        #expect(result.output == "40000 TLSv1.3\n")
    }

    @Test("a client that sends key updates instead of data is hung up on after 32, whether or not it reads the answers")
    func keyUpdates() async throws {
        let server = try await start(identity)
        // OpenSSL itself: no other client sends them at will.
        let script = """
            import ctypes, socket, sys
            tls = ctypes.CDLL("libssl.so.3")
            for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"): getattr(tls, name).restype = ctypes.c_void_p
            def send(updates):
                with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as plain:
                    plain.setblocking(True)
                    context = ctypes.c_void_p(tls.SSL_CTX_new(ctypes.c_void_p(tls.TLS_client_method())))
                    session = ctypes.c_void_p(tls.SSL_new(context))
                    tls.SSL_set_fd(session, plain.fileno())
                    assert tls.SSL_connect(session) == 1
                    for _ in range(updates):
                        if tls.SSL_key_update(session, 1) != 1 or tls.SSL_do_handshake(session) != 1: break
                    request = b"GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n"
                    tls.SSL_write(session, request, len(request))
                    answer = ctypes.create_string_buffer(64)
                    count = tls.SSL_read(session, answer, 64)
                    print(answer.raw[:12].decode() if count > 0 else "closed")
            for updates in (0, 32, 33, 20000): send(updates)
            """
        let result = try await ChildProcess.run(
            "/usr/bin/timeout", ["20", "/usr/bin/python3", "-", "\(server.address.port)"], input: script)
        #expect(result.output == "HTTP/1.1 200\nHTTP/1.1 200\nclosed\nclosed\n", "\(result.errors)")
    }

    @Test("who speaks plain HTTP to it, or an old TLS, is hung up on, and the next one served")
    func plain() async throws {
        let server = try await start(identity)
        let client = try RawClient(port: server.address.port)
        try await client.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(!String(decoding: try await client.readToEnd(), as: UTF8.self).contains("HTTP/1.1 200"))
        let url = "https://localhost:\(server.address.port)/healthz"
        let trust = ["-s", "-S", "-m", "15", "--cacert", identity.path("certificate.pem")]
        let old = try await ChildProcess.run(
            "/usr/bin/curl", trust + ["--ciphers", "DEFAULT@SECLEVEL=0", "--tls-max", "1.1", url])
        #expect(old.ending == .exit(35), "\(old.output)")
        // As a load balancer's check of the port.
        _ = try RawClient(port: server.address.port)
        let new = try await ChildProcess.run("/usr/bin/curl", trust + [url])
        #expect(new.output == "fine\n")
        try await server.refusals.wait(for: "both") { $0.count == 2 }
        await server.stop()
        #expect(server.server.statistics.shards[0].connections == 0)
        #expect(server.journal.entries.count { if case .requested = $0 { true } else { false } } == 1)
        #expect(server.refusals.entries.map(\.cause) == [.tls, .tls])
    }

    @Test("certificates that cannot be read are an error at the start")
    func unreadable() async throws {
        let failure = await #expect(throws: TLSCertificate.Failure.self) {
            _ = try await TestServer.start {
                $0.tls = TLSFiles(certificateFile: "/nonexistent/c.pem", keyFile: "/nonexistent/k.pem")
            }
        }
        #expect(failure?.description == "/nonexistent/c.pem: No such file or directory")
        await #expect(throws: LWSError.self) {
            _ = try await TestClient(trust: .file("/nonexistent.pem"))
        }
    }
}

@Suite("TLS while the process exits")
struct TLSExitTests {
    @Test("threads that still use it find all they need", .ownProcess)
    func exit() throws {
        // Registered before OpenSSL is used, this runs after what OpenSSL would have registered.
        atexit { if (try? TLSClientContext(trust: .system)) == nil { _exit(1) } }
        _ = try TLSClientContext(trust: .system)
    }
}
