import CallCore
import CallVocabulary
import StoreInterface

/// What the core looks up. Each query reads for all names at once: a round trip to a database takes longer than the rows
/// of one user.
extension TableQueries {
    /// See `StoreQueries.found(_:)`.
    package func found(_ wanted: [Wanted]) throws -> [Found] {
        let holders = try holders(of: wanted.flatMap(\.tokens))
        var parts: [(call: StoredCall?, names: [Handle])] = []
        for wanted in wanted {
            let call = try wanted.call.flatMap(call)
            let holding = wanted.tokens.flatMap { holders[$0] ?? [] }
            parts.append((call, wanted.names + wanted.groups + (call?.parties ?? []) + holding))
        }
        var known: [Handle: DirectoryEntry] = [:]
        var names = parts.flatMap(\.names)
        let groups = Set(wanted.flatMap(\.groups))
        while !names.isEmpty {
            let read = try entries(Self.distinct(names))
            for entry in read { known[entry.name] = entry }
            names = read.flatMap { $0.leads(of: groups) }.filter { known[$0] == nil }
        }
        return zip(wanted, parts).map { wanted, part in
            Found(call: part.call, entries: Self.closure(of: part.names, Set(wanted.groups), in: known))
        }
    }

    /// The entries of names, and of those that they lead to, each once.
    private static func closure(
        of names: [Handle], _ groups: Set<Handle>, in known: [Handle: DirectoryEntry]
    ) -> [DirectoryEntry] {
        var (entries, seen, next): ([DirectoryEntry], Set<Handle>, [Handle]) = ([], [], names)
        while !next.isEmpty {
            let new = next.filter { seen.insert($0).inserted }.compactMap { known[$0] }
            entries += new
            next = new.flatMap { $0.leads(of: groups) }
        }
        return entries
    }

