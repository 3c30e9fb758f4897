import CallVocabulary

/// Which of its tokens a device is pushed to.
extension Device {
    /// Best first. What makes a phone ring by itself comes before what only shows a line of text; of what a user is
    /// told outside of a call, what the system shows even if the app does not run.
    private static func deliveries(for purpose: PushPurpose) -> [PushDelivery] {
        switch purpose {
        case .call: [.apnsVoIP, .fcmData, .apnsAlert, .fcmAlert]
        case .missedCall: [.apnsAlert, .fcmData, .fcmAlert]
        case .sync: [.apnsBackground, .fcmData]
        }
    }

    /// The token for a push with this purpose; of several that are as good, the one registered last.
    func token(for purpose: PushPurpose) -> PushToken? {
        for delivery in Self.deliveries(for: purpose) {
            let token = tokens.last { PushDelivery($0.token, for: purpose) == delivery }?.token
            if let token, mayBeSent(to: token, for: purpose) { return token }
        }
        return nil
    }

    /// Whether the token is the device's, and may be used now: one that does not report its pushes is spared those that
    /// it would owe a report for, until it opens a session or an administrator lifts that.
    func mayBeSent(to token: PushToken, for purpose: PushPurpose) -> Bool {
        guard registration(of: token) != nil, let delivery = PushDelivery(token, for: purpose) else { return false }
        return suspendedAt == nil || purpose != .call || !delivery.isReported
    }

    /// Whether a call can reach it, now or by waking it.
    func isReachable(for call: Call) -> Bool { session(for: call) != nil || token(for: .call) != nil }
}
