import CallVocabulary
import RecordTables
import StoreInterface

/// The SQL of the table of nodes.
enum RealmTable {
    /// Also removes a process of the same name that has ended without a word: this one has taken its place.
    private static let beatStatement = """
        WITH former AS (
            DELETE FROM node WHERE name = ?2 AND id <> ?1 AND seen_at < now() - interval '2 seconds'
        )
        INSERT INTO node (id, name, address, version, role) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (id) DO UPDATE SET role = excluded.role, seen_at = now()
        """
    /// The tables of an earlier version have no column for problems.
    private static let list = """
        SELECT n.id, n.name, n.address, n.version, n.id = l.owner AND l.until > now(),
            (extract(epoch FROM n.started_at) * 1000)::bigint, (extract(epoch FROM now() - n.seen_at) * 1000)::bigint,
            n.role = 'standby', CASE n.role WHEN 'standby' THEN to_json(n)->>'problem' END
        FROM node n, lease l WHERE n.seen_at > now() - interval '1 day' ORDER BY 5 DESC, n.name, n.started_at
        """
    private static let lease = """
        SELECT epoch, address, CASE WHEN until <= now() THEN 0
                ELSE (extract(epoch FROM least(until, now() + interval '1 day') - now()) * 1000)::bigint END,
            handover_to, (SELECT count(*) FROM journal WHERE operations IS NOT NULL) FROM lease
        """
    private static let standbyNames = """
        SELECT name FROM node WHERE role = 'standby' AND seen_at > now() - interval '\(RealmStatus.Member.silence / .milliseconds(1)) milliseconds'
        """
    private static let namesakes = """
        SELECT count(*) FROM node WHERE name = ? AND id <> ? AND seen_at > now() - interval '\(RealmStatus.Member.silence / .milliseconds(1)) milliseconds'
        """
    private static let askFor = "UPDATE lease SET handover_to = ? WHERE until > now() AND owner <> ?"

    /// Says that the node runs.
    static func beat(_ node: RealmNode, isHome: Bool, _ connection: PostgresConnection) throws(StoreFailure) {
        var parameters = PostgresParameters()
        parameters.bind(node.id)
        for text in [node.name, node.address, node.version, isHome ? "home" : "standby"] { parameters.bind(text) }
        try connection.run(beatStatement, parameters)
    }

    /// Says what is wrong with the node; nil for nothing.
    static func note(
        problem: String?, of node: RealmNode, _ connection: PostgresConnection
    ) throws(StoreFailure) {
        var parameters = PostgresParameters()
        if let problem { parameters.bind(problem) } else { parameters.bindNull() }
        parameters.bind(node.id)
        try connection.run("UPDATE node SET problem = ? WHERE id = ?", parameters)
    }

    /// Whether another process that runs has the node's name.
    static func hasNamesake(_ node: RealmNode, _ connection: PostgresConnection) throws(StoreFailure) -> Bool {
        var parameters = PostgresParameters()
        parameters.bind(node.name)
        parameters.bind(node.id)
        return try connection.run(namesakes, parameters).int(0, 0) ?? 0 > 0
    }

    /// Removes a node that ends, and those that have not been heard of for a day.
    static func remove(_ node: RealmNode, _ connection: PostgresConnection) throws(StoreFailure) {
        var parameters = PostgresParameters()
        parameters.bind(node.id)
        try connection.run("DELETE FROM node WHERE id = ? OR seen_at < now() - interval '1 day'", parameters)
    }

    /// The names of those that stand by.
    static func standbys(_ connection: PostgresConnection) throws(StoreFailure) -> [String] {
        let rows = try connection.run(standbyNames)
        return (0..<rows.rowCount).compactMap { rows.words($0, 0) }
    }

    static func status(_ connection: PostgresConnection) throws(StoreFailure) -> RealmStatus {
        let rows = try connection.run(list)
        let members = (0..<rows.rowCount).map { row in
            RealmStatus.Member(
                node: RealmNode(
                    id: identifier(rows, row, 0) ?? RealmStatus.nobody, name: rows.words(row, 1) ?? "",
                    address: rows.words(row, 2) ?? "", version: rows.words(row, 3) ?? ""),
                isHome: rows.int(row, 4) == 1, saidStandby: rows.int(row, 7) == 1, problem: rows.words(row, 8),
                startedAt: Instant(milliseconds: rows.amount(row, 5) ?? 0),
                age: .milliseconds(rows.amount(row, 6) ?? 0))
        }
        let row = try connection.run(lease)
        return RealmStatus(
            epoch: row.int(0, 0) ?? 0, home: row.words(0, 1), lease: .milliseconds(row.amount(0, 2) ?? 0),
            successor: identifier(row, 0, 3), members: members, unapplied: Int(row.amount(0, 4) ?? 0),
            warnings: try DatabaseState.warnings(connection),
            databaseStandbys: try DatabaseState.standbyCount(connection))
    }

    /// Asks the home to hand over.
    /// - Returns: false when there is no home, or `node` is it.
    static func handOver(
        to node: Identifier<RealmNode>, _ connection: PostgresConnection
    ) throws(StoreFailure) -> Bool {
        var parameters = PostgresParameters()
        parameters.bind(node)
        parameters.bind(node)
        return try connection.run(askFor, parameters).changedCount == 1
    }

    private static func identifier(
        _ result: PostgresResult, _ row: Int32, _ column: Int32
    ) -> Identifier<RealmNode>? {
        result.withBytes(row, column) { Identifier<RealmNode>(bytes: $0) } ?? nil
    }
}

extension RealmStatus {
    fileprivate static let nobody = Identifier<RealmNode>(high: 0, low: 0)
}
