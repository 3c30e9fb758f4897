import CallVocabulary
import Foundation
import Testing

@testable import WebhookClient

struct WebhookSecretTests {
    /// The example of the Standard Webhooks specification, whose signature its libraries test themselves with.
    @Test("a signature is that of the specification's example")
    func example() throws {
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let fields = [secret].fields(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        let values = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) })
        #expect(values["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(values["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek")
        #expect(values["webhook-timestamp"] == "1614265330")
    }

    @Test("a file has one secret a line, and nothing else; no secret is printed")
    func files() throws {
        let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"
        let secrets = try #require(WebhookSecret.all(in: "\n" + text + text))
        #expect(secrets.count == 2 && secrets[0] == secrets[1])
        #expect("\(secrets)".contains("redacted") && !String(reflecting: secrets).contains("[77"))
        for bad in ["", "\n", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", text + "x"] {
            #expect(WebhookSecret.all(in: bad) == nil, "\(bad)")
        }
    }

    @Test("each secret signs, the newest first")
    func rotation() throws {
        let secrets = try (0..<2).map { _ in try #require(WebhookSecret(WebhookSecret.make())) }
        let key = try #require(WebhookSecret("whsk_" + Data(repeating: 7, count: 32).base64EncodedString()))
        let fields = (secrets + [key]).fields(id: "1", timestamp: 2, body: [])
        let signatures = try #require(fields.first { $0.name == "webhook-signature" }).value.split(separator: " ")
        #expect(signatures.map { $0.prefix(while: { $0 != "," }) } == ["v1", "v1", "v1a"])
        #expect(signatures[0] != signatures[1])
    }

    @Test(
        "other text is no secret",
        arguments: [
            "", "whsec_", "whsec_AAAA", "whsec_!", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsk_AAAA",
            "whsec_" + Data(repeating: 1, count: 65).base64EncodedString(),
            "whsk_" + Data(repeating: 1, count: 33).base64EncodedString(),
        ])
    func refused(text: String) { #expect(WebhookSecret(text) == nil) }

    @Test("a filter names an event, a group of events or all")
    func filters() {
        #expect(EventKind.matching("call.ended") == [.callEnded])
        #expect(EventKind.matching("push.*") == [.pushRejected, .pushUnreported])
        #expect(EventKind.matching("*")?.count == EventKind.allCases.count)
        for text in ["", "call", "call.", "calls.*", "*.*", "call.Ended"] { #expect(EventKind.matching(text) == nil) }
    }
}
