import CallVocabulary

/// One push to be sent: all that the payload and the headers are made of, but for the wake token.
public struct PushIntent: Equatable, Sendable {
    /// Also the `apns-id`.
    public var id: PushID
    public var purpose: PushPurpose
    public var call: CallID
    public var user: Handle
    public var device: DeviceID
    public var token: PushToken
    public var from: Handle
    public var fromName: String?
    public var video: Bool
    public var custom: RawJSON?
    /// The ring deadline, for a call: a push must not be delivered after it.
    public var expiresAt: Instant
    /// How many calls the user has missed and not seen; the app's badge. 0 where the purpose is a call.
    public var missedCount: Int
    /// When the device registered the token: a provider's word that it died before that is out of date.
    public var tokenRegisteredAt: Instant?
    /// When the core decided on it; nil for what may have waited on purpose since, as notices do, or
    /// belongs to no call.
    public var decidedAt: Instant?

    public init(
        id: PushID, purpose: PushPurpose = .call, call: CallID, user: Handle, device: DeviceID, token: PushToken,
        from: Handle, fromName: String?,
        video: Bool, custom: RawJSON?, expiresAt: Instant, missedCount: Int = 0, tokenRegisteredAt: Instant? = nil,
        decidedAt: Instant? = nil
    ) {
        self.id = id
        self.purpose = purpose
        self.call = call
        self.user = user
        self.device = device
        self.token = token
        self.from = from
        self.fromName = fromName
        self.video = video
        self.custom = custom
        self.expiresAt = expiresAt
        self.missedCount = missedCount
        self.tokenRegisteredAt = tokenRegisteredAt
        self.decidedAt = decidedAt
    }
}

extension PushIntent {
    /// nil when the token cannot carry a push for this purpose.
    public var delivery: PushDelivery? { PushDelivery(token, for: purpose) }
}

/// What became of a push on its way to the provider.
public enum PushOutcome: Equatable, Sendable {
    case accepted
    /// The provider refused it with `reason` (`BadDeviceToken`). A dead token is not to be used again.
    case rejected(reason: String, isTokenDead: Bool)
    /// It may have been taken (no answer, connection lost): never sent again.
    case unknown(reason: String)
    /// Certainly not processed (a refused stream): it goes back to the queue.
    case returned
    /// Not sent: there is nobody to send it through, or it would be too late.
    case unsent(reason: String)
}
