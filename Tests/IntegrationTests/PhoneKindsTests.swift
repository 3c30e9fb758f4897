import CallCore
import CallServer
import CallStore
import CallVocabulary
import PhoneSimulator
import PushSimulator
import Testing

@Suite("Phones of both kinds", .world)
struct PhoneKindsTests {
    @Test(
        "an iPhone registers one token for calls and one for alerts, an Android phone one for messages",
        .timeLimit(.minutes(5)))
    func tokens() async throws {
        let (simulator, server) = try await world.startPushing()
        let ann = try await world.sleepingPhone("ann", at: server.address) { $0.takesAlerts = true }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .android }
        let phones = try #require(await simulator.snapshot()).phones
        #expect(phones.map(\.provider) == ["apns", "apns", "fcm"])
        #expect(phones.map(\.topic) == ["org.reveille.phone.voip", "org.reveille.phone", "reveille-phone"])
        #expect(!phones.contains { !$0.isAttached })
        let alerts = try #require(await ann.phone.alertToken())
        #expect(phones.map(\.token) == [ann.token, alerts, bob.token])

        let reader = try world.reader()
        let ofAnn = try #require(try reader.devices(user: "ann").first).tokens.map(\.token)
        #expect(
            Set(ofAnn) == [
                PushToken(
                    provider: .apns, kind: .voip, environment: .production, topic: "org.reveille.phone.voip",
                    token: ann.token),
                PushToken(
                    provider: .apns, kind: .alert, environment: .production, topic: "org.reveille.phone",
                    token: alerts),
            ])
        let ofBob = try #require(try reader.devices(user: "bob").first).tokens.map(\.token)
        #expect(
            ofBob == [
                PushToken(
                    provider: .fcm, kind: .data, environment: .production, topic: "reveille-phone",
                    token: bob.token)
            ])
    }
}
