import CallVocabulary
import Determinism

/// One device's part in a call. `record` is its persistent state; the state only moves forward.
final class Leg {
    unowned let call: Call
    let device: Device
    private(set) var record: LegRecord
    /// The leg's push, if one was made.
    var push: Push?
    /// The session that was told of the call, and the sequence number of the event. After the end: the session that was
    /// told of the end; the number is 0 when the reply to `session.open` contained it.
    var told: (session: SessionID, seq: UInt64)?
    /// How much of the caller's candidates the session in ``told`` was sent while the call rang.
    var toldCandidates = CandidateBuffer.Mark()
    /// By when the told device must show a sign of life.
    var deliveryDeadline: DeadlineQueue<Deadline>.Token?
    /// The position of its last record in ``EffectBuffer``.
    var recordPlace: Int?
    /// Candidates that the callee's side sent before it answered.
    var candidates = CandidateBuffer()

    init(call: Call, device: Device, push: PushID, createdAt: Instant) {
        self.call = call
        self.device = device
        record = LegRecord(call: call.id, device: device.key, push: push, state: .idle, createdAt: createdAt)
    }

    init(_ record: LegRecord, call: Call, device: Device) {
        self.call = call
        self.device = device
        self.record = record
    }

    var state: LegRecord.State { record.state }

    /// The leg can still answer the call.
    var isOpen: Bool {
        switch record.state {
        case .idle, .offered, .waking, .ringing: true
        case .answered, .ended: false
        }
    }

    /// The device has shown a sign of life, so it need not be pushed.
    var isAwake: Bool {
        switch record.state {
        case .ringing, .answered: true
        case .idle, .offered, .waking, .ended: false
        }
    }

    /// The device is awake, and has a socket over which it hears of the end.
    var isAttended: Bool { isAwake && device.session(for: call)?.connection != nil }

    /// The device was told over a connected socket, with its app in the foreground, and has acknowledged it or still
    /// has time to.
    var isBeingTold: Bool {
        guard let told, let session = device.session, session.id == told.session, session.isListening else {
            return false
        }
        return deliveryDeadline != nil || told.seq <= session.acknowledged
    }

    func offer(at now: Instant) {
        precondition(isOpen, "only an open leg is told of its call")
        if record.state == .idle || record.state == .waking { record.state = .offered }
        record.offeredAt = record.offeredAt ?? now
        if let push, push.record.sentAt != nil { record.wokenAt = record.wokenAt ?? now }
    }

    func wake() {
        precondition(record.state == .idle || record.state == .offered, "a leg is woken once")
        record.state = .waking
    }

    func ring(at now: Instant) {
        precondition(isOpen && record.state != .ringing, "a leg starts to ring once")
        record.state = .ringing
        record.ringingAt = now
    }

    func answer(at now: Instant) {
        precondition(isOpen, "only an open leg answers")
        record.state = .answered
        record.answeredAt = now
    }

    func end(_ reason: EndReason, at now: Instant) {
        precondition(record.state != .ended, "a leg ends once")
        record.state = .ended
        record.endedAt = now
        record.endReason = reason
    }

    /// Reopens a leg whose device was unreachable, and so was told nothing, and is reachable now.
    func reopen() {
        precondition(record.endReason == .noDevices, "only a leg nobody was told of opens again")
        record.state = .idle
        record.endedAt = nil
        record.endReason = nil
        told = nil
    }
}
