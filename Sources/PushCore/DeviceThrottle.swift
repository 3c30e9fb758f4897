import CallVocabulary
import Determinism

/// The devices that got too many pushes, each with how long it is to be left alone. Bounded, and forgetful.
struct DeviceThrottle: Sendable {
    private struct Device: Sendable {
        var backoff: Backoff
        /// Until when nothing is sent to it.
        var until: Instant
        var forgetting: DeadlineQueue<PushToken>.Token
        /// Pushes held for it now.
        var held = 0
    }

    private let limits: Backoff.Limits
    private let most: Int
    private let memory: Duration
    private var devices: [PushToken: Device] = [:]
    private var forgetting = DeadlineQueue<PushToken>()

    init(policy: PushPolicy) {
        limits = policy.deviceBackoff
        most = policy.throttledDevices
        memory = policy.throttleMemory
    }

    var isEmpty: Bool { devices.isEmpty }
    var count: Int { devices.count }

    /// Until when the device is to be left alone; nil when it is not.
    func heldUntil(_ token: PushToken, now: Instant) -> Instant? {
        guard let until = devices[token]?.until, until > now else { return nil }
        return until
    }

    /// Pushes held for the device now.
    func held(for token: PushToken) -> Int { devices[token]?.held ?? 0 }

    mutating func hold(_ token: PushToken) { devices[token]?.held += 1 }

    /// A push held for the device is held no more; of no account when the device was forgotten meanwhile.
    mutating func release(_ token: PushToken) {
        guard let held = devices[token]?.held, held > 0 else { return }
        devices[token]?.held = held - 1
    }

    /// The provider says that the device got too many.
    mutating func refused(
        _ token: PushToken, retryAfter: Duration?, now: Instant, random: inout some RandomNumberGenerator
    ) {
        forget(now: now)
        if let device = devices[token] {
            // What was on the wire together is refused together: that is one setback, not many.
            guard device.until <= now else { return }
            forgetting.cancel(device.forgetting)
        } else if devices.count >= most, let first = forgetting.popDue(now: Instant(milliseconds: .max)) {
            devices[first] = nil
        }
        var backoff = devices[token]?.backoff ?? Backoff(limits)
        let wait = backoff.failed(random: &random)
        let until = now + (retryAfter ?? wait)
        let held = devices[token]?.held ?? 0
        devices[token] = Device(
            backoff: backoff, until: until, forgetting: forgetting.add(token, at: until + memory), held: held)
    }

    /// The provider has taken a push to it.
    mutating func accepted(_ token: PushToken) {
        guard let device = devices.removeValue(forKey: token) else { return }
        forgetting.cancel(device.forgetting)
    }

    /// Forgets those that have been left alone for long enough.
    mutating func forget(now: Instant) {
        while let token = forgetting.popDue(now: now) { devices[token] = nil }
    }
}
