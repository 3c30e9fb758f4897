import CallCore
import CallVocabulary

/// The rules for a record that replaces an earlier one.
package enum RecordLaws {
    /// - Returns: the law that `record` breaks, as text; nil when it breaks none.
    package static func violation(of record: StoreRecord, in disk: Disk) -> String? {
        switch record {
        case .call(let call): violation(of: call, after: disk.calls[call.id])
        case .leg(let leg): violation(of: leg, in: disk)
        case .push(let push): violation(of: push, in: disk)
        case .candidates(let batch):
            disk.calls[batch.call]?.state.isLive == true ? nil : "candidates kept for \(batch.call), which is not live"
        case .descriptions(let record):
            disk.calls[record.call]?.state.isLive == true
                ? nil : "descriptions kept for \(record.call), which is not live"
        case .absence(let absence):
            disk.calls[absence.call] == nil ? "an absence from \(absence.call), which is no call" : nil
        case .event(let event): violation(of: event, in: disk)
        case .device, .deviceDropped, .descriptionsDropped, .missed, .missedCleared, .candidatesDropped, .group,
            .groupDeleted, .user, .rules, .revocation, .alias, .aliasDeleted:
            nil
        }
    }

    private static func violation(of call: CallRecord, after old: CallRecord?) -> String? {
        guard let old else { return nil }
        if old.state == .ended {
            var counted = old
            counted.eventCount = call.eventCount
            return call == counted ? nil : "call \(call.id) changed after its end"
        }
        if old.state.rank > call.state.rank { return "call \(call.id) went from \(old.state) back to \(call.state)" }
        if old.answeredBy != nil, old.answeredBy != call.answeredBy { return "call \(call.id) changed its winner" }
        if old.caller != call.caller || old.inviteDigest != call.inviteDigest || old.createdAt != call.createdAt {
            return "call \(call.id) became another"
        }
        guard call.forwards.starts(with: old.forwards) else { return "call \(call.id) changed how it was forwarded" }
        if old.ringsUntil != call.ringsUntil, old.forwards.count == call.forwards.count {
            return "call \(call.id) moved its ring deadline"
        }
        if let hunt = old.hunt, let next = call.hunt, hunt.rung > next.rung { return "a hunt of \(call.id) went back" }
        if call.mergedInto == nil, call.endReason == .glare { return "\(call.id) ended by glare without a winner" }
        return nil
    }

    private static func violation(of event: EventRecord, in disk: Disk) -> String? {
        guard case .call(let call, let number, _) = event.subject else { return nil }
        // A later record of the same batch may have replaced the one that the event came with.
        guard let stored = disk.calls[call.id], stored.state.rank >= call.state.rank, stored.eventCount >= number else {
            return "\(event.kind.rawValue) of \(call.id) tells a state that the call has not reached"
        }
        let last = disk.events[call.id]?.count ?? 0
        return number == last + 1 && number == call.eventCount
            ? nil : "event \(number) of \(call.id) comes after \(last), and the call counts \(call.eventCount)"
    }

    /// - Returns: a step of the call without its one event, as text; nil when there is none.
    package static func untold(_ call: CallRecord, in disk: Disk) -> String? {
        let told = (disk.events[call.id] ?? []).map(\.kind)
        let steps: [(EventKind, Instant?)] = [
            (.callInvited, call.createdAt), (.callRinging, call.ringingAt), (.callAnswered, call.answeredAt),
            (.callConnected, call.connectedAt), (.callEnded, call.endedAt),
        ]
        let missing = steps.first { kind, at in told.count { $0 == kind } != (at == nil ? 0 : 1) }
        return missing.map { "\(call.id) has the events \(told.map(\.rawValue)), which is wrong for \($0.0.rawValue)" }
    }

    private static func violation(of leg: LegRecord, in disk: Disk) -> String? {
        if leg.answeredAt != nil,
            disk.legs(of: leg.call).contains(where: { $0.device != leg.device && $0.answeredAt != nil })
        {
            return "call \(leg.call) has two answered legs"
        }
        guard let old = disk.leg(leg.call, leg.device) else {
            return disk.calls[leg.call]?.state.isLive == true
                ? nil : "a leg was added to \(leg.call), which is not live"
        }
        if old.push != leg.push { return "a leg of \(leg.call) changed its push" }
        if old.state == .ended, old.endReason != .noDevices { return "a leg of \(leg.call) changed after its end" }
        return nil
    }

    private static func violation(of push: PushRecord, in disk: Disk) -> String? {
        if push.purpose == .call, disk.leg(push.call, push.device)?.push != push.id { return "a push without its leg" }
        guard let old = disk.pushes[push.id] else {
            if disk.pushes(of: push.call).contains(where: { $0.device == push.device && $0.purpose == push.purpose }) {
                return "a second \(push.purpose.rawValue) push for one device and call"
            }
            return push.status == .intended ? nil : "push \(push.id) began as \(push.status)"
        }
        let isLegal: Bool =
            switch (old.status, push.status) {
            case (.intended, .intended), (.intended, .sent), (.intended, .cancelled), (.intended, .expired): true
            case (.sent, .sent), (.sent, .intended), (.sent, .accepted), (.sent, .rejected), (.sent, .unknown): true
            case (.unknown, .unknown), (.unknown, .accepted), (.accepted, .accepted): true
            // Withdrawn because the device was awake, and the device is unreachable again.
            case (.cancelled, .intended): old.purpose == .call && old.sentAt == nil
            case (.intended, _), (.sent, _), (.unknown, _), (.accepted, _): false
            case (.rejected, _), (.cancelled, _), (.expired, _): false
            }
        if old.purpose != push.purpose { return "push \(push.id) became another" }
        guard isLegal else { return "push \(push.id) went from \(old.status) to \(push.status)" }
        if !push.owesReport {
            // Either the word that none is owed, or, before it leaves and where it was refused, none.
            let isOut = push.status == .sent || push.status == .accepted || push.status == .unknown
            return push.report == (isOut ? .notRequired : nil) ? nil : "push \(push.id) owes no report and has one"
        }
        switch (old.report, push.report) {
        case (nil, nil), (nil, .awaited), (.awaited, _), (.unreported, .unreported), (.unreported, .reportedLate),
            (.unreported, .acted), (.acted, .acted), (.acted, .reportedLate), (.acted, .reported),
            (.acted, .notRequired), (.acted, .filtered),
            (.acted, .reportFailed):
            return nil
        // The app ran without this push.
        case (.acted, nil): return push.status == .intended || push.status == .rejected ? nil : "an act was taken back"
        case (let was, let now):
            let names = (was?.rawValue ?? "none", now?.rawValue ?? "none")
            return was == now ? nil : "the report of \(push.id) went from \(names.0) to \(names.1)"
        }
    }
}
