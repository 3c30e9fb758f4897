import CallCore
import CallVocabulary
import RecordModel

/// Facts that the server has sent, which must survive even a crash.
struct Promises {
    private struct Call: Equatable {
        var rank = 0
        var winner: Party?
        var end: EndReason?
    }

    private var calls = Table<CallID, Call>()
    private var reports: [PushID] = []
    private var ends: [Disk.LegKey] = []

    /// - Parameters:
    ///   - request: the request of the reply.
    ///   - isPushed: whether a push is recorded as sent. A device may report a call that arrived over its socket, and
    ///     get the push later, after losing the socket. That report does not concern the push.
    mutating func note(_ reply: Reply, to request: ServerRequest, isPushed: (PushID) -> Bool) {
        switch reply {
        case .invited(let id, let state, _): raise(id, to: state)
        case .inviteEnded(let id, let reason): end(id, reason)
        case .won: if let id = request.call { win(id, Party(user: request.user, device: request.device)) }
        case .callState(let state, let reason):
            guard let id = request.call else { return }
            if state != .ended {
                raise(id, to: state)
            } else if let key = request.key, reason != .noDevices {
                // The leg of a device that was unreachable may be opened again.
                ends.append(Disk.LegKey(call: id, device: key))
            }
            if let report = request.report, isPushed(report.push) { reports.append(report.push) }
        case .backendCall(let call):
            raise(call.snapshot.call, to: call.snapshot.state)
            if call.snapshot.state == .ended, let reason = call.snapshot.reason { end(call.snapshot.call, reason) }
        case .done, .opened, .call, .calls: break
        }
    }

    private mutating func raise(_ id: CallID, to state: CallState) {
        var call = calls[id] ?? Call()
        call.rank = max(call.rank, state.rank)
        calls[id] = call
    }

    private mutating func end(_ id: CallID, _ reason: EndReason) {
        raise(id, to: .ended)
        calls[id]?.end = reason
    }

    private mutating func win(_ id: CallID, _ party: Party) {
        raise(id, to: .answered)
        calls[id]?.winner = party
    }

    /// The first fact that the disk contradicts.
    func violation(of disk: Disk) -> String? {
        for id in calls.keys {
            guard let promised = calls[id] else { continue }
            guard let call = disk.calls[id] else { return "call \(id) was acknowledged and is lost" }
            if call.state.rank < promised.rank { return "call \(id) was reported in a later state than \(call.state)" }
            if let winner = promised.winner, call.answeredBy != winner {
                return "the winner of \(id) was told so, but has not won"
            }
            if let end = promised.end, call.endReason != end { return "call \(id) was reported with another end" }
        }
        for id in reports {
            guard let push = disk.pushes[id] else { continue }
            if push.report == .awaited || push.report == .unreported {
                return "the report of \(id) was acknowledged and is lost"
            }
        }
        for key in ends where disk.calls[key.call]?.state != .ended {
            guard let leg = disk.legs[key] else { return "the end of \(key.call) was reported and is lost" }
            if leg.state != .ended { return "a leg's end was reported and is lost" }
        }
        return nil
    }
}
