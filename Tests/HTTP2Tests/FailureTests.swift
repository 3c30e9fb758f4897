import EventJournal
import EventLoop
import Foundation
import Glibc
import HTTP2
import TLS
import Testing

@Suite("Connections that fail")
struct FailureTests {
    @Test("a certificate for another name is refused, and the failure says so")
    func wrongName() async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await TestServer(on: loop, tls: certificates.serverContext())
            let client = try await TestClient(
                on: loop, to: server.address, serverName: "api.push.example", tls: certificates.clientContext())
            let failure = try #require(try await client.closed())
            #expect(failure.reason == .certificateRejected(code: 62))  // X509_V_ERR_HOSTNAME_MISMATCH
            #expect(failure.description.contains("api.push.example") && failure.text.contains("hostname mismatch"))
            #expect(client.journal.entries.count == 1)
            let serverEnd = try await server.journal.first("the server's end") { fact -> HTTP2Failure? in
                if case .closed(let failure) = fact { failure } else { nil }
            }
            #expect(serverEnd.text.contains("alert"), "the client says by an alert why it goes")
        }
    }

    @Test(
        "a certificate is accepted for each of its names and for its address",
        arguments: ["localhost", "push.test", "127.0.0.1"])
    func rightName(name: String) async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await TestServer(on: loop, tls: certificates.serverContext())
            let client = try await TestClient(
                on: loop, to: server.address, serverName: name, tls: certificates.clientContext())
            try await client.waitUntilReady()
        }
    }

    @Test("an address that the certificate does not name is refused")
    func wrongAddress() async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await TestServer(on: loop, tls: certificates.serverContext())
            let client = try await TestClient(
                on: loop, to: server.address, serverName: "127.0.0.2", tls: certificates.clientContext())
            #expect(try await client.closed()?.reason == .certificateRejected(code: 64))  // …_IP_ADDRESS_MISMATCH
        }
    }

    @Test("a certificate of an unknown authority is refused, and the failure says so")
    func unknownAuthority() async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await TestServer(on: loop, tls: certificates.serverContext())
            let client = try await TestClient(
                on: loop, to: server.address, tls: TLSClientContext(trust: .system))
            let failure = try #require(try await client.closed())
            // X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
            #expect(failure.reason == .certificateRejected(code: 20))
            #expect(failure.text.contains("unable to get local issuer certificate"))
        }
    }

    @Test("a refused connection is a system failure with its errno")
    func refused() async throws {
        try await withLoop { loop in
            let address = try freeAddress()
            let client = try await TestClient(on: loop, to: address)
            let failure = try #require(try await client.closed())
            #expect(failure.reason == .system(errno: ECONNREFUSED))
            #expect(failure.operation.contains("127.0.0.1:\(address.port)"))
            #expect(client.journal.entries.count == 1)
        }
    }

    @Test(
        "a peer that closes in the middle of a request ends the connection as a failure, with TLS and without",
        arguments: [true, false])
    func closedMidRequest(usesTLS: Bool) async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let server = try await TestServer(on: loop, tls: usesTLS ? certificates.serverContext() : nil) {
                { connection, event in if case .request = event { connection.close() } }
            }
            let client = try await TestClient(
                on: loop, to: server.address, tls: usesTLS ? certificates.clientContext() : nil)
            try await client.waitUntilReady()
            #expect(try await client.submit(.post("/", "")) != nil)
            let failure = try #require(try await client.closed())
            #expect(failure.reason == .endedByPeer && failure.text.contains("open streams: 1"))
            #expect(!client.journal.entries.contains { if case .streamClosed = $0 { true } else { false } })
        }
    }

    @Test("a peer that says nothing fails the connection when the handshake's time is over")
    func silence() async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let silent = try await SilentListener(on: loop)
            let client = try await TestClient(
                on: loop, to: silent.address, tls: certificates.clientContext(), handshakeTimeout: .milliseconds(50))
            #expect(try await client.closed()?.reason == .timedOut)
        }
    }

    @Test("bytes that are not TLS fail the handshake, bytes that are not HTTP/2 fail the session")
    func garbage() async throws {
        let certificates = try await TestCertificates.shared.value
        try await withLoop { loop in
            let talker = try await SilentListener(on: loop, says: "HTTP/1.1 400 Bad Request\r\n\r\n")
            let secure = try await TestClient(on: loop, to: talker.address, tls: certificates.clientContext())
            guard case .tls = try await secure.closed()?.reason else {
                Issue.record("not a TLS failure: \(secure.journal.entries)")
                return
            }
            let plain = try await TestClient(on: loop, to: talker.address)
            guard case .session = try await plain.closed()?.reason else {
                Issue.record("not a session failure: \(plain.journal.entries)")
                return
            }
        }
    }

    @Test("a server survives a client that writes to it after it has closed")
    func brokenPipe() async throws {
        try await withLoop { loop in
            // Both ends answer into a connection that the other has closed: a SIGPIPE would end the process.
            let server = try await TestServer(on: loop) {
                { connection, event in
                    guard case .request(let stream, _) = event else { return }
                    connection.respond(stream, status: 200, body: [UInt8](repeating: 1, count: 60_000))
                }
            }
            for _ in 0..<20 {
                let client = try await TestClient(on: loop, to: server.address)
                try await client.waitUntilReady()
                try await client.perform { connection in
                    for _ in 0..<50 { _ = connection.submit(.post("/", "x")) }
                }
                _ = try await client.journal.first("a response") { if case .headers = $0 { true } else { nil } }
                try await client.perform { $0.close() }
                #expect(try await client.closed() == nil)
            }
            try await server.journal.wait(for: "the end of all") { facts in
                facts.count { if case .closed = $0 { true } else { false } } == 20
            }
        }
    }

    @Test("certificates and keys that cannot be used are told apart")
    func badCredentials() async throws {
        let certificates = try await TestCertificates.shared.value
        #expect(throws: TLSFailure.self) { try TLSClientContext(trust: .certificateAuthorityPEM("nothing here")) }
        let missing = #expect(throws: TLSFailure.self) {
            try TLSClientContext(trust: .certificateAuthority(file: "/nonexistent.pem"))
        }
        #expect(missing?.operation.contains("/nonexistent.pem") == true)
        let noKey = #expect(throws: TLSFailure.self) {
            try TLSServerContext(certificateChainPEM: certificates.serverPEM, privateKeyPEM: "no key")
        }
        #expect(noKey?.operation == "read the private key")
        let otherKey = try String(contentsOfFile: certificates.file("ca.key"), encoding: .utf8)
        let mismatch = #expect(throws: TLSFailure.self) {
            try TLSServerContext(certificateChainPEM: certificates.serverPEM, privateKeyPEM: otherKey)
        }
        #expect(mismatch?.text.contains("key values mismatch") == true)
    }
}
