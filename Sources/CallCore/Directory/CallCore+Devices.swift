import CallVocabulary
import Determinism

/// Why a device was dropped, with its tokens.
public enum DeviceDropCause: String, Sendable, CaseIterable {
    /// An administrator deleted it.
    case deleted
    /// It was not seen for ``CallTimers/deviceAge``.
    case unseen
    /// A newer device of its user took its place.
    case replaced
}

/// Dropping devices: by an administrator, by age, and for a newer device of the same user.
extension CallCore {
    /// Drops the device with its session, its tokens and its parts in live calls, as a logout does. No push is sent to
    /// it any more. Lines of the ledger that are open go on to their final status.
    func drop(_ device: Device, _ cause: DeviceDropCause) {
        let user = device.user
        counters.dropped(cause)
        user.devices.remove(device)
        device.isDropped = true
        if device.isInMemoryOfCalls { user.dropped[device.key.device] = device }
        cancel(device.absence)
        device.absence = nil
        cancel(device.ageDeadline)
        device.ageDeadline = nil
        device.heldMedia = []
        persist(.deviceDropped(device.key), about: user)
        forgetTokens(of: device)
        leave(device, .loggedOut)
        withdrawNotices(toDropped: device)
    }

    /// Stores the device's present state. A dropped device has no row.
    func persist(_ device: Device) {
        if !device.isDropped { persist(.device(device.record), about: device.user) }
    }

    // MARK: Room for a new device

    /// Drops a device when the user has ``CoreLimits/devicesPerUser``: the one not seen for longest, of those that
    /// neither are online nor have a part in a live call.
    /// - Returns: false when there is none.
    func makeRoom(_ user: User) -> Bool {
        guard user.devices.count >= limits.devicesPerUser else { return true }
        let idle = user.devices.filter { $0.session?.connection == nil && !isInLiveCall($0) }
        guard let stalest = idle.min(by: { $0.seenAt < $1.seenAt }) else { return false }
        drop(stalest, .replaced)
        return true
    }

    private func isInLiveCall(_ device: Device) -> Bool {
        device.user.liveCalls.contains { $0.isParty(device) || $0.leg(of: device)?.isOpen == true }
    }

    // MARK: Age

    /// A rarer update of ``DeviceRecord/seenAt`` costs no write for each request.
    private static let seenPrecision = Duration.seconds(86_400)
    /// The pause before a device whose age is over is dropped, and between two of them when the age is lowered: the store
    /// deletes many of them over time.
    private static let overduePause = Duration.milliseconds(10)

    /// The device's app was heard of.
    func noteSeen(_ device: Device) {
        let isStale = device.seenAt + Self.seenPrecision <= now
        device.seenAt = now
        if isStale { persist(device) }
    }

    /// Sets the deadline of a device's age. A device that is online is noted twice in its age, so that its row is never
    /// as old as that.
    /// - Parameter isSpread: whether devices whose age is over are dropped one after the other.
    func awaitAge(of device: Device, isSpread: Bool = false) {
        cancel(device.ageDeadline)
        device.ageDeadline = nil
        guard let age = timers.deviceAge else { return }
        var due = min(device.seenAt + age, now + age / 2)
        if due <= now {
            due = (isSpread ? max(now, lastOverdue ?? now) : now) + Self.overduePause
            if isSpread { lastOverdue = due }
        }
        schedule(.age(device), at: due, in: &device.ageDeadline)
    }

    func ageDue(_ device: Device) {
        // Of a user that has come into memory it is asked before its time. A second deadline would outlive the device.
        cancel(device.ageDeadline)
        device.ageDeadline = nil
        guard let age = timers.deviceAge else { return }
        if device.session?.connection != nil { noteSeen(device) }
        guard device.seenAt + age <= now else { return awaitAge(of: device) }
        // Its calls end first, by their own rules.
        if isInLiveCall(device) {
            schedule(.age(device), at: now + timers.longestRing, in: &device.ageDeadline)
        } else {
            drop(device, .unseen)
        }
    }

    /// Sets all deadlines anew, for another age. Iterates over all devices in memory.
    func awaitAges() {
        for device in directory.devices { awaitAge(of: device, isSpread: true) }
    }
}
