import CallVocabulary
import PushVocabulary

/// What APNs answers to one request.
public struct APNSResponse: Equatable, Sendable {
    public var status: Int
    /// The `apns-id`: the request's own, or one made for it.
    public var id: String
    /// nil for an accepted push, whose answer has no body.
    public var reason: APNSReason?
    /// For 410: when APNs first knew that the token is no longer valid.
    public var timestamp: Instant?

    public static func accepted(id: String) -> Self {
        Self(status: 200, id: id, reason: nil, timestamp: nil)
    }

    public static func refused(_ reason: APNSReason, id: String, timestamp: Instant? = nil) -> Self {
        Self(status: reason.status, id: id, reason: reason, timestamp: timestamp)
    }

    /// The body, as APNs writes it: empty, or `{"reason":"BadTopic"}`, with a timestamp in milliseconds for 410.
    public var body: [UInt8] {
        guard let reason else { return [] }
        let time = timestamp.map { ",\"timestamp\":\($0.milliseconds)" } ?? ""
        return Array("{\"reason\":\"\(reason.rawValue)\"\(time)}".utf8)
    }
}
