import CallCore
import CallVocabulary
import StoreInterface

enum GroupTable {
    static let layout = TableLayout(
        name: "call_group", key: ["name"], fixed: [], columns: ["name", "strategy", "members", "delays"])
    static let delete = "DELETE FROM call_group WHERE name = ?"

    static func bind(_ group: CallGroup, to row: inout OperationBuffer) {
        row.bind(group.name)
        row.bind(group.strategy)
        row.bind(group.members)
        row.bindText(unless: group.delays.isEmpty) { JSONText.append(group.delays, to: &$0) }
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> CallGroup {
        CallGroup(
            name: try row.text(), strategy: try row.value(), members: try row.handles(),
            delays: try row.parsed(JSONText.delays) ?? [:])
    }
}

/// One row for each user with a policy of their own.
enum UserTable {
    static let layout = TableLayout(
        name: "user_policy", key: ["handle"], fixed: [],
        columns: ["handle", "call_waiting", "decline", "do_not_disturb", "missed_calls"])

    static func bind(_ record: UserRecord, to row: inout OperationBuffer) {
        row.bind(record.handle)
        row.bind(record.policy.callWaiting)
        row.bind(record.policy.decline)
        row.bind(record.policy.doNotDisturb)
        row.bind(record.policy.missedCalls)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> UserRecord {
        var record = UserRecord(handle: try row.handle(), policy: UserPolicy())
        record.policy.callWaiting = row.flag()
        record.policy.decline = try row.value()
        record.policy.doNotDisturb = row.flag()
        record.policy.missedCalls = try row.value()
        return record
    }
}

/// One row for each user whose block list or forwarding was ever set.
enum RulesTable {
    static let layout = TableLayout(
        name: "call_rules", key: ["handle"], fixed: [],
        columns: ["handle", "blocked", "forward_busy", "forward_no_answer", "no_answer_after"])

    static func bind(_ record: RulesRecord, to row: inout OperationBuffer) {
        row.bind(record.handle)
        row.bind(record.rules.blocked)
        for target in [record.rules.forwardBusy, record.rules.forwardNoAnswer] {
            row.bindText(unless: target == nil) { bytes in target.map { CallTargetText.append($0, to: &bytes) } }
        }
        row.bind(record.rules.noAnswerAfter?.wholeMilliseconds)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> RulesRecord {
        RulesRecord(
            handle: try row.handle(),
            rules: CallRules(
                blocked: try row.handles(), forwardBusy: try row.parsed(CallTargetText.read),
                forwardNoAnswer: try row.parsed(CallTargetText.read),
                noAnswerAfter: try row.optionalDuration()))
    }
}

/// One row for each user whose tokens were revoked.
enum RevocationTable {
    static let layout = TableLayout(
        name: "token_revocation", key: ["handle"], fixed: [], columns: ["handle", "issued_before"])

    static func bind(_ record: RevocationRecord, to row: inout OperationBuffer) {
        row.bind(record.handle)
        row.bind(record.issuedBefore)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> RevocationRecord {
        RevocationRecord(handle: try row.handle(), issuedBefore: try row.instant())
    }
}

enum AliasTable {
    static let layout = TableLayout(name: "alias", key: ["handle"], fixed: [], columns: ["handle", "user"])
    static let delete = "DELETE FROM alias WHERE handle = ?"

    static func bind(_ alias: Alias, to row: inout OperationBuffer) {
        row.bind(alias.handle)
        row.bind(alias.user)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> Alias {
        Alias(handle: try row.handle(), user: try row.handle())
    }
}
