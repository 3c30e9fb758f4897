import CallVocabulary

/// A user who can be called.
final class User {
    let handle: Handle
    var policy: UserPolicy
    /// Whether an administrator has set the user's policy; otherwise the default applies.
    var hasOwnPolicy = false
    /// In the order in which they were first seen.
    var devices: [Device] = []
    /// Dropped devices that calls in memory still have. A device that comes back is the same object again.
    var dropped: [DeviceID: Device] = [:]
    /// The live calls this user has a part in, oldest first.
    var liveCalls: [Call] = []
    /// Bounds the calls by this user that cause a push.
    var pushBound = RateBound()
    /// Bounds the calls by this user, as the token says.
    var allowanceBound = RateBound()
    /// Newest last.
    var missed: [MissedCall] = []

    init(handle: Handle, policy: UserPolicy) {
        self.handle = handle
        self.policy = policy
    }

    /// Whether another call makes the user busy for `call`.
    func isBusy(but call: Call) -> Bool {
        !policy.callWaiting && liveCalls.contains { $0 !== call && $0.engages(self) }
    }

    func device(_ id: DeviceID) -> Device? { devices.first { $0.key.device == id } }

    /// A call that has the device leaves memory.
    func forgetDropped(_ device: Device) {
        guard device.isDropped, !device.isInMemoryOfCalls, dropped[device.key.device] === device else { return }
        dropped[device.key.device] = nil
    }
}
