import CallVocabulary
import Determinism

/// One push of a call: a line of the ledger, with the leg it is to wake.
final class Push: LedgerLine {
    let leg: Leg
    var reportDeadline: DeadlineQueue<Deadline>.Token?
    /// It goes to a suspended device, to find out whether that reports again.
    var isProbe = false
    /// The push client could not send it, and will not.
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

    /// Something may still become of it.
    var isOpen: Bool {
        record.status == .intended || record.status == .sent || record.report == .awaited
    }

    /// It was sent, and the device has not said that it came: it may come yet, and start an app that knows nothing.
    var mayStillCome: Bool {
        record.report == .awaited || record.report == .unreported || record.report == .acted
    }
}
