import CallVocabulary

/// The content of a VoIP push, as the app's push handler reads it.
public struct CallPush: Equatable, Sendable {
    public var call: CallID
    public var push: PushID
    public var from: Handle
    public var fromName: String?
    /// The group or the alias that was called; nil for a call to the user's own handle.
    public var to: String?
    public var video: Bool
    public var expiresAt: Instant
    /// Opens a session for this call alone, when the app has no user token.
    @Secret public var wakeToken: String?
    public var custom: RawJSON?

    public init(
        call: CallID, push: PushID, from: Handle, fromName: String? = nil, to: String? = nil, video: Bool,
        expiresAt: Instant, wakeToken: String? = nil, custom: RawJSON? = nil
    ) {
        self.call = call
        self.push = push
        self.from = from
        self.fromName = fromName
        self.to = to
        self.video = video
        self.expiresAt = expiresAt
        self.wakeToken = wakeToken
        self.custom = custom
    }

    /// Reads a payload whose values are strings, as in FCM `data`; other keys are ignored.
    ///
    /// `nil` where `uuid`, `push_id`, `handle` or `expires_at` is missing or unreadable, or ends after the year 9999.
    public init?(fields: [String: String]) {
        guard let call = fields["uuid"].flatMap({ CallID($0) }), let push = fields["push_id"].flatMap({ PushID($0) }),
            let from = fields["handle"].flatMap({ Handle($0) }),
            let expires = fields["expires_at"].flatMap({ Int64(digits: $0, in: 0...Instant.latest.milliseconds) })
        else { return nil }
        self.init(
            call: call, push: push, from: from, fromName: fields["name"], to: fields["to"],
            video: fields["has_video"] == "true" || fields["has_video"] == "1",
            expiresAt: Instant(milliseconds: expires), wakeToken: fields["wake_token"],
            custom: fields["custom"].map { RawJSON(bytes: Array($0.utf8)) })
    }
}
