import CallCore
import CallVocabulary
import StoreInterface

package enum GroupTable {
    package static let layout = TableLayout(
        name: "call_group", key: ["name"], fixed: [], columns: ["name", "strategy", "members", "delays"])
    package static let delete = "DELETE FROM call_group WHERE name = ?"

    package static func bind(_ group: CallGroup, to row: inout OperationBuffer) {
        row.bind(group.name)
        row.bind(group.strategy)
        row.bind(group.members)
        row.bindText(unless: group.delays.isEmpty) { JSONText.append(group.delays, to: &$0) }
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> CallGroup {
        CallGroup(
            name: try row.text(), strategy: try row.value(), members: try row.handles(),
            delays: try row.parsed(JSONText.delays) ?? [:])
    }

    package static func readMembership(_ row: some StatementRow) throws(StoreFailure) -> (member: Handle, name: String)
    {
        (member: try row.handle(), name: try row.text())
    }
}

/// One row for each user with a policy of their own.
package enum UserTable {
    package static let layout = TableLayout(
        name: "user_policy", key: ["handle"], fixed: [],
        columns: ["handle", "call_waiting", "decline", "do_not_disturb", "missed_calls"])

    package static func bind(_ record: UserRecord, to row: inout OperationBuffer) {
        row.bind(record.handle)
        row.bind(record.policy.callWaiting)
        row.bind(record.policy.decline)
        row.bind(record.policy.doNotDisturb)
        row.bind(record.policy.missedCalls)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> UserRecord {
        var record = UserRecord(handle: try row.handle(), policy: UserPolicy())
        record.policy.callWaiting = row.flag()
        record.policy.decline = try row.value()
        record.policy.doNotDisturb = row.flag()
        record.policy.missedCalls = try row.value()
        return record
    }
}

/// One row for each user whose block list or forwarding was ever set.
package enum RulesTable {
    package static let layout = TableLayout(
        name: "call_rules", key: ["handle"], fixed: [],
        columns: ["handle", "blocked", "forward_busy", "forward_no_answer", "no_answer_after"])

    package static func bind(_ record: RulesRecord, to row: inout OperationBuffer) {
        row.bind(record.handle)
        row.bind(record.rules.blocked)
        for target in [record.rules.forwardBusy, record.rules.forwardNoAnswer] {
            row.bindText(unless: target == nil) { bytes in target.map { CallTargetText.append($0, to: &bytes) } }
        }
        row.bind(record.rules.noAnswerAfter?.wholeMilliseconds)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> RulesRecord {
        RulesRecord(
            handle: try row.handle(),
            rules: CallRules(
                blocked: try row.handles(), forwardBusy: try row.parsed(CallTargetText.read),
                forwardNoAnswer: try row.parsed(CallTargetText.read),
                noAnswerAfter: try row.optionalDuration()))
    }
}

/// One row for each user whose tokens were revoked.
package enum RevocationTable {
    package static let layout = TableLayout(
        name: "token_revocation", key: ["handle"], fixed: [], columns: ["handle", "issued_before"])

    package static func bind(_ record: RevocationRecord, to row: inout OperationBuffer) {
        row.bind(record.handle)
        row.bind(record.issuedBefore)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> RevocationRecord {
        RevocationRecord(handle: try row.handle(), issuedBefore: try row.instant())
    }
}

package enum AliasTable {
    package static let layout = TableLayout(name: "alias", key: ["handle"], fixed: [], columns: ["handle", "user"])
    package static let delete = "DELETE FROM alias WHERE handle = ?"

    package static func bind(_ alias: Alias, to row: inout OperationBuffer) {
        row.bind(alias.handle)
        row.bind(alias.user)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> Alias {
        Alias(handle: try row.handle(), user: try row.handle())
    }
}
