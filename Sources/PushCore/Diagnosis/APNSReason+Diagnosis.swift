import CallVocabulary
import PushVocabulary

/// The meaning of each APNs reason, and advice: from Apple's table, and from practice.
extension APNSReason {
    public var diagnosis: PushDiagnosis { PushDiagnosis(meaning, advice) }

    private var meaning: String {
        switch self {
        case .badDeviceToken: "Apple does not know this token in this environment."
        case .deviceTokenNotForTopic:
            "The token belongs to another app, or to another kind of push, than the topic says."
        case .unregistered:
            "The app was removed from the device, or its token was replaced. The token is not used again."
        case .expiredToken: "The token has expired. It is not used again."
        case .missingDeviceToken: "No token was given."
        case .badTopic: "The topic is not a bundle id that Apple knows."
        case .missingTopic: "Apple wants a topic and got none."
        case .topicDisallowed: "This credential may not push to this topic."
        case .tooManyRequests: "Too many pushes to this one device in a short time. Others are not affected."
        case .invalidProviderToken:
            "Apple does not accept the key: key id, team id and key do not belong together, or the key was revoked."
        case .missingProviderToken: "Neither a provider token nor a certificate came with the push."
        case .expiredProviderToken: "Apple calls the provider token older than an hour, though it was made just now."
        case .tooManyProviderTokenUpdates:
            "The provider token was changed more than once in 20 minutes on a connection."
        case .unrelatedKeyIDInToken: "Two keys that have nothing to do with each other were used on one connection."
        case .badEnvironmentKeyIDInToken: "The key was made for the other environment only."
        case .badCertificate: "Apple does not accept the certificate."
        case .badCertificateEnvironment: "The certificate is for the other environment."
        case .forbidden: "This credential may not do that."
        case .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout:
            "The trouble is on Apple's side (\(rawValue)). A call's push is tried once more at once, elsewhere."
        case .payloadTooLarge:
            "The payload is larger than Apple takes: 5,120 bytes for VoIP pushes, 4,096 for all others."
        case .badPath, .methodNotAllowed: "What answers is not APNs, or not as it should be (\(rawValue))."
        case .invalidPushType: "The kind of push and the topic do not fit."
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders, .payloadEmpty:
            "Apple calls the request itself wrong: \(rawValue)."
        }
    }

    private static let everyToken =
        "Does every token get this answer? Then host, environment or key of the configuration is wrong; tokens are kept."

    private var advice: [String] {
        switch self {
        case .badDeviceToken:
            [
                """
                Mostly the environments are mixed up: an app run from Xcode has sandbox tokens, one from TestFlight or the \
                App Store production tokens. The app must say which when it registers its token.
                """,
                "Has the token been cut or changed on its way? It is hexadecimal; its length is Apple's business.",
                Self.everyToken,
            ]
        case .deviceTokenNotForTopic:
            [
                "The topic is the bundle id for alerts, and the bundle id with .voip for VoIP pushes.",
                "PushKit and UIApplication give different tokens: have they been swapped?",
                Self.everyToken,
            ]
        case .unregistered, .expiredToken: ["Nothing, until the app opens a session with its new token."]
        case .missingDeviceToken: ["Give a token, or name a device that has one."]
        case .badTopic: ["Check its spelling."]
        case .missingTopic:
            ["The app must give the topic with its token; a certificate for several topics needs it as well."]
        case .topicDisallowed:
            [
                "Is the app in the same team as the key, and is the key not restricted to other topics?",
                "A certificate pushes only to the topics it names.",
            ]
        case .tooManyRequests: ["Wait. Does something call this device in a loop?"]
        case .invalidProviderToken:
            [
                "Compare the key id (it is in the name AuthKey_….p8) and the team id with the developer account.",
                "Is this machine's clock right?",
            ]
        case .missingProviderToken: ["Configure a key or a certificate: `reveille serve --help`."]
        case .expiredProviderToken: ["This machine's clock is wrong: look at `date -u`, and let NTP set it."]
        case .tooManyProviderTokenUpdates:
            ["Do several servers, or restarts in a row, use the same key? Wait 20 minutes."]
        case .unrelatedKeyIDInToken: ["Configure one key for each team and environment."]
        case .badEnvironmentKeyIDInToken: ["Use a key for both environments, or the right one of the two."]
        case .badCertificate:
            [
                "Has it expired, or been revoked? See `openssl x509 -in FILE -noout -dates -subject`.",
                "VoIP pushes need a VoIP Services certificate.",
            ]
        case .badCertificateEnvironment: ["A development certificate pushes to sandbox tokens only."]
        case .forbidden: ["Is the key or the certificate still active in the developer account?"]
        case .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout:
            ["Try again later, and see https://developer.apple.com/system-status/."]
        case .payloadTooLarge: ["Put less into `custom` of the invite."]
        case .badPath, .methodNotAllowed:
            ["Is the host api.push.apple.com or api.sandbox.push.apple.com, and is no proxy in between?"]
        case .invalidPushType: ["VoIP pushes go to the bundle id with .voip, all others to the bundle id."]
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders, .payloadEmpty:
            ["That is a fault of this server: please report it with the push id."]
        }
    }
}
