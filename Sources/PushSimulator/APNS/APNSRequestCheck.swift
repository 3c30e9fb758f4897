import CallVocabulary
import PushVocabulary

/// Checks a provider's request as APNs does. Pure.
///
/// The first failed check determines the reason. The order: apns-id, method, topic, collapse-id, priority, expiration,
/// push type, path and device token, provider token, payload, duplicate headers.
public struct APNSRequestCheck {
    public enum Verdict: Equatable, Sendable {
        case accepted(AcceptedPush)
        case refused(APNSResponse)
    }

    private static let longestCollapseID = 64
    private static let longestTopic = 255
    /// Apple does not specify the length of a token; this limit only rejects garbage.
    private static let longestDeviceToken = 512

    /// - Parameters:
    ///   - freshID: creates the `apns-id` of a request without one.
    ///   - standing: the state of a device token, which is valid hexadecimal in lower case.
    ///   - authorize: checks the provider token. Called at most once, after all earlier checks passed.
    public static func judge(
        _ request: APNSRequest,
        freshID: () -> String,
        standing: (String) -> DeviceTokenStanding,
        authorize: () -> APNSReason?
    ) -> Verdict {
        let id: String
        if let given = request.id {
            guard PushID(given) != nil else { return .refused(.refused(.badMessageID, id: freshID())) }
            id = given
        } else {
            id = freshID()
        }
        do throws(Refusal) {
            let headers = try headers(of: request)
            let token = try deviceToken(of: request, topic: headers.topic, standing: standing)
            if let reason = authorize() { throw Refusal(reason) }
            try checkPayload(request.payload, type: headers.type)
            if request.hasDuplicateHeaders { throw Refusal(.duplicateHeaders) }
            return .accepted(
                AcceptedPush(
                    id: id, deviceToken: token, topic: headers.topic, type: headers.type, priority: headers.priority,
                    expiration: headers.expiration, collapseID: request.collapseID, payload: request.payload))
        } catch {
            return .refused(.refused(error.reason, id: id, timestamp: error.timestamp))
        }
    }

    private struct Refusal: Error {
        let reason: APNSReason
        var timestamp: Instant?

        init(_ reason: APNSReason, timestamp: Instant? = nil) {
            self.reason = reason
            self.timestamp = timestamp
        }
    }

    private struct Headers {
        var topic: String
        var type: APNSPushType
        var priority: Int
        var expiration: Int64?
    }

    private static func headers(of request: APNSRequest) throws(Refusal) -> Headers {
        guard request.method == "POST" else { throw Refusal(.methodNotAllowed) }
        guard let topic = request.topic, !topic.isEmpty else { throw Refusal(.missingTopic) }
        guard isTopic(topic) else { throw Refusal(.badTopic) }
        if let collapseID = request.collapseID, collapseID.utf8.count > longestCollapseID {
            throw Refusal(.badCollapseID)
        }
        let priority = try priority(of: request)
        let expiration = try expiration(of: request)
        let type = try pushType(of: request, topic: topic)
        return Headers(topic: topic, type: type, priority: priority, expiration: expiration)
    }

    /// A bundle identifier with an optional suffix: letters, digits, hyphens, dots.
    private static func isTopic(_ topic: String) -> Bool {
        guard topic.utf8.count <= longestTopic else { return false }
        return topic.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// A background push with priority 10 is an error. Without the header it is accepted, although 10 is the default.
    private static func priority(of request: APNSRequest) throws(Refusal) -> Int {
        switch request.priority {
        case nil: return 10
        case "10":
            guard request.pushType != APNSPushType.background.rawValue else { throw Refusal(.badPriority) }
            return 10
        case "5": return 5
        case "1": return 1
        case .some: throw Refusal(.badPriority)
        }
    }

    private static func expiration(of request: APNSRequest) throws(Refusal) -> Int64? {
        guard let text = request.expiration else { return nil }
        // `Int64.init` would accept a leading plus sign.
        guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let seconds = Int64(text) else {
            throw Refusal(.badExpirationDate)
        }
        return seconds
    }

    private static func pushType(of request: APNSRequest, topic: String) throws(Refusal) -> APNSPushType {
        guard let text = request.pushType else { return APNSPushType(impliedBy: topic) }
        guard let type = APNSPushType(rawValue: text), type.fits(topic: topic) else { throw Refusal(.invalidPushType) }
        return type
    }

    private static func deviceToken(
        of request: APNSRequest, topic: String, standing: (String) -> DeviceTokenStanding
    ) throws(Refusal) -> String {
        guard let named = request.deviceToken else { throw Refusal(.badPath) }
        guard !named.isEmpty else { throw Refusal(.missingDeviceToken) }
        guard named.utf8.count <= longestDeviceToken, named.utf8.count % 2 == 0, named.utf8.allSatisfy(isHexDigit)
        else { throw Refusal(.badDeviceToken) }
        let token = named.lowercased()
        switch standing(token) {
        case .unknown: throw Refusal(.badDeviceToken)
        case .unregistered(let since): throw Refusal(.unregistered, timestamp: since)
        case .registered(let registered):
            guard registered == topic else { throw Refusal(.deviceTokenNotForTopic) }
            return token
        }
    }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func checkPayload(_ payload: [UInt8], type: APNSPushType) throws(Refusal) {
        if payload.isEmpty { throw Refusal(.payloadEmpty) }
        if payload.count > type.payloadLimit { throw Refusal(.payloadTooLarge) }
    }
}
