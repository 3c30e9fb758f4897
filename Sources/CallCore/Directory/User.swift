import CallVocabulary

/// Somebody who can be called.
final class User {
    let handle: Handle
    var policy: UserPolicy
    /// Whether an administrator has set it; else it is what holds for all.
    var hasOwnPolicy = false
    /// In the order they were first seen.
    var devices: [Device] = []
    /// The live calls this user has a part in, oldest first.
    var liveCalls: [Call] = []
    /// Of calls by this user that push.
    var pushBound = RateBound()
    /// Newest last.
    var missed: [MissedCall] = []

    init(handle: Handle, policy: UserPolicy) {
        self.handle = handle
        self.policy = policy
    }

    /// Whether another call finds the user busy.
    func isBusy(but call: Call) -> Bool {
        !policy.callWaiting && liveCalls.contains { $0 !== call && $0.engages(self) }
    }

    func device(_ id: DeviceID) -> Device? { devices.first { $0.key.device == id } }
}
