import CallCore
import CallVocabulary

/// The live calls with their legs and pushes, and recently ended calls, as built from records.
///
/// A record without a change is ignored: a repeated one, an older one, or one of an ended call.
struct CallPicture {
    private(set) var calls: [CallID: LiveCall] = [:]
    private(set) var order = SortedKeys<CallOrder>()
    private(set) var changes = ChangeLog()
    private(set) var endings: Endings
    /// Open pushes without a call here: the call ended long ago, or its records were lost.
    private(set) var strays: [PushID: OpenPush] = [:]

    init(endings: Int) { self.endings = Endings(capacity: endings) }

    /// - Returns: nil when the record contains no change.
    mutating func take(_ record: CallRecord) -> CallChange? {
        guard let call = calls[record.id] else {
            guard record.state.isLive, endings[record.id] == nil else { return nil }
            add(LiveCall(record))
            return CallChange(record)
        }
        let was = call.record.state
        guard record.state.rank >= was.rank, record.state != was || record != call.record else { return nil }
        let change = CallChange(record, after: call.record)
        call.record = record
        if record.state.isLive { changes.add(call, live: calls.count) } else { end(call) }
        return change
    }

    mutating func take(_ record: LegRecord) -> LegChange? {
        guard let call = calls[record.call] ?? endings[record.call], let change = call.take(record) else { return nil }
        noteChange(of: call)
        return change
    }

    mutating func take(_ record: PushRecord) -> PushChange? {
        if record.purpose == .call, let call = calls[record.call] ?? endings[record.call] {
            guard let change = call.take(record) else { return nil }
            noteChange(of: call)
            return change
        }
        if var push = strays[record.id] {
            let change = push.take(record)
            strays[record.id] = push.standing.isOpen ? push : nil
            return change
        }
        let standing = PushStanding(record)
        // Only a push that counted as unreported is reported late.
        if record.report == .reportedLate {
            return PushChange(was: PushStanding(status: record.status, report: .unreported))
        }
        guard record.purpose != .call, standing.status == .intended else { return nil }
        strays[record.id] = OpenPush(record)
        return PushChange(was: nil)
    }

    /// The time at which a leg's push was sent.
    func sentAt(_ push: PushID, of call: CallID) -> Instant? { (calls[call] ?? endings[call])?.sentAt(push) }

    /// Replaces the state with one recovered from the store.
    mutating func reset(with state: RecoveredState) {
        calls = [:]
        order = SortedKeys()
        changes.removeAll()
        // The reset takes a change number, so that every subscriber is behind it.
        endings.removeAll(at: changes.count())
        strays = [:]
        var over: [CallID: LiveCall] = [:]
        for record in state.calls {
            if record.state.isLive { add(LiveCall(record)) } else { over[record.id] = LiveCall(record) }
        }
        for leg in state.legs { _ = calls[leg.call]?.take(leg) }
        for push in state.pushes { _ = (calls[push.call] ?? over[push.call])?.take(push) }
        for call in over.values { keepPushes(of: call) }
        for notice in state.notices { strays[notice.push.id] = OpenPush(notice.push) }
    }

    private mutating func add(_ call: LiveCall) {
        calls[call.record.id] = call
        order.insert(call.order)
        changes.add(call, live: calls.count)
    }

    private mutating func end(_ call: LiveCall) {
        calls[call.record.id] = nil
        order.remove(call.order)
        call.changed = changes.count()
        if let forgotten = endings.add(call, call.changed) { keepPushes(of: forgotten) }
    }

    private mutating func noteChange(of call: LiveCall) {
        if call.record.state.isLive { changes.add(call, live: calls.count) }
    }

    private mutating func keepPushes(of call: LiveCall) {
        for push in call.pushes where push.standing.isOpen { strays[push.id] = push }
    }
}

struct CallChange {
    /// nil for a new call.
    let was: CallState?
    /// The state after the change.
    let isRinging: Bool
    let isAnswered: Bool
    let isConnected: Bool

    init(_ record: CallRecord) {
        was = nil
        isRinging = record.ringingAt != nil
        isAnswered = record.answeredAt != nil
        isConnected = record.connectedAt != nil
    }

    init(_ record: CallRecord, after known: CallRecord) {
        was = known.state
        isRinging = record.ringingAt != nil && known.ringingAt == nil
        isAnswered = record.answeredAt != nil && known.answeredAt == nil
        isConnected = record.connectedAt != nil && known.connectedAt == nil
    }
}
