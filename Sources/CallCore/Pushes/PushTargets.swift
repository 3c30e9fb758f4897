import CallVocabulary

/// Selects the token to which a device is pushed.
extension Device {
    /// The deliveries for a purpose, best first. For calls, a push that makes the phone ring precedes one that only
    /// shows text. For missed calls, a push that the system shows without the app comes first.
    private static func deliveries(for purpose: PushPurpose) -> [PushDelivery] {
        switch purpose {
        case .call: [.apnsVoIP, .fcmData, .webPush, .apnsAlert, .fcmAlert]
        case .missedCall: [.apnsAlert, .webPush, .fcmData, .fcmAlert]
        case .sync: [.apnsBackground, .fcmData]
        }
    }

    /// The token for a push with this purpose; the one registered last of several equally good ones.
    /// - Parameter isSpent: whether the token was already pushed for the same call.
    func token(
        for purpose: PushPurpose, at now: Instant, unless isSpent: (PushToken) -> Bool = { _ in false }
    ) -> PushToken? {
        for delivery in Self.deliveries(for: purpose) {
            let token = tokens.last { PushDelivery($0.token, for: purpose) == delivery && !isSpent($0.token) }?.token
            if let token, mayBeSent(to: token, for: purpose, at: now) { return token }
        }
        return nil
    }

    /// Whether the token is the device's and may be used now. A suspended device gets no push that it would have to
    /// report, except a probe that is due.
    func mayBeSent(to token: PushToken, for purpose: PushPurpose, at now: Instant) -> Bool {
        guard registration(of: token) != nil, let delivery = PushDelivery(token, for: purpose) else { return false }
        return suspendedAt == nil || purpose != .call || !delivery.countsUnreported || isProbeDue(at: now)
    }
}

extension CallCore {
    /// The token to which a push for this leg may go now; nil when there is none.
    func token(for leg: Leg) -> PushToken? {
        leg.device.token(for: .call, at: now, unless: { leg.call.isSpent($0, butBy: leg) })
    }

    /// Whether a push may still be sent: none was made yet, or it was withdrawn because the device was awake.
    func hasUnusedPush(_ leg: Leg) -> Bool {
        guard token(for: leg) != nil else { return false }
        guard let push = leg.push else { return pushBound(of: leg.device, in: leg.call) == nil }
        return leg.isAwake && push.record.status == .cancelled && !push.isGivenUp
    }

    /// Whether the device can still be notified of the call: by a session, connected or resumable, by a push on its
    /// way, or by one that may still be sent. Every decision to give a device up asks this.
    func isReachable(_ leg: Leg) -> Bool {
        if leg.device.session(for: leg.call) != nil || expectsReturn(of: leg.device) || hasUnusedPush(leg) {
            return true
        }
        switch leg.push?.record.status {
        case .intended, .sent, .accepted, .unknown: return true
        case nil, .rejected, .cancelled, .expired: return false
        }
    }

    /// Whether the device may have had a socket when the process before ended, and has not come back yet.
    func expectsReturn(of device: Device) -> Bool {
        now < beganAt + timers.comeback && device.seenAt < beganAt && !device.isDropped && !device.isBackend
    }

    /// Whether a call without a leg for the device can reach it, by a session or a push.
    func isReachable(_ device: Device, for call: Call) -> Bool {
        if device.session(for: call) != nil || expectsReturn(of: device) { return true }
        guard device.token(for: .call, at: now, unless: { call.isSpent($0, butBy: nil) }) != nil else { return false }
        guard let bound = pushBound(of: device, in: call) else { return true }
        counters.hit(bound.limit)
        return false
    }
}

extension PushToken {
    /// The token as the provider addresses it. Kind, topic and environment are the app's description of the token, and
    /// do not make it another phone.
    public struct Address: Hashable, Sendable {
        public let provider: PushProvider
        /// In the form in which the provider compares tokens.
        public let token: String

        public init(provider: PushProvider, token: String) {
            self.provider = provider
            self.token = token
        }
    }

    public var address: Address { Address(provider: provider, token: token) }

    /// Whether both differ in the payload profile at most, which the provider does not see.
    func isSameRegistration(as other: PushToken) -> Bool {
        token == other.token && kind == other.kind && topic == other.topic && provider == other.provider
            && environment == other.environment
    }
}
