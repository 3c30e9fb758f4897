import CallVocabulary

/// One push to send: all data for its payload and headers, except the wake token.
public struct PushIntent: Equatable, Sendable {
    /// Also the `apns-id`.
    public var id: PushID
    public var purpose: PushPurpose
    public var call: CallID
    public var user: Handle
    public var device: DeviceID
    public var token: PushToken
    public var from: Handle
    /// Never blank: a screen that shows it, and nothing else, shows a caller.
    public var fromName: String?
    /// The called target; nil for a notice.
    public var to: CallTarget?
    public var video: Bool
    public var custom: RawJSON?
    /// When the push expires: for a call, the ring deadline.
    public var expiresAt: Instant
    /// The number of missed calls the user has not seen, for the app's badge; 0 for a push of a call.
    public var missedCount: Int
    /// When the device registered the token: a provider's report of an earlier invalidation is outdated.
    public var tokenRegisteredAt: Instant?
    /// When the core decided to push. nil for a push that was deliberately delayed, such as a notice, or belongs to no
    /// call.
    public var decidedAt: Instant?

    public init(
        id: PushID, purpose: PushPurpose = .call, call: CallID, user: Handle, device: DeviceID, token: PushToken,
        from: Handle, fromName: String?, to: CallTarget? = nil, video: Bool, custom: RawJSON?, expiresAt: Instant,
        missedCount: Int = 0, tokenRegisteredAt: Instant? = nil,
        decidedAt: Instant? = nil
    ) {
        self.id = id
        self.purpose = purpose
        self.call = call
        self.user = user
        self.device = device
        self.token = token
        self.from = from
        // A name of the store may predate the rule.
        self.fromName = fromName.flatMap { DisplayName($0) == nil ? nil : $0 }
        self.to = to
        self.video = video
        self.custom = custom
        self.expiresAt = expiresAt
        self.missedCount = missedCount
        self.tokenRegisteredAt = tokenRegisteredAt
        self.decidedAt = decidedAt
    }
}

extension PushIntent {
    /// The group or the alias that was called; nil for a call to the user's own handle, and to a list.
    public var calledName: String? {
        switch to {
        case .group(let name): name
        case .user(let handle): handle == user ? nil : handle.text
        case .users, nil: nil
        }
    }

    /// nil when the token does not suit the purpose.
    public var delivery: PushDelivery? { PushDelivery(token, for: purpose) }
}

/// The outcome of a push at its provider.
public enum PushOutcome: Equatable, Sendable {
    case accepted
    /// The provider refused it with `reason` (`BadDeviceToken`). A dead token must not be used again.
    case rejected(reason: String, isTokenDead: Bool)
    /// It may have been accepted (no answer, connection lost): never sent again.
    case unknown(reason: String)
    /// Certainly not processed (a refused stream): queued again.
    case returned
    /// Not sent: no credential or provider for it, or too late.
    case unsent(reason: String)
}
