/// The meaning of each FCM code, and advice: from Google's table, and from practice.
extension FCMErrorCode {
    public var diagnosis: PushDiagnosis { PushDiagnosis(meaning, advice) }

    private var meaning: String {
        switch self {
        case .unspecified: "FCM refused the message and does not say why."
        case .invalidArgument: "FCM calls the message itself wrong."
        case .unregistered:
            "The app was removed from the device, or its token was replaced. The token is not used again."
        case .senderIDMismatch: "The token belongs to another Firebase project than the service account."
        case .quotaExceeded: "Too many messages: of the project, or to this device or topic."
        case .unavailable, .internalError: "The trouble is on Google's side (\(rawValue))."
        case .thirdPartyAuthError: "FCM cannot push on to Apple: the project's APNs key is missing or wrong."
        }
    }

    private var advice: [String] {
        switch self {
        case .unspecified: ["Look at the message in the Firebase console."]
        case .invalidArgument:
            [
                "Mostly the token is not one of FCM's: an APNs token, or cut on its way.",
                "Does `custom` make it too large?",
            ]
        case .unregistered: ["Nothing, until the app opens a session with its new token."]
        case .senderIDMismatch:
            ["Which project is in the app's google-services.json? The service account has to be of the same one."]
        case .quotaExceeded: ["Wait for as long as FCM says. Does something send in a loop?"]
        case .unavailable, .internalError:
            ["Try again later, and see https://status.firebase.google.com/."]
        case .thirdPartyAuthError: ["Upload the APNs key in the Firebase console, under Cloud Messaging."]
        }
    }
}
