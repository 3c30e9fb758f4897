import CallVocabulary
import PushVocabulary

public struct APNSResponse: Equatable, Sendable {
    public var status: Int
    /// The `apns-id`: of the request, or generated.
    public var id: String
    /// nil for an accepted push, whose response has no body.
    public var reason: APNSReason?
    /// For 410: when APNs learned that the token is invalid.
    public var timestamp: Instant?

    public static func accepted(id: String) -> Self {
        Self(status: 200, id: id, reason: nil, timestamp: nil)
    }

    public static func refused(_ reason: APNSReason, id: String, timestamp: Instant? = nil) -> Self {
        Self(status: reason.status, id: id, reason: reason, timestamp: timestamp)
    }

    /// The body: empty, or `{"reason":"BadTopic"}`, with a timestamp in milliseconds for 410.
    public var body: [UInt8] {
        guard let reason else { return [] }
        let time = timestamp.map { ",\"timestamp\":\($0.milliseconds)" } ?? ""
        return Array("{\"reason\":\"\(reason.rawValue)\"\(time)}".utf8)
    }
}
