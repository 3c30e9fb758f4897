import CallVocabulary
import PushVocabulary
import WireJSON

/// The JSON body of an APNs push: one object.
public struct APNSPayload: Equatable, Sendable {
    /// Apple's limit for VoIP pushes, in bytes.
    public static let longestVoIP = 5120
    /// Apple's limit for all other pushes, in bytes.
    public static let longest = 4096

    private let content: PayloadContent
    /// The fields left out to fit the limit; the device finds them in the call's snapshot.
    public let omitted: [PushOmission]

    /// - Parameter wakeToken: opens a session limited to this call and device.
    /// - Returns: nil when the required fields alone exceed the limit.
    public init?(voip intent: PushIntent, wakeToken: String, profile: PayloadProfile = .reveille) {
        self.init(.voip, intent, wakeToken, AlertTexts(), profile)
    }

    /// An alert shown to the user: a ringing or a missed call.
    init?(alert intent: PushIntent, wakeToken: String, texts: AlertTexts, profile: PayloadProfile) {
        self.init(intent.purpose == .call ? .alert : .missedCall, intent, wakeToken, texts, profile)
    }

    /// A background push: the app handles it when iOS lets it run, the user sees nothing.
    init?(background intent: PushIntent, profile: PayloadProfile) {
        self.init(.background, intent, "", AlertTexts(), profile)
    }

    private init?(
        _ part: PayloadProfile.Part, _ intent: PushIntent, _ wakeToken: String, _ texts: AlertTexts,
        _ profile: PayloadProfile
    ) {
        let content = PayloadContent(
            profile: profile, part: part, intent: intent, wakeToken: wakeToken, texts: texts)
        guard let fitted = PushOmission.fit(content, into: part.limit, size: { $0.largest.count }) else { return nil }
        (self.content, omitted) = fitted
    }

    /// JSON, at most ``longestVoIP`` or ``longest`` bytes.
    /// - Parameter now: when the push is sent.
    public func bytes(now: Instant) -> [UInt8] {
        JSONWriter.bytes { json in json.object { content.write(now: now, to: &$0) } }
    }
}
