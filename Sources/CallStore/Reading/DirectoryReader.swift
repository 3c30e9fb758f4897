import CallCore
import CallVocabulary
import GRDB
import StoreInterface

/// Reads what the core looks up: entries of the directory, and the users that hold push tokens. Confined to its
/// connection.
struct DirectoryReader {
    private let database: Database

    init(_ database: Database) { self.database = database }

    private static let devices = DeviceTable.layout.select + " WHERE user = ? ORDER BY device"
    private static let tokens = TokenTable.layout.select + " WHERE user = ? ORDER BY device, position"
    private static let policy = UserTable.layout.select + " WHERE handle = ?"
    private static let rules = RulesTable.layout.select + " WHERE handle = ?"
    private static let revocation = RevocationTable.layout.select + " WHERE handle = ?"
    private static let missed = MissedTable.layout.select + " WHERE user = ? ORDER BY at, call"
    private static let alias = AliasTable.layout.select + " WHERE handle = ?"
    private static let aliases = AliasTable.layout.select + " WHERE user = ? ORDER BY handle"
    private static let group = GroupTable.layout.select + " WHERE name = ?"
    private static let memberships = "SELECT name FROM group_member WHERE member = ? ORDER BY name"
    /// Without the plus sign SQLite puts the parameter in place of the column in the first term, and uses no index.
    private static let holders = """
        SELECT DISTINCT user FROM push_token
        WHERE \(Schema.tokenEnd) = substr(?1, -24) AND +token = ?1 AND provider = ?2
        """

    /// All that are run, for a test of their plans.
    static let statements = [
        devices, tokens, policy, rules, revocation, missed, NoticeTable.selectSentSyncs, alias, aliases, group,
        memberships, holders,
    ]

    /// - Returns: the entries in the order of `names`.
    func entries(_ names: [Handle]) throws -> [DirectoryEntry] { try names.map(entry) }

    func entry(_ name: Handle) throws -> DirectoryEntry {
        var entry = DirectoryEntry(name: name)
        entry.devices = try devices(of: name)
        entry.policy = try rows(Self.policy, name).first(UserTable.read)?.policy
        entry.rules = try rows(Self.rules, name).first(RulesTable.read)?.rules ?? CallRules()
        entry.revokedBefore = try rows(Self.revocation, name).first(RevocationTable.read)?.issuedBefore
        entry.missed = try rows(Self.missed, name).all(MissedTable.read)
        entry.sentSyncs = try rows(NoticeTable.selectSentSyncs, name).all(NoticeTable.readSentSync)
        entry.aliasOf = try rows(Self.alias, name).first(AliasTable.read)?.user
        entry.aliases = try rows(Self.aliases, name).all(AliasTable.read).map(\.handle)
        entry.group = try rows(Self.group, name).first(GroupTable.read)
        // No call names a group whose name is no handle.
        entry.memberships = try rows(Self.memberships, name).all { row throws(StoreFailure) in
            Handle(known: try row.text())
        }.compactMap(\.self)
        return entry
    }

    private func rows(_ sql: String, _ name: Handle) throws -> SQLRow {
        let rows = try SQLRow(cached: sql, database)
        rows.bind(name)
        return rows
    }

    private func devices(of user: Handle) throws -> [DeviceRecord] {
        let rows = try rows(Self.devices, user)
        var devices = try rows.all(DeviceTable.read)
        guard !devices.isEmpty else { return [] }
        // A damaged page may return a row twice.
        guard Set(devices.map(\.key)).count == devices.count else {
            throw rows.failure(.corrupted, "a row of the table device is there twice")
        }
        for (key, token) in try self.rows(Self.tokens, user).all(TokenTable.read) {
            if let index = devices.firstIndex(where: { $0.key == key }) { devices[index].tokens.append(token) }
        }
        return devices
    }

    /// The users with a device that has the token.
    func holders(of token: PushToken.Address) throws -> [Handle] {
        let rows = try SQLRow(cached: Self.holders, database)
        rows.bind(token.token)
        rows.bind(token.provider)
        return try rows.all { row throws(StoreFailure) in try row.handle() }
    }
}
