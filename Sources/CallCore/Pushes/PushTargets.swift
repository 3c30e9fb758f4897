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
    /// - Parameter isSpent: whether a push about the same has gone to the token already.
    func token(
        for purpose: PushPurpose, at now: Instant, unless isSpent: (PushToken) -> Bool = { _ in false }
    ) -> PushToken? {
        for delivery in Self.deliveries(for: purpose) {
            let token = tokens.last { PushDelivery($0.token, for: purpose) == delivery && !isSpent($0.token) }?.token
            if let token, mayBeSent(to: token, for: purpose, at: now) { return token }
        }
        return nil
    }

    /// Whether the token is the device's, and may be used now: a suspended device is spared pushes that it would owe a
    /// report for, but for a probe when one is due.
    func mayBeSent(to token: PushToken, for purpose: PushPurpose, at now: Instant) -> Bool {
        guard registration(of: token) != nil, let delivery = PushDelivery(token, for: purpose) else { return false }
        return suspendedAt == nil || purpose != .call || !delivery.isReported || isProbeDue(at: now)
    }
}

extension CallCore {
    /// Where a push for this leg may go now; nil when there is nowhere.
    func token(for leg: Leg) -> PushToken? {
        leg.device.token(for: .call, at: now, unless: { leg.call.isSpent($0, butBy: leg) })
    }

    /// A push may still be sent: none was made yet, or it was withdrawn because the device was awake.
    func hasUnusedPush(_ leg: Leg) -> Bool {
        guard token(for: leg) != nil else { return false }
        guard let push = leg.push else { return pushBound(of: leg.device, in: leg.call) == nil }
        return leg.isAwake && push.record.status == .cancelled && !push.isGivenUp
    }

    /// Whether anything can still tell the device of the call: a session, with a socket or to be resumed; a push on its
    /// way; or one that may still be sent. Every decision to give a device up asks this.
    func isReachable(_ leg: Leg) -> Bool {
        if leg.device.session(for: leg.call) != nil || hasUnusedPush(leg) { return true }
        switch leg.push?.record.status {
        case .intended, .sent, .accepted, .unknown: return true
        case nil, .rejected, .cancelled, .expired: return false
        }
    }

    /// Whether a call that has no part for it yet can reach the device, now or by waking it.
    func isReachable(_ device: Device, for call: Call) -> Bool {
        if device.session(for: call) != nil { return true }
        guard device.token(for: .call, at: now, unless: { call.isSpent($0, butBy: nil) }) != nil else { return false }
        guard let bound = pushBound(of: device, in: call) else { return true }
        counters.hit(bound.limit)
        return false
    }
}

extension PushToken {
    /// What a provider delivers to. The kind, the topic and the environment are what the app says of the token, and make no
    /// other phone of it.
    struct Address: Hashable {
        let provider: PushProvider
        /// As the provider compares it.
        let token: String
    }

    var address: Address { Address(provider: provider, token: token) }
}
