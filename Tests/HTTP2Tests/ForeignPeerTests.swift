import ChildProcess
import EventJournal
import EventLoop
import Foundation
import HTTP2
import TLS
import Testing

/// Against implementations that are not ours: curl, nghttp and h2load as clients, nghttpd as server.
@Suite("Other HTTP/2 implementations")
struct ForeignPeerTests {
    private func server(on loop: EventLoop, usesTLS: Bool = true) async throws -> TestServer {
        let certificates = try await TestCertificates.shared.value
        return try await TestServer(
            on: loop, tls: usesTLS ? certificates.serverContext() : nil,
            settings: HTTP2ServerSettings(maxBody: 1_000_000))
    }

    @Test("curl gets its body back, verified by our certificate")
    func curl() async throws {
        let curl = try ChildProcess.find("curl", package: "curl")
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await server(on: loop)
            let result = try await ChildProcess.run(
                curl,
                [
                    "--silent", "--show-error", "--http2", "--include", "--cacert", certificates.file("ca.pem"),
                    "--header", "apns-topic: a.voip", "--data", "hello server",
                    "https://localhost:\(server.address.port)/3/device/00ff",
                ])
            #expect(result.ending == .exit(0), "\(result.output)")
            #expect(result.output.hasPrefix("HTTP/2 200") && result.output.hasSuffix("hello server"))
            #expect(result.output.contains("x-path: /3/device/00ff"))
            let request = try await server.nextRequest().1
            #expect(request.first("apns-topic") == "a.voip" && request.method == "POST")
        }
    }

    @Test("curl's HTTP/1.1 is turned away by ALPN")
    func curlWithoutHTTP2() async throws {
        let curl = try ChildProcess.find("curl", package: "curl")
        try await withLoop { loop in
            let server = try await server(on: loop)
            let result = try await ChildProcess.run(
                curl,
                [
                    "--silent", "--show-error", "--http1.1", "--insecure", "https://localhost:\(server.address.port)/",
                ])
            #expect(result.ending == .exit(35), "a TLS failure, not \(result.output)")
            #expect(server.journal.entries.requests.isEmpty)
        }
    }

    @Test("nghttp uploads more than the windows hold and gets it back")
    func nghttp() async throws {
        let nghttp = try ChildProcess.find("nghttp", package: "nghttp2-client")
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await server(on: loop)
            let upload = certificates.directory.appending(path: "upload")
            try Data(repeating: UInt8(ascii: "u"), count: 500_000).write(to: upload)
            let result = try await ChildProcess.run(
                nghttp,
                [
                    "--data=\(upload.path)", "https://localhost:\(server.address.port)/upload",
                ])
            #expect(result.ending == .exit(0))
            #expect(result.output.count(where: { $0 == "u" }) >= 500_000)
            #expect(try await server.nextRequest().1.body.count == 500_000)
        }
    }

    @Test("h2load gets every one of its answers", arguments: [true, false])
    func h2load(usesTLS: Bool) async throws {
        let h2load = try ChildProcess.find("h2load", package: "nghttp2-client")
        try await withLoop { loop in
            let server = try await server(on: loop, usesTLS: usesTLS)
            let scheme = usesTLS ? "https" : "http"
            let result = try await ChildProcess.run(
                h2load,
                [
                    "-n", "4000", "-c", "4", "-m", "50", "\(scheme)://127.0.0.1:\(server.address.port)/load",
                ])
            #expect(result.ending == .exit(0))
            #expect(result.output.contains("4000 done, 4000 succeeded, 0 failed"), "\(result.output)")
            #expect(server.journal.entries.requests.count == 4000)
        }
    }

    /// Runs nghttpd while `body` does, with the test's certificate.
    private func withNGHTTPD(
        _ options: [String], _ body: (EventLoop, SocketAddress) async throws -> Void
    ) async throws {
        let nghttpd = try ChildProcess.find("nghttpd", package: "nghttp2-server")
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let address = try freeAddress()
            let files = [certificates.file("server.key"), certificates.file("server.pem")]
            let arguments = ["--verbose", "--address=127.0.0.1"] + options + ["\(address.port)"] + files
            try await RunningProgram.during(nghttpd, arguments) { running in
                try await running.waitForOutput("listen")
                try await body(loop, address)
            }
        }
    }

    @Test("nghttpd echoes what our client sends, on as many streams as it allows")
    func nghttpd() async throws {
        let tls = try await TestCertificates.shared.value.clientContext()
        try await withNGHTTPD(["--echo-upload", "--max-concurrent-streams=7"]) { loop, address in
            let client = try await TestClient(on: loop, to: address, tls: tls) {
                var submitted = 0
                return { connection, _ in
                    while submitted < 100, connection.submit(.post("/\(submitted)", "body \(submitted)")) != nil {
                        submitted += 1
                    }
                }
            }
            let entries = try await client.journal.wait(for: "100 answers") { facts in
                facts.count { if case .streamClosed = $0 { true } else { false } } == 100
            }
            #expect(entries.contains(.settings(7)))
            for number in 0..<100 {
                // The first request has stream 1, each next one 2 more.
                let response = try await client.response(on: StreamID(rawValue: Int32(2 * number + 1)))
                #expect(response.status == 200 && response.code == .noError)
                #expect(response.body == Array("body \(number)".utf8))
            }
            try await client.perform { $0.shutDown() }
            #expect(try await client.closed() == nil)
        }
    }

    @Test("nghttpd asks for a client certificate and gets it")
    func clientCertificate() async throws {
        let certificates = try await TestCertificates.shared.value
        let identity = TLSIdentity(
            certificateChainPEM: certificates.serverPEM, privateKeyPEM: certificates.serverKeyPEM)
        let authority = TLSClientContext.Trust.certificateAuthority(file: certificates.file("ca.pem"))
        let tls = try TLSClientContext(trust: authority, identity: identity)
        try await withNGHTTPD(["--verify-client", "--echo-upload"]) { loop, address in
            let client = try await TestClient(on: loop, to: address, tls: tls)
            try await client.waitUntilReady()
            let stream = try #require(try await client.submit(.post("/", "body")))
            #expect(try await client.response(on: stream).body == Array("body".utf8))
        }
    }

    @Test("without a client certificate, nghttpd ends the connection and the failure says how")
    func missingClientCertificate() async throws {
        let tls = try await TestCertificates.shared.value.clientContext()
        try await withNGHTTPD(["--verify-client"]) { loop, address in
            let client = try await TestClient(on: loop, to: address, tls: tls)
            // With TLS 1.3 the server's alert comes after the client's side of the handshake is complete: it may
            // be the alert that is seen, or that the server has gone.
            switch try #require(try await client.closed()).reason {
            case .tls, .system, .endedByPeer: break
            case .timedOut, .certificateRejected, .notHTTP2, .session:
                Issue.record("not the server's refusal: \(client.journal.entries)")
            }
        }
    }
}
