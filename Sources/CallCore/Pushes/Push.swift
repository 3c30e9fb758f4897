import CallVocabulary
import Determinism

/// A push of a call: a line of the ledger, with the leg that it wakes.
final class Push: LedgerLine {
    let leg: Leg
    var reportDeadline: DeadlineQueue<Deadline>.Token?
    /// The push probes whether a suspended device reports again.
    var isProbe = false
    /// The push client could not send the push and will not retry.
    var isGivenUp = false

    init(leg: Leg, token: PushToken, intendedAt: Instant) {
        self.leg = leg
        super.init(
            PushRecord(
                id: leg.record.push, call: leg.call.id, device: leg.device.key, token: token, intendedAt: intendedAt,
                expiresAt: leg.call.ringsUntil))
    }

    init(_ record: PushRecord, leg: Leg) {
        self.leg = leg
        super.init(record)
    }

    override func noteWritten(in generation: UInt64) { leg.call.generation = generation }

    /// Whether it may go out as a probe only.
    var mustProbe: Bool { record.owesReport && leg.device.suspendedAt != nil }

    /// Whether the provider's answer or the device's report is still to come.
    var isOpen: Bool {
        record.status == .intended || record.status == .sent || record.report == .awaited
    }

    /// Whether the push was sent and may still arrive: the device has not reported it. It may start a process of the
    /// app that has no state.
    var mayStillCome: Bool {
        record.report == .awaited || record.report == .unreported || record.report == .acted
    }
}
