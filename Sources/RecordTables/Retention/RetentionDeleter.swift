import CallVocabulary
import StoreInterface

/// Deletes the rows that a ``RetentionRun`` selects, a few at a time, within an open transaction.
///
/// A call's own row is deleted last, so that an interrupted run leaves no row without its call.
package final class RetentionDeleter<Source: StatementSource> {
    private let nextCall: Source.Row
    private let dropParties: Source.Row
    private let dropPushesOfCall: Source.Row
    private let dropLegs: Source.Row
    private let dropDescriptions: Source.Row
    private let dropAbsences: Source.Row
    private let dropCandidates: Source.Row
    private let dropCall: Source.Row
    private let nextPush: Source.Row
    private let dropPush: Source.Row
    private let nextUser: Source.Row
    private let oldestKeptMissed: Source.Row
    private let dropMissed: Source.Row
    private let dropEvents: Source.Row
    private let oldestCall: Source.Row

    package init(_ source: Source) throws {
        nextCall = try source.statement(RetentionSQL.nextCall)
        dropParties = try source.statement(RetentionSQL.dropParties(source.dialect))
        dropPushesOfCall = try source.statement(RetentionSQL.dropOfCall("push", by: "call_serial", source.dialect))
        dropLegs = try source.statement(RetentionSQL.dropOfCall("leg", by: "call_serial", source.dialect))
        dropDescriptions = try source.statement(
            RetentionSQL.dropOfCall("call_descriptions", by: "call", source.dialect))
        dropAbsences = try source.statement(RetentionSQL.dropOfCall("call_absence", by: "call_serial", source.dialect))
        dropCandidates = try source.statement(RetentionSQL.dropOfCall("call_candidates", by: "call", source.dialect))
        dropCall = try source.statement("DELETE FROM call WHERE serial = ?")
        nextPush = try source.statement(RetentionSQL.nextPush)
        dropPush = try source.statement("DELETE FROM push WHERE serial = ?")
        nextUser = try source.statement("SELECT user FROM missed_call WHERE user > ? ORDER BY user LIMIT 1")
        oldestKeptMissed = try source.statement(RetentionSQL.oldestKeptMissed)
        dropMissed = try source.statement(RetentionSQL.dropMissed)
        dropEvents = try source.statement(RetentionSQL.dropEvents(source.dialect))
        oldestCall = try source.statement("SELECT min(created_at) FROM call")
    }

    /// Advances by one row, or deletes up to `limit` of its dependent rows, and records the progress in `run`.
    /// - Parameter limit: at least 1.
    package func advance(_ run: inout RetentionRun, limit: Int) throws(StoreFailure) -> RetentionCounts {
        switch run.step {
        case .calls(let last): try advanceCalls(&run, after: last, limit)
        case .pushes(let last): try advancePushes(&run, after: last)
        case .missed(let last): try advanceMissed(&run, after: last, limit)
        case .events: try advanceEvents(&run, limit)
        case .done: RetentionCounts()
        }
    }

    /// The creation time of the oldest call.
    package func oldest() throws(StoreFailure) -> Instant? {
        try oldestCall.first { row throws(StoreFailure) in try row.optionalInstant() } ?? nil
    }

    private func advanceCalls(
        _ run: inout RetentionRun, after last: RetentionRun.Position, _ limit: Int
    ) throws(StoreFailure) -> RetentionCounts {
        guard let cutoff = run.callsBefore else {
            run.step = .pushes(after: .start)
            return RetentionCounts()
        }
        nextCall.bind(cutoff)
        nextCall.bind(last.at)
        nextCall.bind(last.serial)
        nextCall.bind(cutoff)
        let found = try nextCall.first { row throws(StoreFailure) in
            // A damaged time must not stop the retention of all other rows.
            (
                serial: row.int(), createdAt: Instant(milliseconds: row.int()), id: try row.identifier() as CallID,
                isOver: row.flag()
            )
        }
        guard let found else {
            run.step = .pushes(after: .start)
            return RetentionCounts()
        }
        var counts = RetentionCounts()
        if found.isOver {
            try drop(found.serial, found.id, found.createdAt, limit, &counts)
            // The call needs more than one slice: the next one continues with it.
            if counts.calls == 0 { return counts }
        }
        run.step = .calls(after: RetentionRun.Position(at: found.createdAt, serial: found.serial))
        return counts
    }

    /// History entries first: their users are derived from the call and its legs.
    private func drop(
        _ serial: Int64, _ id: CallID, _ createdAt: Instant, _ limit: Int, _ counts: inout RetentionCounts
    ) throws(StoreFailure) {
        dropParties.bind(serial)
        dropParties.bind(createdAt)
        dropParties.bind(Int64(limit))
        counts.parties = try dropParties.change()
        counts.pushes = try drop(dropPushesOfCall, limit - counts.total) { $0.bind(serial) }
        counts.legs = try drop(dropLegs, limit - counts.total) { $0.bind(serial) }
        counts.descriptions = try drop(dropDescriptions, limit - counts.total) { $0.bind(id) }
        counts.absences = try drop(dropAbsences, limit - counts.total) { $0.bind(serial) }
        counts.candidates = try drop(dropCandidates, limit - counts.total) { $0.bind(id) }
        guard counts.total < limit else { return }
        dropCall.bind(serial)
        counts.calls = try dropCall.change()
    }

    private func drop(
        _ statement: Source.Row, _ limit: Int, bindCall: (Source.Row) -> Void
    ) throws(StoreFailure) -> Int {
        guard limit > 0 else { return 0 }
        bindCall(statement)
        statement.bind(Int64(limit))
        return try statement.change()
    }

    private func advancePushes(
        _ run: inout RetentionRun, after last: RetentionRun.Position
    ) throws(StoreFailure) -> RetentionCounts {
        var counts = RetentionCounts()
        guard let cutoff = run.pushesBefore else {
            run.step = .missed(after: nil)
            return counts
        }
        nextPush.bind(run.memoryBegins)
        nextPush.bind(last.at)
        nextPush.bind(last.serial)
        nextPush.bind(cutoff)
        let found = try nextPush.first { row throws(StoreFailure) in
            (serial: row.int(), intendedAt: Instant(milliseconds: row.int()), isOver: row.flag())
        }
        guard let found else {
            run.step = .missed(after: nil)
            return counts
        }
        if found.isOver {
            dropPush.bind(found.serial)
            counts.pushes = try dropPush.change()
        }
        run.step = .pushes(after: RetentionRun.Position(at: found.intendedAt, serial: found.serial))
        return counts
    }

    private func advanceMissed(
        _ run: inout RetentionRun, after last: String?, _ limit: Int
    ) throws(StoreFailure) -> RetentionCounts {
        var counts = RetentionCounts()
        // No handle is empty, so every one sorts after this.
        nextUser.bind(last ?? "")
        guard let user = try nextUser.first({ row throws(StoreFailure) in try row.text() }) else {
            run.step = .events
            return counts
        }
        oldestKeptMissed.bind(user)
        oldestKeptMissed.bind(Int64(run.missedPerUser - 1))
        let kept = try oldestKeptMissed.first { row throws(StoreFailure) in try row.instant() }
        guard let cutoff = [run.missedBefore, kept].compactMap({ $0 }).max() else {
            run.step = .missed(after: user)
            return counts
        }
        dropMissed.bind(user)
        dropMissed.bind(cutoff)
        dropMissed.bind(Int64(limit))
        counts.missed = try dropMissed.change()
        if counts.missed < limit { run.step = .missed(after: user) }
        return counts
    }

    private func advanceEvents(_ run: inout RetentionRun, _ limit: Int) throws(StoreFailure) -> RetentionCounts {
        var counts = RetentionCounts()
        dropEvents.bind(Int64(limit))
        dropEvents.bind(run.eventsBefore)
        counts.events = try dropEvents.change()
        if counts.events < limit { run.step = .done }
        return counts
    }
}

@available(*, unavailable)
extension RetentionDeleter: Sendable {}
