import CallVocabulary
import Determinism

/// Devices that the provider throttles, with a backoff each. Bounded; entries expire.
struct DeviceThrottle: Sendable {
    private struct Device: Sendable {
        let user: Handle?
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
    /// The number of these devices of each user.
    private var users: [Handle: Int] = [:]
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

    /// Whether a device of the same user is remembered; the same device, where no user is known.
    func knows(_ terms: PushTerms) -> Bool {
        if let user = terms.user { return users[user] != nil }
        return terms.token.map { devices[$0] != nil } ?? false
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
        _ token: PushToken, of user: Handle?, retryAfter: Duration?, now: Instant,
        random: inout some RandomNumberGenerator
    ) {
        forget(now: now)
        if let device = devices[token] {
            // Pushes sent together are refused together: that is one failure, not many.
            guard device.until <= now else { return }
            forgetting.cancel(device.forgetting)
        } else if devices.count >= most, let first = forgetting.popDue(now: Instant(milliseconds: .max)) {
            remove(first)
        }
        let known = remove(token)
        var backoff = known?.backoff ?? Backoff(limits)
        let wait = backoff.failed(random: &random)
        let until = now + (retryAfter ?? wait)
        devices[token] = Device(
            user: user, backoff: backoff, until: until, forgetting: forgetting.add(token, at: until + memory),
            held: known?.held ?? 0)
        if let user { users[user, default: 0] += 1 }
    }

    @discardableResult
    private mutating func remove(_ token: PushToken) -> Device? {
        guard let device = devices.removeValue(forKey: token) else { return nil }
        if let user = device.user, let count = users[user] { users[user] = count > 1 ? count - 1 : nil }
        return device
    }

    /// Forgets a device when the provider has accepted a push to it.
    mutating func accepted(_ token: PushToken) {
        guard let device = remove(token) else { return }
        forgetting.cancel(device.forgetting)
    }

    /// Removes the entries that have expired.
    mutating func forget(now: Instant) {
        while let token = forgetting.popDue(now: now) { remove(token) }
    }
}
