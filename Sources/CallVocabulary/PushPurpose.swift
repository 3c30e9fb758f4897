/// What a push is for.
public enum PushPurpose: String, Sendable, CaseIterable {
    /// A call rings.
    case call
    /// A call was missed: the user is told.
    case missedCall = "missed_call"
    /// The app is to bring its history and its badge up to date, in its own time; the user is told nothing.
    case sync
}

/// What a push is at its provider: it follows from its token and its purpose.
public enum PushDelivery: String, Sendable, CaseIterable {
    case apnsVoIP = "apns_voip"
    case apnsAlert = "apns_alert"
    /// Held, merged and throttled by iOS: two or three an hour.
    case apnsBackground = "apns_background"
    /// A data message, of high priority for a call and for nothing else.
    case fcmData = "fcm_data"
    /// A message with a notification that the system shows.
    case fcmAlert = "fcm_alert"

    /// - Returns: nil for what a token cannot carry: VoIP pushes are for calls, alerts not for what the user is not told.
    public init?(_ token: PushToken, for purpose: PushPurpose) {
        switch (token.provider, token.kind, purpose) {
        case (.apns, .voip, .call): self = .apnsVoIP
        case (.apns, .alert, .call), (.apns, .alert, .missedCall): self = .apnsAlert
        case (.apns, .alert, .sync): self = .apnsBackground
        case (.fcm, .data, _): self = .fcmData
        case (.fcm, .alert, .call), (.fcm, .alert, .missedCall): self = .fcmAlert
        case (.apns, .voip, _), (.fcm, .alert, .sync), (.apns, .data, _), (.fcm, .voip, _): return nil
        }
    }

    /// Whether the device owes a report for a call pushed to it in this way: an alert is shown by the system itself.
    public var isReported: Bool {
        switch self {
        case .apnsVoIP, .fcmData: true
        case .apnsAlert, .apnsBackground, .fcmAlert: false
        }
    }
}
