import CallCore
import CallVocabulary
import StoreInterface

/// Devices, and their push tokens in the order of registration.
package enum DeviceTable {
    package static let layout = TableLayout(
        name: "device", key: ["user", "device"], fixed: [],
        columns: [
            "user", "device", "platform", "app", "name", "seen_at", "unreported_streak", "suspended_at", "probes",
            "next_probe_at",
        ])

    package static let selectSuspended =
        "SELECT user, device FROM device WHERE suspended_at IS NOT NULL ORDER BY user, device"

    package static let drop = "DELETE FROM device WHERE user = ? AND device = ?"

    package static func bind(_ record: DeviceRecord, to row: inout OperationBuffer) {
        row.bind(record.key.user)
        row.bind(record.key.device)
        row.bind(record.platform)
        row.bind(record.app)
        row.bind(record.name)
        row.bind(record.seenAt)
        row.bind(Int64(record.unreportedStreak))
        row.bind(record.suspendedAt)
        row.bind(Int64(record.probes))
        row.bind(record.nextProbeAt)
    }

    package static func readKey(_ row: some StatementRow) throws(StoreFailure) -> DeviceKey {
        DeviceKey(user: try row.handle(), device: try row.identifier())
    }

    /// - Returns: the record without its tokens, which have a table of their own.
    package static func read(_ row: some StatementRow) throws(StoreFailure) -> DeviceRecord {
        DeviceRecord(
            key: DeviceKey(user: try row.handle(), device: try row.identifier()), platform: try row.value(),
            app: row.optionalText(), name: row.optionalText(), tokens: [], seenAt: try row.instant(),
            unreportedStreak: try row.count(), suspendedAt: try row.optionalInstant(), probes: try row.count(),
            nextProbeAt: try row.optionalInstant())
    }
}

package enum TokenTable {
    /// The columns of a ``PushToken``, in any table.
    package static let tokenColumns = ["provider", "kind", "environment", "topic", "token", "profile"]

    package static let layout = TableLayout(
        name: "push_token", key: ["user", "device", "position"], fixed: [],
        columns: ["user", "device", "position"] + tokenColumns + ["registered_at"])

    /// Skips rows that did not change: most devices register the tokens that they had.
    package static let upsert: String = {
        let compared = tokenColumns + ["registered_at"]
        let old = compared.map { "push_token.\($0)" }.joined(separator: ", ")
        let new = compared.map { "excluded.\($0)" }.joined(separator: ", ")
        return layout.upsert + " WHERE (\(old)) <> (\(new))"
    }()

    package static let trim = "DELETE FROM push_token WHERE user = ? AND device = ? AND position >= ?"

    package static func bind(
        _ token: DeviceRecord.Token, of key: DeviceKey, at position: Int, to row: inout OperationBuffer
    ) {
        row.bind(key.user)
        row.bind(key.device)
        row.bind(Int64(position))
        bind(token.token, to: &row)
        row.bind(token.registeredAt)
    }

    package static func bind(_ token: PushToken, to row: inout OperationBuffer) {
        row.bind(token.provider)
        row.bind(token.kind)
        row.bind(token.environment)
        row.bind(token.topic)
        row.bind(token.token)
        row.bind(token.profile ?? "")
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> (
        key: DeviceKey, token: DeviceRecord.Token
    ) {
        let key = DeviceKey(user: try row.handle(), device: try row.identifier())
        _ = row.int()
        return (key, DeviceRecord.Token(token: try readToken(row), registeredAt: try row.instant()))
    }

    package static func readToken(_ row: some StatementRow) throws(StoreFailure) -> PushToken {
        let token = (
            provider: try row.value() as PushProvider, kind: try row.value() as PushKind,
            environment: try row.value() as PushEnvironment, topic: try row.text(), token: try row.text()
        )
        let profile = try row.text()
        return PushToken(
            provider: token.provider, kind: token.kind, environment: token.environment, topic: token.topic,
            token: token.token, profile: profile.isEmpty ? nil : profile)
    }
}
