import CallCore
import CallVocabulary
import Determinism
import RecordModel

/// Invariants of the turns of a group whose members have delays from its start.
extension Inspector {
    /// - Returns: whether the record rings further members of such a group.
    func takesTurns(_ call: CallRecord) -> Bool {
        guard let rung = call.hunt?.rung, call.huntSteps.indices.contains(call.firstMember),
            call.huntSteps[call.firstMember] != nil
        else { return false }
        return rung > decided.calls[call.id]?.hunt?.rung ?? 0
    }

    /// A member is rung before the member's delay only when no device rings any more.
    func checkTurns(_ id: CallID, _ now: Instant) {
        guard let call = decided.calls[id], let rung = call.hunt?.rung, call.state.isRingingPhase else { return }
        let start = call.forwards.last?.at ?? call.createdAt
        let delay = call.huntSteps[call.firstMember..<rung].reduce(.zero) { $0 + ($1 ?? .zero) }
        guard now < start + delay else {
            coverage.count("call.turn.delayed")
            return
        }
        coverage.count("call.turn.early")
        for leg in decided.legs(of: id) where leg.state != .ended && leg.createdAt < now {
            violate("\(id) rang a member \(start + delay - now) early, while \(leg.device.user) rings")
        }
    }
}

extension CallRecord {
    fileprivate var firstMember: Int { forwards.last?.firstMember ?? 0 }
}
