import CallCore
import CallVocabulary
import StoreInterface

package enum CallTable {
    package static let layout = TableLayout(
        name: "call", key: ["id"], fixed: ["created_at"],
        columns: [
            "id", "caller_user", "caller_device", "caller_name", "callee", "video", "invite_digest", "state",
            "created_at", "rings_until", "ringing_at", "answered_at", "answered_by_user", "answered_by_device",
            "connects_until", "caller_connected_at", "callee_connected_at", "connected_at", "ended_at", "end_reason",
            "ended_by_user", "ended_by_device", "merged_into", "members", "hunt_rung", "hunt_next_at", "lost_at",
            "hunt_steps", "forwards", "ring_time", "max_duration", "event_count",
        ], numbering: "serial")

    package static func bind(_ record: CallRecord, to row: inout OperationBuffer) {
        row.bind(record.id)
        bind(record.caller, to: &row)
        row.bind(record.callerName)
        row.bindText { CallTargetText.append(record.to, count: record.toCount, to: &$0) }
        row.bind(record.video)
        row.bind(Int64(bitPattern: record.inviteDigest))
        row.bind(record.state)
        row.bind(record.createdAt)
        row.bind(record.ringsUntil)
        row.bind(record.ringingAt)
        row.bind(record.answeredAt)
        bind(record.answeredBy, to: &row)
        row.bind(record.connectsUntil)
        row.bind(record.callerConnectedAt)
        row.bind(record.calleeConnectedAt)
        row.bind(record.connectedAt)
        row.bind(record.endedAt)
        row.bind(record.endReason)
        bind(record.endedBy, to: &row)
        row.bind(record.mergedInto)
        row.bind(record.members)
        row.bind(record.hunt.map { Int64($0.rung) })
        row.bind(record.hunt?.nextAt)
        row.bind(record.lostAt)
        row.bindText(unless: record.huntSteps.isEmpty) { JSONText.append(record.huntSteps, to: &$0) }
        row.bindText(unless: record.forwards.isEmpty) { ForwardsText.append(record.forwards, to: &$0) }
        row.bind(record.ringTime?.wholeMilliseconds)
        row.bind(record.maxDuration?.wholeMilliseconds)
        row.bind(Int64(record.eventCount))
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> CallRecord {
        let id: CallID = try row.identifier()
        guard let caller = try readParty(row) else { throw row.unreadable() }
        let callerName = row.optionalText()
        guard let target = CallTargetText.readCut(try row.text()) else { throw row.unreadable() }
        var record = CallRecord(
            id: id, caller: caller, callerName: callerName, to: target.target, video: row.flag(),
            inviteDigest: UInt64(bitPattern: row.int()), state: try row.value(), createdAt: try row.instant(),
            ringsUntil: try row.instant())
        record.toCount = target.count
        record.ringingAt = try row.optionalInstant()
        record.answeredAt = try row.optionalInstant()
        record.answeredBy = try readParty(row)
        record.connectsUntil = try row.optionalInstant()
        record.callerConnectedAt = try row.optionalInstant()
        record.calleeConnectedAt = try row.optionalInstant()
        record.connectedAt = try row.optionalInstant()
        record.endedAt = try row.optionalInstant()
        record.endReason = try row.optionalValue()
        record.endedBy = try readParty(row)
        record.mergedInto = try row.optionalIdentifier()
        record.members = try row.parsed(JSONText.handles)
        let (rung, nextAt) = (row.optionalInt(), try row.optionalInstant())
        record.hunt = rung.map { CallRecord.HuntProgress(rung: Int($0), nextAt: nextAt) }
        record.lostAt = try row.optionalInstant()
        record.huntSteps = try row.parsed(JSONText.steps) ?? []
        record.forwards = try row.parsed(ForwardsText.read) ?? []
        record.ringTime = try row.optionalDuration()
        record.maxDuration = try row.optionalDuration()
        record.eventCount = try row.count()
        if let column = misfit(of: record) {
            throw row.failure(.unreadableRow, "call.\(column) does not fit the rest of the call \(record.id)")
        }
        return record
    }

    /// The column with an invalid list of members, or with invalid positions in it; nil when the row is consistent.
    private static func misfit(of record: CallRecord) -> String? {
        guard let members = record.members, !members.isEmpty else {
            // The target alone tells the callees, or there are none.
            if case .user = record.to, record.members != nil { return "members" }
            if !record.huntSteps.isEmpty { return "hunt_steps" }
            if let hunt = record.hunt, hunt.rung < 0 { return "hunt_rung" }
            return record.forwards.isEmpty ? nil : "forwards"
        }
        if Set(members).count < members.count { return "members" }
        if !record.huntSteps.isEmpty, record.huntSteps.count != members.count { return "hunt_steps" }
        if let hunt = record.hunt, !(0...members.count).contains(hunt.rung) { return "hunt_rung" }
        if record.forwards.contains(where: { !members.indices.contains($0.firstMember) }) { return "forwards" }
        return nil
    }

    private static func bind(_ party: Party?, to row: inout OperationBuffer) {
        row.bind(party?.user)
        row.bind(party?.device)
    }

    private static func readParty(_ row: some StatementRow) throws(StoreFailure) -> Party? {
        let user = try row.optionalHandle()
        let device: DeviceID? = try row.optionalIdentifier()
        return user.map { Party(user: $0, device: device) }
    }
}
