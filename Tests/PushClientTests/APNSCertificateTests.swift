import CallVocabulary
import ChildProcess
import EventJournal
import Foundation
import HTTP2
import PushCore
import PushTestServer
import PushVocabulary
import TestCleanup
import Testing

@testable import PushClient

@Suite("APNs by certificate", .timeLimit(.minutes(5)))
struct APNSCertificateTests {
    private static func certificate(
        subject: String = "/CN=VoIP Services", _ extensions: String = PushTestCertificates.twoTopics, days: Int = 90
    ) async throws -> APNSCertificate {
        let files = try await PushTestCertificates.shared.value.issue(
            subject: subject, extensions: extensions, days: days)
        return try APNSCertificate(certificatePEM: files.certificatePEM, keyPEM: files.keyPEM)
    }

    @Test("its topics are those of the list, without the kinds of push that stand between them")
    func topicList() async throws {
        let certificate = try await Self.certificate()
        #expect(certificate.topics == ["org.example.phone", "org.example.phone.voip"])
        #expect(certificate.environments == [.production, .sandbox])
    }

    @Test("without the list the VoIP extension's text, or the subject's user id, is the topic")
    func otherPlaces() async throws {
        let voip = try await Self.certificate("1.2.840.113635.100.6.3.4=ASN1:UTF8:org.example.a.voip")
        #expect(voip.topics == ["org.example.a.voip"])
        let subject = try await Self.certificate(
            subject: "/UID=org.example.b.voip/CN=VoIP Services", "1.2.840.113635.100.6.3.4=ASN1:NULL")
        #expect(subject.topics == ["org.example.b.voip"])
    }

    @Test(
        "the environments are those it has an extension for",
        arguments: [(1, PushEnvironment.sandbox, PushEnvironment.production), (2, .production, .sandbox)])
    func environments(_ row: (number: Int, good: PushEnvironment, bad: PushEnvironment)) async throws {
        let certificate = try await Self.certificate(
            "1.2.840.113635.100.6.3.\(row.number)=ASN1:NULL\n" + PushTestCertificates.twoTopics)
        #expect(certificate.environments == [row.good])
        let endpoint = APNSEndpoint(environment: row.bad, credential: .certificate(certificate))
        let error = #expect(throws: PushConfigurationError.self) {
            try PushService.Configuration(apns: [endpoint]).check()
        }
        #expect(error?.description == "APNs \(row.bad.rawValue): certificate: it is for \(row.good.rawValue) only")
    }

    @Test("it is refused without its key, with another's key, without topics, and when it is none")
    func refused() async throws {
        let certificates = try await PushTestCertificates.shared.value
        let files = try await certificates.issue()
        func field(_ pem: String, _ key: String?) -> String? {
            #expect(throws: PushConfigurationError.self) {
                try APNSCertificate(certificatePEM: pem, keyPEM: key, source: "voip.pem")
            }?.field
        }
        #expect(field(files.certificatePEM, nil) == "key")
        #expect(field(files.certificatePEM, certificates.serverKeyPEM) == "key")
        #expect(field(certificates.serverPEM, certificates.serverKeyPEM) == "certificate")
        #expect(field("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----", files.keyPEM) == "certificate")
        #expect(try APNSCertificate(certificatePEM: files.certificatePEM + files.keyPEM).topics.count == 2)
    }

    @Test("its end is known")
    func expiry() async throws {
        let end = try await Self.certificate(days: 90).expiresAt
        #expect(abs((end - Fixture.now() - .seconds(90 * 24 * 3600)).wholeMilliseconds) < 60_000)
    }

    @Test("nghttpd, which wants a client certificate, takes a push by certificate, and it carries no token")
    func pushed() async throws {
        let certificates = try await PushTestCertificates.shared.value
        let certificate = try await Self.certificate()
        try await NGHTTPD.run(certificates) { nghttpd in
            let fixture = try await Fixture(port: nghttpd.port) {
                $0.apns[0].credential = .certificate(certificate)
                $0.credentialsHint = "hint"
            }
            try fixture.service.start()
            #expect(try await fixture.send(try Fixture.order(1)) == .accepted)
            var other = try Fixture.order(2)
            other.token = PushToken(
                provider: .apns, kind: .voip, environment: .sandbox, topic: "org.example.other.voip", token: "00")
            let reason = """
                the APNs credentials for sandbox cover org.example.phone, org.example.phone.voip, not \
                org.example.other.voip: hint
                """
            #expect(try await fixture.outcome(queueing: other) == .unsent(reason: reason))
            await fixture.service.stop()
            let pool = try #require(fixture.service.statistics.pools.first)
            #expect(pool.certificateExpiresAt == certificate.expiresAt)
            #expect(pool.counters.tokensSigned == 0 && pool.counters.accepted == 1)
            try await nghttpd.wait(for: "apns-topic: org.example.phone.voip")
            #expect(!nghttpd.output.contains("authorization:"))
        }
    }

    @Test("nghttpd, which wants a client certificate, takes no push by key")
    func withoutCertificate() async throws {
        let certificates = try await PushTestCertificates.shared.value
        try await NGHTTPD.run(certificates) { nghttpd in
            let fixture = try await Fixture(port: nghttpd.port)
            try fixture.service.start()
            let order = try Fixture.order(ring: .seconds(1))
            fixture.service.queue(order)
            // nghttpd ends the connection after the handshake: perhaps only when a push is announced already.
            var event = try await fixture.next()
            while case .ready(let push) = event {
                fixture.service.transmit(push)
                event = try await fixture.next()
            }
            if case .outcome(_, .accepted) = event { Issue.record("taken without a certificate") }
            await fixture.service.stop()
        }
    }
}

/// nghttpd on 127.0.0.1, asking for client certificates and echoing what it is sent.
private final class NGHTTPD: Sendable {
    let port: UInt16
    private let journal: Journal<[UInt8]>
    private let process: ChildProcess

    var output: String { Self.text(journal.entries) }

    private static func text(_ parts: [[UInt8]]) -> String { String(decoding: parts.joined(), as: UTF8.self) }

    static func run(_ certificates: PushTestCertificates, _ body: (NGHTTPD) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "nghttpd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(certificates.serverPEM.utf8).write(to: folder.appending(path: "server.pem"))
        try Data(certificates.serverKeyPEM.utf8).write(to: folder.appending(path: "server.key"))
        let server = try NGHTTPD(folder)
        defer { server.process.send(SIGKILL) }
        try await server.wait(for: "listen")
        try await body(server)
    }

    private init(_ folder: URL) throws {
        let program = try ChildProcess.find("nghttpd", package: "nghttp2-server")
        port = try freePort()
        let journal = Journal<[UInt8]>()
        self.journal = journal
        process = try ChildProcess.start(
            program,
            [
                "--verbose", "--address=127.0.0.1", "--verify-client", "--echo-upload", "\(port)", "server.key",
                "server.pem",
            ], folder: folder.path, output: .pipe(journal.append))
    }

    func wait(for text: String) async throws {
        try await journal.wait(for: text) { Self.text($0).contains(text) }
    }
}
