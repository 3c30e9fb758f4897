import CallVocabulary
import PushCore
import Testing

@Suite("The health of a credential")
struct CredentialHealthTests {
    @Test("a credential is in order again with the first push that the provider has looked at, and with no other")
    func credentialAgain() {
        var bad = CredentialHealth()
        for _ in 0..<5 { bad.note(.credentialRefused(reason: "InvalidProviderToken")) }
        let proofs: [PushOutcome] = [
            .accepted, .rejected(reason: "BadDeviceToken", isTokenDead: true),
            .rejected(reason: "Unregistered", isTokenDead: false),
            .rejected(reason: "TooManyRequests", isTokenDead: false),
        ]
        for outcome in proofs {
            var health = bad
            health.note(outcome)
            #expect(health == CredentialHealth(), "\(outcome)")
        }
        let others: [PushOutcome] = [
            .rejected(reason: "InvalidProviderToken", isTokenDead: false),
            .rejected(reason: "ExpiredProviderToken", isTokenDead: false),
            .rejected(reason: "TopicDisallowed", isTokenDead: false),
            .rejected(reason: "InternalServerError", isTokenDead: false),
            .rejected(reason: "HTTP 403", isTokenDead: false), .unknown(reason: "connection lost"), .returned,
            .unsent(reason: "expired"),
        ]
        for outcome in others {
            var health = bad
            health.note(outcome)
            #expect(health == bad, "\(outcome)")
        }
        var health = bad
        health.note(.connectionFailed(reason: "refused"))
        health.note(.addressRefused(PushID(high: 1, low: 1), reason: "BadDeviceToken"))
        #expect(health == bad)
    }
}
