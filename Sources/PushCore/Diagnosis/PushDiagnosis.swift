import CallVocabulary
import PushVocabulary

/// Explains the outcome of a push to an operator or developer.
public struct PushDiagnosis: Equatable, Sendable {
    /// The meaning, in one or two sentences.
    public let meaning: String
    /// What to check or change, the likeliest first. Empty when there is nothing to do.
    public let advice: [String]

    init(_ meaning: String, _ advice: [String] = []) {
        self.meaning = meaning
        self.advice = advice
    }

    /// - Parameter delivery: the kind of push; nil when its token does not suit it.
    public init(_ outcome: PushOutcome, delivery: PushDelivery?) {
        switch outcome {
        case .accepted:
            self.init("The provider has taken the push. That is no proof that it arrives.", Self.notSeen(delivery))
        case .rejected(let reason, _) where delivery == .webPush: self = .webPush(refused: reason)
        case .rejected(let reason, _): self = Self.rejected(reason)
        case .unknown(let reason):
            self.init(
                "The push was sent and no answer came (\(reason.clause)). It may arrive or not, so it is not sent again.",
                [
                    "Try another one. If that fails as well, look at the network between here and the provider: a "
                        + "firewall that drops idle connections, or a proxy that does not speak HTTP/2."
                ])
        case .returned: self.init("The provider did not take the push.", ["Try again."])
        case .unsent(let reason) where PushRequest.Fault(rawValue: reason) != nil:
            self.init(
                "The push never left this machine: \(reason.clause).",
                ["Compare token, topic and kind with what the app was given by the system."])
        case .unsent(let reason):
            self.init(
                "The push never left this machine: \(reason.clause).",
                [
                    "If it waited for a connection: can this machine reach the provider (port 443, or 2197 for APNs), "
                        + "and is its certificate trusted here? The log names the error of each attempt.",
                    "If it lacks a credential: configure one, see `reveille serve --help`.",
                ])
        }
    }

    private static func rejected(_ reason: String) -> PushDiagnosis {
        if let known = APNSReason(rawValue: reason) { return known.diagnosis }
        if let known = FCMErrorCode(rawValue: reason) { return known.diagnosis }
        if reason == "UNAUTHENTICATED" || reason == "PERMISSION_DENIED" {
            return PushDiagnosis(
                "Google does not let this service account send messages (\(reason.clause)).",
                [
                    "Is the key still active, and the Firebase Cloud Messaging API enabled in the project?",
                    "The account needs the role Firebase Cloud Messaging API Admin. Is this machine's clock right?",
                ])
        }
        return PushDiagnosis(
            "The provider refused the push with a reason that is not documented: \(reason.clause).",
            ["An HTTP status alone mostly comes from a proxy on the way."])
    }

    /// Why an accepted push may show nothing on the phone.
    private static func notSeen(_ delivery: PushDelivery?) -> [String] {
        switch delivery {
        case .apnsVoIP:
            [
                "Nothing on the phone: is it online, and was the app launched once since it was installed?",
                "The app gets it and iOS ends it: it must report a call to CallKit before the PushKit handler returns. "
                    + "After a few pushes without a report iOS delivers no more until the user opens the app.",
            ]
        case .apnsAlert:
            ["Nothing on the phone: has the user allowed notifications, and does no Focus hold them back?"]
        case .apnsBackground:
            [
                "iOS holds background pushes back, merges them, and lets two or three an hour through; none to an app "
                    + "that was swiped away, or without Background App Refresh."
            ]
        case .fcmData, .fcmAlert:
            [
                "Nothing on the phone: was the app force-stopped, or is it under battery restrictions? Messages of high "
                    + "priority are demoted for apps that show nothing for them."
            ]
        case .webPush:
            [
                "Nothing on the screen: is the browser running and online, are notifications of the page allowed, by the "
                    + "browser and by the system? A browser that was closed shows the push at its next start, unless it "
                    + "has expired."
            ]
        case nil: []
        }
    }
}
