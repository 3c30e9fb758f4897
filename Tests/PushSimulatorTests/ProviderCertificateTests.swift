import CallVocabulary
import Foundation
import HTTP2
import PushVocabulary
import Testing

@testable import PushSimulator

@Suite("Pushes by certificate", .simulator, .timeLimit(.minutes(5)))
struct ProviderCertificateTests {
    typealias Harness = SimulatorHarness

    private func authority() throws -> CertificateAuthority {
        try CertificateAuthority(certificatePEM: harness.text("ca.pem"), keyPEM: harness.text("ca-key.pem"))
    }

    private func reason(_ client: TestClient, _ push: HTTP2Request) async throws -> String {
        let answer = try await client.send(push)
        return "\(answer.status) \(answer.text)"
    }

    @Test("the certificate of the folder pushes without a token, in both environments and for each of its topics")
    func accepted() async throws {
        for environment in PushEnvironment.allCases {
            let client = try await harness.client(
                certificate: harness.text(harness.manifest.certificateFile),
                key: harness.text(harness.manifest.certificateKeyFile), environment)
            let device = try await harness.phone(Harness.voipTopic, environment)
            #expect(try await client.send(Harness.push(to: device, token: nil)).status == 200)
            #expect(try await client.nextLimit() == 1000)
            let alerts = try await harness.phone(Harness.topic, environment)
            let alert = Harness.push(to: alerts, token: nil, topic: Harness.topic, type: "alert")
            #expect(try await client.send(alert).status == 200)
            // As Apple has it, a token is ignored where a certificate was shown.
            #expect(try await client.send(Harness.push(to: device, token: "nonsense")).status == 200)
        }
    }

    @Test("a certificate for another app, another environment or of another authority has its reason each")
    func refused() async throws {
        let device = try await harness.phone()
        let push = Harness.push(to: device, token: nil)
        let other = try authority().issueProviderCertificate(bundle: "org.other", teamID: "T")
        let foreigner = try await harness.client(certificate: other.certificatePEM, key: other.keyPEM)
        #expect(try await reason(foreigner, push) == "400 {\"reason\":\"TopicDisallowed\"}")
        let sandboxed = try authority().issueProviderCertificate(
            bundle: Harness.topic, teamID: "T", environments: [.sandbox])
        let misplaced = try await harness.client(certificate: sandboxed.certificatePEM, key: sandboxed.keyPEM)
        #expect(try await reason(misplaced, push) == "403 {\"reason\":\"BadCertificateEnvironment\"}")
        let forged = try CertificateAuthority().issueProviderCertificate(bundle: Harness.topic, teamID: "T")
        let forger = try await harness.client(certificate: forged.certificatePEM, key: forged.keyPEM)
        let withToken = Harness.push(to: device, token: try await harness.providerToken())
        #expect(try await reason(forger, withToken) == "403 {\"reason\":\"BadCertificate\"}")
        #expect(await forger.limit() == 1)
        #expect(try await harness.snapshot().counts.accepted == 0)
    }

    @Test("what a certificate says is read from its extensions, and without topics it is no provider's")
    func extensions() throws {
        let authority = try CertificateAuthority()
        let trusted = ProviderCertificate(topics: ["a", "a.voip"], environments: [.production], isTrusted: true)
        #expect(trusted.refusal(topic: "a.voip", environment: .production) == nil)
        #expect(trusted.refusal(topic: "b", environment: .production) == .topicDisallowed)
        #expect(trusted.refusal(topic: "a", environment: .sandbox) == .badCertificateEnvironment)
        let empty = ProviderCertificate(topics: [], environments: [.production], isTrusted: true)
        #expect(empty.refusal(topic: "a", environment: .production) == .badCertificate)
        // A server's certificate is a certificate of the right authority, and no provider's.
        #expect(try authority.issue(hosts: ["localhost"]).certificatePEM.contains("CERTIFICATE"))
    }

    @Test("curl pushes with the certificate, and openssl reads the topics in it")
    func curl() async throws {
        let device = try await harness.phone()
        let certificate = harness.folder + "/" + (try #require(harness.manifest.certificateFile))
        let key = harness.folder + "/" + (try #require(harness.manifest.certificateKeyFile))
        let endpoint = try #require(harness.manifest.endpoint("production"))
        let arguments = [
            "--silent", "--show-error", "--http2", "--max-time", "20", "--cacert", harness.folder + "/ca.pem",
            "--write-out", "%{http_code}", "--header", "apns-topic: \(Harness.voipTopic)", "--header",
            "apns-push-type: voip", "--data", "{\"aps\":{}}",
            "https://localhost:\(endpoint.port)/3/device/\(device)",
        ]
        let shown = try await Harness.run("curl", ["--cert", certificate, "--key", key] + arguments)
        #expect(shown == "200")
        #expect(try await Harness.run("curl", arguments) == "{\"reason\":\"MissingProviderToken\"}403")
        let text = try await Harness.run("openssl", ["x509", "-in", certificate, "-noout", "-text"])
        #expect(text.contains("1.2.840.113635.100.6.3.6"))
        #expect(text.contains("VoIP Services: \(Harness.topic)"))
    }
}