    private static func distinct(_ names: [Handle]) -> [Handle] {
        var seen: Set<Handle> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// - Parameter names: each once.
    /// - Returns: the entries in the order of `names`.
    package func entries(_ names: [Handle]) throws -> [DirectoryEntry] {
        var entries = names.map { DirectoryEntry(name: $0) }
        let slots = Dictionary(uniqueKeysWithValues: zip(names, names.indices))
        func add<Row>(_ rows: [Row], _ name: (Row) -> Handle?, _ body: (inout DirectoryEntry, Row) -> Void) {
            for row in rows {
                if let slot = name(row).flatMap({ slots[$0] }) { body(&entries[slot], row) }
            }
        }
        let list = LookUpStatements(source.dialect)
        let devices = try rows(list.devices, names)
        let deviceRows = try devices.all(DeviceTable.read)
        add(deviceRows, \.key.user) { $0.devices.append($1) }
        // A damaged page may return a row twice.
        guard Set(deviceRows.map(\.key)).count == deviceRows.count else {
            throw devices.failure(.corrupted, "a row of the table device is there twice")
        }
        add(try rows(list.tokens, names).all(TokenTable.read), \.key.user) { entry, row in
            guard let index = entry.devices.firstIndex(where: { $0.key == row.key }) else { return }
            entry.devices[index].tokens.append(row.token)
        }
        add(try rows(list.policies, names).all(UserTable.read), \.handle) { $0.policy = $1.policy }
        add(try rows(list.rules, names).all(RulesTable.read), \.handle) { $0.rules = $1.rules }
        add(try rows(list.revocations, names).all(RevocationTable.read), \.handle) {
            $0.revokedBefore = $1.issuedBefore
        }
        add(try rows(list.missed, names).all(MissedTable.read), \.user) { $0.missed.append($1.call) }
        add(try rows(list.sentSyncs, names, times: 2).all(NoticeTable.readSentSync), \.user) {
            $0.sentSyncs.append($1.sync)
        }
        let aliases = try rows(list.aliases, names, times: 2).all(AliasTable.read)
        add(aliases, \.handle) { $0.aliasOf = $1.user }
        add(aliases, \.user) { $0.aliases.append($1.handle) }
        // No call names a group whose name is no handle.
        add(try rows(list.groups, names).all(GroupTable.read), { Handle(known: $0.name) }) { $0.group = $1 }
        add(try rows(list.memberships, names).all(GroupTable.readMembership), \.member) { entry, row in
            if let name = Handle(known: row.name) { entry.memberships.append(name) }
        }
        return entries
    }

    private func rows(_ sql: String, _ names: [Handle], times: Int = 1) throws -> Source.Row {
        let rows = try source.cachedStatement(sql)
        let list = JSONText.list(names.map(\.text))
        for _ in 0..<times { rows.bind(list) }
        return rows
    }

    /// The users that hold the tokens.
    private func holders(of tokens: [PushToken.Address]) throws -> [PushToken.Address: [Handle]] {
        guard !tokens.isEmpty else { return [:] }
        let rows = try source.cachedStatement(LookUpStatements(source.dialect).holders)
        rows.bind(JSONText.list(tokens.map { String($0.token.suffix(LookUpStatements.tokenEnd)) }))
        var holders: [PushToken.Address: [Handle]] = [:]
        for row in try rows.all({ row throws(StoreFailure) in
            (user: try row.handle(), token: try TokenTable.readToken(row).address)
        }) {
            if holders[row.token]?.contains(row.user) != true { holders[row.token, default: []].append(row.user) }
        }
        return holders
    }

    /// Users with a device that was not seen since `time`, among the next devices in the order of their keys.
    /// - Returns: the users, and where the slice ends; nil after the last device.
    package func unseenUsers(
        since time: Instant, after last: DeviceKey?, limit: Int
    ) throws -> (users: [Handle], end: DeviceKey?) {
        let start = last == nil ? "" : " WHERE (user, device) > (?, ?)"
        let rows = try source.statement(
            "SELECT user, device, seen_at FROM device\(start) ORDER BY user, device LIMIT ?")
        if let last {
            rows.bind(last.user)
            rows.bind(last.device)
        }
        rows.bind(Int64(limit))
        var users: [Handle] = []
        let devices = try rows.all { row throws(StoreFailure) in
            let key = try DeviceTable.readKey(row)
            if try row.instant() <= time, users.last != key.user { users.append(key.user) }
            return key
        }
        return (users, devices.count < limit ? nil : devices.last)
    }
}

/// The statements of lookups. Names are bound as a JSON list.
package struct LookUpStatements {
    /// Push tokens are found by their last characters. Their beginning is the same for many: Web Push tokens are URLs.
    static let tokenEnd = 24

    /// The expression that is indexed for it.
    package static func tokenEnd(_ dialect: SQLDialect) -> String { dialect.end(of: "token", tokenEnd) }

    let devices, tokens, policies, rules, revocations, missed, sentSyncs, aliases, groups, memberships, holders: String

    /// All of them, for a test of their plans.
    package var all: [String] {
        [devices, tokens, policies, rules, revocations, missed, sentSyncs, aliases, groups, memberships, holders]
    }

    package init(_ dialect: SQLDialect) {
        func among(_ column: String) -> String { " WHERE \(dialect.isListed(column))" }
        devices = DeviceTable.layout.select + among("user") + " ORDER BY user, device"
        tokens = TokenTable.layout.select + among("user") + " ORDER BY user, device, position"
        policies = UserTable.layout.select + among("handle")
        rules = RulesTable.layout.select + among("handle")
        revocations = RevocationTable.layout.select + among("handle")
        missed = MissedTable.layout.select + among("user") + " ORDER BY user, at, call"
        // No window of the core's limits is longer than a day.
        let syncs = "FROM push WHERE purpose = 'sync' AND \(dialect.isListed("user"))"
        sentSyncs = """
            SELECT user, device, sent_at \(syncs) AND sent_at IS NOT NULL
            AND intended_at >= (SELECT max(intended_at) \(syncs)) - 86400000 ORDER BY sent_at
            """
        aliases =
            AliasTable.layout.select + among("handle") + " UNION " + AliasTable.layout.select + among("user")
            + " ORDER BY 1"
        groups = GroupTable.layout.select + among("name")
        memberships = "SELECT member, name FROM group_member" + among("member") + " ORDER BY member, name"
        let columns = TokenTable.tokenColumns.joined(separator: ", ")
        holders = "SELECT user, \(columns) FROM push_token" + among(Self.tokenEnd(dialect))
    }
}

extension DirectoryEntry {
    /// The names that the entry leads to: the user behind an alias, and the members of a group that is wanted.
    fileprivate func leads(of groups: Set<Handle>) -> [Handle] {
        (aliasOf.map { [$0] } ?? []) + (groups.contains(name) ? group?.members ?? [] : [])
    }
}
