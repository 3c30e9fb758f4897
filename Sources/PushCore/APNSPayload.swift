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
    public init?(voip intent: PushIntent, wakeToken: String) {
        self.init(intent, limit: Self.longestVoIP) { intent, json in
            json.field("aps") { $0.object { _ in } }
            Self.writeCall(intent, wakeToken: wakeToken, to: &json)
        }
    }

    /// An alert shown to the user: a ringing or a missed call.
    public init?(alert intent: PushIntent, wakeToken: String, texts: AlertTexts) {
        self.init(intent, limit: Self.longest) { Self.writeAlert($0, wakeToken: wakeToken, texts: texts, to: &$1) }
    }

    /// A background push: the app handles it when iOS lets it run, the user sees nothing.
    public init?(background intent: PushIntent) {
        self.init(intent, limit: Self.longest) { intent, json in
            json.field("aps") { $0.object { $0.field("content-available", 1) } }
            json.field("type", intent.purpose.rawValue)
            json.field("missed", intent.missedCount)
        }
    }

    private init?(_ intent: PushIntent, limit: Int, write: (PushIntent, inout JSONWriter) -> Void) {
        let fitted = PushOmission.fit(intent, into: limit) { intent in
            JSONWriter.bytes { json in json.object { write(intent, &$0) } }
        }
        guard let fitted else { return nil }
        bytes = fitted.bytes
        omitted = fitted.omitted
    }

    /// Writes the members of an alert's body; FCM passes the same members on to iOS.
    static func writeAlert(
        _ intent: PushIntent, wakeToken: String, texts: AlertTexts, to json: inout JSONWriter
    ) {
        let alert = PushAlert(intent, texts: texts)
        json.field("aps") { json in
            json.object { json in
                json.field("alert") { json in
                    json.object { json in
                        json.field("title", alert.title)
                        json.field("body", alert.body)
                    }
                }
                json.field("sound") { $0.string("default") }
                if intent.purpose != .call { json.field("badge", intent.missedCount) }
                json.field("mutable-content", 1)
                if intent.purpose == .call { json.field("interruption-level") { $0.string("time-sensitive") } }
            }
        }
        if intent.purpose == .call {
            writeCall(intent, wakeToken: wakeToken, to: &json)
        } else {
            writeNotice(intent, to: &json)
        }
    }

    private static func writeCall(_ intent: PushIntent, wakeToken: String, to json: inout JSONWriter) {
        writeCaller(intent, to: &json)
        json.field("has_video", intent.video)
        json.field("push_id", intent.id)
        json.field("expires_at", intent.expiresAt)
        json.field("wake_token", wakeToken)
        json.field("custom", intent.custom)
    }

    private static func writeNotice(_ intent: PushIntent, to json: inout JSONWriter) {
        json.field("type", intent.purpose.rawValue)
        writeCaller(intent, to: &json)
        json.field("missed", intent.missedCount)
    }

    private static func writeCaller(_ intent: PushIntent, to json: inout JSONWriter) {
        json.field("uuid", intent.call)
        json.field("handle", intent.from.text)
        json.field("handle_type", intent.from.kind.rawValue)
        json.field("name", intent.fromName)
    }
}
