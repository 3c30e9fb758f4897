import CallVocabulary
import SoftphoneKit
import SoftphoneSession

extension Phone {
    /// Connects both phones, and calls the other one until media flows on both sides.
    func connects(to other: Phone) async throws -> CallID {
        try await softphone.connect()
        let opened = try await other.softphone.connect()
        let call = try await softphone.call(.user(opened.user))
        try await isAnswered(by: other, call)
        return call
    }
}

extension PushToken {
    static func voip(_ token: String, _ environment: PushEnvironment = .production) -> PushToken {
        PushToken(
            provider: .apns, kind: .voip, environment: environment, topic: "org.reveille.phone.voip", token: token)
    }
}
