import CallVocabulary
import PushCore
import Testing

@Suite("The health of a credential")
struct CredentialHealthTests {
    @Test("a credential is in order again with the first push that the provider has looked at, and with no other")
    func credentialAgain() {
        var bad = CredentialHealth()
        for _ in 0..<5 { bad.note(.credentialRefused(reason: "InvalidProviderToken")) }
        let proofs: Set<PushVerdict> = [
            .accepted, .tokenGone, .tokenUnknown, .tokenMismatched, .relayRefused, .deviceThrottled, .providerThrottled,
            .throttled,
        ]
        for verdict in PushVerdict.allCases {
            var health = bad
            health.note(verdict)
            #expect(health == (proofs.contains(verdict) ? CredentialHealth() : bad), "\(verdict)")
        }
        var health = bad
        health.note(.connectionFailed(reason: "refused"))
        health.note(.addressRefused(PushID(high: 1, low: 1), reason: "BadDeviceToken"))
        health.note(.providerThrottled(reason: "QUOTA_EXCEEDED"))
        #expect(health == bad)
    }
}
