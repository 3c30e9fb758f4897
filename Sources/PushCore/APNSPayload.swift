import CallVocabulary
import SignalProtocol

/// The body of a VoIP push: flat, so that a PushKit handler reads it without knowing more than names.
public struct APNSPayload: Equatable, Sendable {
    /// Apple's limit for VoIP pushes, in bytes.
    public static let longestVoIP = 5120

    /// What may be left out of a body that would be too long, in the order it is.
    public enum Omission: String, Sendable, CaseIterable {
        case custom, name
    }

    /// JSON, at most ``longestVoIP`` bytes.
    public let bytes: [UInt8]
    /// What the push carries less than it was asked to; the device finds it in the call's snapshot.
    public let omitted: [Omission]

    /// - Parameter wakeToken: opens a session limited to this call and device.
    /// - Returns: nil when even the part that cannot be left out is too long.
    public init?(voip order: PushOrder, wakeToken: String) {
        var order = order
        var omitted: [Omission] = []
        var bytes = Self.encode(order, wakeToken: wakeToken)
        if bytes.count > Self.longestVoIP, order.custom != nil {
            order.custom = nil
            omitted.append(.custom)
            bytes = Self.encode(order, wakeToken: wakeToken)
        }
        if bytes.count > Self.longestVoIP, order.fromName != nil {
            order.fromName = nil
            omitted.append(.name)
            bytes = Self.encode(order, wakeToken: wakeToken)
        }
        guard bytes.count <= Self.longestVoIP else { return nil }
        self.bytes = bytes
        self.omitted = omitted
    }

    private static func encode(_ order: PushOrder, wakeToken: String) -> [UInt8] {
        JSONWriter.bytes { json in
            json.object { json in
                json.field("aps") { $0.object { _ in } }
                json.field("uuid", order.call)
                json.field("handle", order.from.text)
                json.field("handle_type", order.from.kind.rawValue)
                json.field("name", order.fromName)
                json.field("has_video", order.video)
                json.field("push_id", order.id)
                json.field("expires_at", order.expiresAt)
                json.field("wake_token", wakeToken)
                json.field("custom", order.custom)
            }
        }
    }
}
