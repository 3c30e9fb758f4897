/// The purpose of a push.
public enum PushPurpose: String, Sendable, CaseIterable {
    /// A call rings.
    case call
    /// An alert about a missed call.
    case missedCall = "missed_call"
    /// The app updates its history and badge when iOS lets it run; the user sees nothing.
    case sync
}

/// How the provider delivers a push: determined by its token and purpose.
public enum PushDelivery: String, Sendable, CaseIterable {
    case apnsVoIP = "apns_voip"
    case apnsAlert = "apns_alert"
    /// iOS delays, coalesces and throttles these to two or three an hour.
    case apnsBackground = "apns_background"
    /// A data message; of high priority for calls only.
    case fcmData = "fcm_data"
    /// A notification message, which the system shows.
    case fcmAlert = "fcm_alert"
    /// An encrypted message to a service worker, which must show a notification for each.
    case webPush = "webpush"

    /// - Returns: nil when the token does not suit the purpose: VoIP pushes are for calls only, alerts only for what
    ///   the user sees.
    public init?(_ token: PushToken, for purpose: PushPurpose) {
        switch (token.provider, token.kind, purpose) {
        case (.apns, .voip, .call): self = .apnsVoIP
        case (.apns, .alert, .call), (.apns, .alert, .missedCall): self = .apnsAlert
        case (.apns, .alert, .sync): self = .apnsBackground
        case (.fcm, .data, _): self = .fcmData
        case (.fcm, .alert, .call), (.fcm, .alert, .missedCall): self = .fcmAlert
        // `userVisibleOnly`: a push that shows nothing is against the browser's rules.
        case (.webpush, .data, .call), (.webpush, .data, .missedCall): self = .webPush
        case (.apns, .voip, _), (.fcm, .alert, .sync), (.apns, .data, _), (.fcm, .voip, _), (.webpush, .data, .sync),
            (.webpush, .voip, _), (.webpush, .alert, _):
            return nil
        }
    }

    /// Whether the device must report a call pushed this way. The system itself shows an alert.
    public var isReported: Bool {
        switch self {
        case .apnsVoIP, .fcmData, .webPush: true
        case .apnsAlert, .apnsBackground, .fcmAlert: false
        }
    }

    /// Whether unreported pushes of this kind suspend a device. A browser reports none while it is closed, which no push
    /// service punishes.
    public var countsUnreported: Bool { isReported && self != .webPush }
}
