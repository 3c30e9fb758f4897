import CallCore
import CallVocabulary
import PushVocabulary

// Records with all their times shifted. A test covers each member that is an `Instant`.

extension Instant? {
    func moved(by offset: Duration) -> Instant? { map { $0 + offset } }
}

extension DeviceRecord {
    func moved(by offset: Duration) -> Self {
        var copy = self
        for index in copy.tokens.indices { copy.tokens[index].registeredAt = tokens[index].registeredAt + offset }
        copy.seenAt = seenAt + offset
        copy.suspendedAt = suspendedAt.moved(by: offset)
        copy.nextProbeAt = nextProbeAt.moved(by: offset)
        return copy
    }
}

extension DirectoryEntry {
    func moved(by offset: Duration) -> Self {
        var copy = self
        copy.devices = devices.map { $0.moved(by: offset) }
        copy.revokedBefore = revokedBefore.moved(by: offset)
        copy.missed = missed.map { $0.moved(by: offset) }
        for index in copy.sentSyncs.indices { copy.sentSyncs[index].sentAt = sentSyncs[index].sentAt + offset }
        return copy
    }
}

extension Found {
    func moved(by offset: Duration) -> Self {
        Found(call: call?.moved(by: offset), entries: entries.map { $0.moved(by: offset) })
    }
}

extension CallRecord {
    /// - Parameter deadlines: the shift of future times; an ended call has none.
    func moved(by offset: Duration, deadlinesBy deadlines: Duration) -> Self {
        var copy = self
        let deadlines = state == .ended ? offset : deadlines
        copy.createdAt = createdAt + offset
        copy.ringsUntil = ringsUntil + deadlines
        copy.connectsUntil = connectsUntil.moved(by: deadlines)
        copy.hunt?.nextAt = hunt?.nextAt.moved(by: deadlines)
        copy.ringingAt = ringingAt.moved(by: offset)
        copy.answeredAt = answeredAt.moved(by: offset)
        copy.callerConnectedAt = callerConnectedAt.moved(by: offset)
        copy.calleeConnectedAt = calleeConnectedAt.moved(by: offset)
        copy.connectedAt = connectedAt.moved(by: offset)
        copy.endedAt = endedAt.moved(by: offset)
        for index in copy.forwards.indices { copy.forwards[index].at = forwards[index].at + offset }
        copy.lostAt = lostAt.moved(by: offset)
        return copy
    }
}

extension AbsenceRecord {
    func moved(by offset: Duration) -> Self {
        AbsenceRecord(
            call: call, role: role, lostAt: lostAt + offset, returnedAt: returnedAt.moved(by: offset))
    }
}

extension LegRecord {
    func moved(by offset: Duration) -> Self {
        var copy = self
        copy.createdAt = createdAt + offset
        copy.offeredAt = offeredAt.moved(by: offset)
        copy.wokenAt = wokenAt.moved(by: offset)
        copy.ringingAt = ringingAt.moved(by: offset)
        copy.answeredAt = answeredAt.moved(by: offset)
        copy.endedAt = endedAt.moved(by: offset)
        return copy
    }
}

extension PushRecord {
    func moved(by offset: Duration, deadlinesBy deadlines: Duration) -> Self {
        var copy = self
        copy.intendedAt = intendedAt + offset
        copy.expiresAt = expiresAt + deadlines
        copy.reportDueAt = reportDueAt.moved(by: deadlines)
        copy.sentAt = sentAt.moved(by: offset)
        copy.answeredAt = answeredAt.moved(by: offset)
        copy.reportedAt = reportedAt.moved(by: offset)
        return copy
    }
}

extension EventRecord {
    /// - Parameters:
    ///   - offset: the present shift.
    ///   - past: the shift with which a call began.
    func moved(by offset: Duration, _ past: (CallID) -> Duration) -> Self {
        var copy = self
        copy.at = at + offset
        switch subject {
        case .call(let call, let number, let change):
            let begun = past(call.id)
            copy.subject = .call(
                call.moved(by: begun, deadlinesBy: offset), number: number, change.moved(by: begun, deadlinesBy: offset)
            )
        case .device(let device, let change): copy.subject = .device(device.moved(by: offset), change)
        }
        return copy
    }
}

extension EventRecord.CallChange {
    fileprivate func moved(by offset: Duration, deadlinesBy deadlines: Duration) -> Self {
        switch self {
        case .pushRejected(let push): .pushRejected(push.moved(by: offset, deadlinesBy: deadlines))
        case .pushUnreported(let push): .pushUnreported(push.moved(by: offset, deadlinesBy: deadlines))
        case .invited, .ringing, .answered, .connected, .ended, .missed: self
        }
    }
}

extension StoredCall {
    func moved(by offset: Duration) -> Self {
        StoredCall(
            call: call.moved(by: offset, deadlinesBy: offset), legs: legs.map { $0.moved(by: offset) },
            pushes: pushes.map { $0.moved(by: offset, deadlinesBy: offset) },
            absences: absences.map { $0.moved(by: offset) })
    }
}

extension SessionChange {
    func moved(by offset: Duration) -> Self {
        switch self {
        case .online(var record):
            record.openedAt = record.openedAt + offset
            record.onlineSince = record.onlineSince + offset
            return .online(record)
        case .away(let session, let device, let at): return .away(session, device, at: at + offset)
        case .ended: return self
        }
    }
}

extension PushIntent {
    /// Shifts only the token's registration, which the provider judges by wall time. The deadline stays on the
    /// timeline, which the push client uses.
    func registrationMoved(by offset: Duration) -> Self {
        var copy = self
        copy.tokenRegisteredAt = tokenRegisteredAt.moved(by: offset)
        return copy
    }
}
