import CallCore
import CallVocabulary
import StoreInterface

enum GroupTable {
    static let layout = TableLayout(
        name: "call_group", key: ["name"], fixed: [], columns: ["name", "strategy", "members"])
    static let delete = "DELETE FROM call_group WHERE name = ?"

    static func bind(_ group: CallGroup, to row: inout OperationBuffer) {
        row.bind(group.name)
        row.bind(group.strategy)
        row.bind(group.members)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> CallGroup {
        CallGroup(name: try row.text(), strategy: try row.value(), members: try row.handles())
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
