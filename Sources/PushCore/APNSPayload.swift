import CallVocabulary
import PushVocabulary
import WireJSON

/// The JSON body of an APNs push: one flat object.
public struct APNSPayload: Equatable, Sendable {
    /// Apple's limit for VoIP pushes, in bytes.
    public static let longestVoIP = 5120
    /// Apple's limit for all other pushes, in bytes.
    public static let longest = 4096

    /// JSON, at most ``longestVoIP`` or ``longest`` bytes.
    @Secret public private(set) var bytes: [UInt8]
    /// The fields left out to fit the limit; the device finds them in the call's snapshot.
    public let omitted: [PushOmission]

    /// - Parameter wakeToken: opens a session limited to this call and device.
    /// - Returns: nil when the required fields alone exceed the limit.
    public init?(voip order: PushIntent, wakeToken: String) {
        self.init(order, limit: Self.longestVoIP) { order, json in
            json.field("aps") { $0.object { _ in } }
            Self.writeCall(order, wakeToken: wakeToken, to: &json)
        }
    }

    /// An alert shown to the user: a ringing or a missed call.
    public init?(alert order: PushIntent, wakeToken: String, texts: AlertTexts) {
        self.init(order, limit: Self.longest) { Self.writeAlert($0, wakeToken: wakeToken, texts: texts, to: &$1) }
    }

    /// A background push: the app handles it when iOS lets it run, the user sees nothing.
    public init?(background order: PushIntent) {
        self.init(order, limit: Self.longest) { order, json in
            json.field("aps") { $0.object { $0.field("content-available", 1) } }
            json.field("type", order.purpose.rawValue)
            json.field("missed", order.missedCount)
        }
    }

    private init?(_ order: PushIntent, limit: Int, write: (PushIntent, inout JSONWriter) -> Void) {
        let fitted = PushOmission.fit(order, into: limit) { order in
            JSONWriter.bytes { json in json.object { write(order, &$0) } }
        }
        guard let fitted else { return nil }
        bytes = fitted.bytes
        omitted = fitted.omitted
    }

    /// Writes the members of an alert's body; FCM passes the same members on to iOS.
    static func writeAlert(
        _ order: PushIntent, wakeToken: String, texts: AlertTexts, to json: inout JSONWriter
    ) {
        let alert = PushAlert(order, texts: texts)
        json.field("aps") { json in
            json.object { json in
                json.field("alert") { json in
                    json.object { json in
                        json.field("title", alert.title)
                        json.field("body", alert.body)
                    }
                }
                json.field("sound") { $0.string("default") }
                if order.purpose != .call { json.field("badge", order.missedCount) }
                json.field("mutable-content", 1)
                if order.purpose == .call { json.field("interruption-level") { $0.string("time-sensitive") } }
            }
        }
        if order.purpose == .call {
            writeCall(order, wakeToken: wakeToken, to: &json)
        } else {
            writeNotice(order, to: &json)
        }
    }

    private static func writeCall(_ order: PushIntent, wakeToken: String, to json: inout JSONWriter) {
        writeCaller(order, to: &json)
        json.field("has_video", order.video)
        json.field("push_id", order.id)
        json.field("expires_at", order.expiresAt)
        json.field("wake_token", wakeToken)
        json.field("custom", order.custom)
    }

    private static func writeNotice(_ order: PushIntent, to json: inout JSONWriter) {
        json.field("type", order.purpose.rawValue)
        writeCaller(order, to: &json)
        json.field("missed", order.missedCount)
    }

    private static func writeCaller(_ order: PushIntent, to json: inout JSONWriter) {
        json.field("uuid", order.call)
        json.field("handle", order.from.text)
        json.field("handle_type", order.from.kind.rawValue)
        json.field("name", order.fromName)
    }
}
