import CallVocabulary
import Determinism

/// Devices that the provider throttles, with a backoff each. Bounded; entries expire.
struct DeviceThrottle: Sendable {
    private struct Device: Sendable {
        var backoff: Backoff
        /// No push is sent to the device until then.
        var until: Instant
        var forgetting: DeadlineQueue<PushToken>.Token
        /// Pushes now held for it.
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

    /// The end of the device's backoff; nil when it is not throttled.
    func heldUntil(_ token: PushToken, now: Instant) -> Instant? {
        guard let until = devices[token]?.until, until > now else { return nil }
        return until
    }

    /// Pushes now held for the device.
    func held(for token: PushToken) -> Int { devices[token]?.held ?? 0 }

    mutating func hold(_ token: PushToken) { devices[token]?.held += 1 }

    /// Counts a held push as released; no effect when the device's entry has expired.
    mutating func release(_ token: PushToken) {
        guard let held = devices[token]?.held, held > 0 else { return }
        devices[token]?.held = held - 1
    }

    /// Records that the provider refused a push as too many for the device.
    mutating func refused(
        _ token: PushToken, retryAfter: Duration?, now: Instant, random: inout some RandomNumberGenerator
    ) {
        forget(now: now)
        if let device = devices[token] {
            // Pushes sent together are refused together: that is one failure, not many.
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

    /// Forgets a device when the provider has accepted a push to it.
    mutating func accepted(_ token: PushToken) {
        guard let device = devices.removeValue(forKey: token) else { return }
        forgetting.cancel(device.forgetting)
    }

    /// Removes the entries that have expired.
    mutating func forget(now: Instant) {
        while let token = forgetting.popDue(now: now) { devices[token] = nil }
    }
}
