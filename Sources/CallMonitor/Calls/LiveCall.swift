import AdminProtocol
import CallCore
import CallVocabulary

/// The monitor's copy of a call: its record, and a summary of its legs and pushes.
final class LiveCall {
    struct Leg {
        let device: DeviceKey
        let push: PushID
        var state: LegRecord.State
        var steps: LegSteps
    }

    var record: CallRecord
    private(set) var legs: [Leg] = []
    private(set) var pushes: [OpenPush] = []
    /// The number of its last change in ``ChangeLog``.
    var changed: UInt64 = 0

    init(_ record: CallRecord) { self.record = record }

    var order: CallOrder { CallOrder(createdAt: record.createdAt, id: record.id) }

    var view: CallView {
        var counts = CallCounts(devices: legs.count, pushes: pushes.count)
        for leg in legs {
            if leg.state == .ringing { counts.ringing += 1 }
            if leg.state == .waking { counts.waking += 1 }
        }
        for push in pushes where push.standing.isOpen { counts.pushesOpen += 1 }
        return CallView(record, counts: counts)
    }

    /// Whether the user is the caller, a callee, or has a device in the call.
    func concerns(_ user: Handle) -> Bool {
        if record.caller.user == user { return true }
        switch record.to {
        case .user(let callee): if callee == user { return true }
        case .users(let callees): if callees.contains(user) { return true }
        case .group: break
        }
        return record.members?.contains(user) == true || legs.contains { $0.device.user == user }
    }

    /// - Returns: nil when the record contains no change.
    func take(_ record: LegRecord) -> LegChange? {
        let steps = LegSteps(record)
        let taken = Leg(device: record.device, push: record.push, state: record.state, steps: steps)
        guard let index = legs.firstIndex(where: { $0.push == record.push }) else {
            legs.append(taken)
            return LegChange(was: nil, new: steps)
        }
        let known = legs[index]
        // Steps are never undone: a record without a known step is older.
        guard steps.isSuperset(of: known.steps), known.state != record.state || known.steps != steps else { return nil }
        legs[index] = taken
        return LegChange(was: known.state, new: steps.subtracting(known.steps))
    }

    /// - Returns: nil when the record contains no change.
    func take(_ record: PushRecord) -> PushChange? {
        guard let index = pushes.firstIndex(where: { $0.id == record.id }) else {
            pushes.append(OpenPush(record))
            return PushChange(was: nil)
        }
        return pushes[index].take(record)
    }

    func sentAt(_ push: PushID) -> Instant? { pushes.first { $0.id == push }?.sentAt }
}

@available(*, unavailable)
extension LiveCall: Sendable {}

/// The sort order of calls in a list: by creation time.
struct CallOrder: Comparable {
    let createdAt: Instant
    let id: CallID

    static func < (a: Self, b: Self) -> Bool {
        a.createdAt == b.createdAt ? a.id < b.id : a.createdAt < b.createdAt
    }
}

struct LegSteps: OptionSet {
    let rawValue: UInt8

    static let offered = Self(rawValue: 1)
    static let woken = Self(rawValue: 2)
    static let ringing = Self(rawValue: 4)
    static let answered = Self(rawValue: 8)
    static let ended = Self(rawValue: 16)
    /// The leg has left the idle state.
    static let begun = Self(rawValue: 32)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ leg: LegRecord) {
        self = leg.state == .idle ? [] : .begun
        if leg.offeredAt != nil { insert(.offered) }
        if leg.wokenAt != nil { insert(.woken) }
        if leg.ringingAt != nil { insert(.ringing) }
        if leg.answeredAt != nil { insert(.answered) }
        if leg.endedAt != nil { insert(.ended) }
    }
}

struct LegChange {
    /// nil for a new leg.
    let was: LegRecord.State?
    /// The steps that this change added.
    let new: LegSteps
}
