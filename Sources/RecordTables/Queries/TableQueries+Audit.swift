import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// Audits the whole store: the conservation laws, and the rules for single rows. Reads every push, call and leg
    /// once: seconds for millions.
    /// - Parameters:
    ///   - hasPurposes: whether pushes have a purpose. A backup may have an older schema.
    ///   - hasCallSerials: whether rows have their call's serial.
    package func audit(hasPurposes: Bool = true, hasCallSerials: Bool = true) throws -> StoreAudit {
        let counts = try ledgerCounts()
        var violations = counts.violations
        let rules =
            [AuditRules.onePush(hasPurposes: hasPurposes)] + AuditRules.ofRows
            + (hasCallSerials ? AuditRules.ofSerials : [])
        for rule in rules {
            let row = try source.statement(rule.sql)
            let found = try row.all { row throws(StoreFailure) in try row.identifier() as CallID }
            if let first = found.first { violations.append("\(found.count) \(rule.name), first \(first)") }
        }
        return StoreAudit(counts: counts, violations: violations)
    }
}

/// Each rule selects the ids of rows that violate it.
private enum AuditRules {
    /// Up to version 3 all pushes were for calls.
    static func onePush(hasPurposes: Bool) -> (name: String, sql: String) {
        (
            "devices got more than one push of one purpose for one call; calls",
            "SELECT call FROM push GROUP BY call, user, device\(hasPurposes ? ", purpose" : "") HAVING count(*) > 1"
        )
    }

    /// Rules from version 6 on.
    static let ofSerials: [(name: String, sql: String)] = [
        (
            "legs have another serial than their call, or no call",
            """
            SELECT leg.call FROM leg LEFT JOIN call ON call.id = leg.call
            WHERE call.serial IS NULL OR leg.call_serial <> call.serial
            """
        ),
        (
            "pushes have another serial than their call",
            "SELECT push.call FROM push JOIN call ON call.id = push.call WHERE push.call_serial <> call.serial"
        ),
    ]

    static let ofRows: [(name: String, sql: String)] = [
        (
            "pushes have a send time that contradicts their status",
            "SELECT id FROM push WHERE (sent_at IS NULL) <> (status IN ('intended', 'cancelled', 'expired'))"
        ),
        ("pushes belong to no call", "SELECT id FROM push WHERE call NOT IN (SELECT id FROM call)"),
        (
            "calls are ended without time or reason, or have them and are not ended",
            """
            SELECT id FROM call WHERE (ended_at IS NULL) <> (state <> 'ended')
            OR (end_reason IS NULL) <> (state <> 'ended')
            """
        ),
        (
            "calls were answered on more than one device",
            "SELECT call FROM leg WHERE answered_at IS NOT NULL GROUP BY call HAVING count(*) > 1"
        ),
        (
            "legs are live in calls that are over",
            """
            SELECT leg.call FROM leg JOIN call ON call.id = leg.call
            WHERE call.state = 'ended' AND leg.state <> 'ended'
            """
        ),
    ]
}
