import CallVocabulary
import Determinism

/// Records events for other systems. The function that changes a call also records the event, so that both are in one
/// commit.
extension CallCore {
    /// Persists the call after a step, and records the step's event.
    func persist(_ call: Call, _ change: EventRecord.CallChange) {
        guard recordsEvents else { return persist(call) }
        call.eventCount += 1
        persist(call)
        add(.call(call.record, number: call.eventCount, change))
    }

    /// Records an event about the call that does not change the call.
    func record(_ change: EventRecord.CallChange, of call: Call) {
        if recordsEvents { persist(call, change) }
    }

    func record(_ change: EventRecord.DeviceChange, of device: Device) {
        if recordsEvents, !device.isDropped { add(.device(device.record, change)) }
    }

    /// Records that the users have missed the call, which has ended. The call is stored once for all of them.
    func recordMissed(by users: [User], of call: Call) {
        guard recordsEvents, !users.isEmpty else { return }
        let before = call.eventCount
        call.eventCount += users.count
        persist(call)
        var record = call.record
        for (index, user) in users.enumerated() {
            record.eventCount = before + index + 1
            add(.call(record, number: record.eventCount, .missed(by: user.handle)))
        }
    }

    private func add(_ subject: EventRecord.Subject) {
        persist(.event(EventRecord(id: makeEventID(), at: now, subject: subject)))
    }

    /// Clears the device's streak of unreported pushes, and its suspension.
    /// - Returns: whether that changed the device's record.
    func restoreHealth(of device: Device) -> Bool {
        let wasSuspended = device.suspendedAt != nil
        guard device.clearHealth() else { return false }
        if wasSuspended { record(.resumed, of: device) }
        return true
    }
}
