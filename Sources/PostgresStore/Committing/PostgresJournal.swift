import CallVocabulary
import RecordTables
import StoreInterface

/// The journal of commits in PostgreSQL: one row each, durable before it is acknowledged.
///
/// Its last row is the last commit. The row without operations is the last one that is in the tables; those after it
/// are not.
final class PostgresJournal {
    /// The format of entries: the numbers and parameters of ``StoreStatement``.
    static let format: Int64 = 1

    /// How an attempt to append ended of which no answer came.
    enum Outcome {
        case written
        case notWritten
    }

    /// The longest wait for the answer to a commit.
    static let patience = Duration.seconds(10)

    /// One statement, one round trip, one flush. The lock on `home` is held against a take-over, which therefore waits
    /// for the end of a commit under way, and then makes all later ones write nothing.
    private static let append = """
        WITH own AS (SELECT 1 FROM home WHERE epoch = ?2 AND term = ?3 FOR NO KEY UPDATE)
        INSERT INTO journal (commit_no, epoch, term, format, operations)
        SELECT ?1::bigint, ?2::bigint, ?3::uuid, ?4::smallint, ?5::bytea
        FROM own WHERE (SELECT max(commit_no) FROM journal) = ?1 - 1
        """

    private let address: PostgresAddress
    private let key: TermKey
    private let patience: Duration
    private var connection: PostgresConnection?

    init(
        _ address: PostgresAddress, _ key: TermKey, connection: PostgresConnection, patience: Duration = patience
    ) {
        self.address = address
        self.key = key
        self.connection = connection
        self.patience = patience
    }

    static func connect(
        _ address: PostgresAddress, patience: Duration = patience
    ) throws(StoreFailure) -> PostgresConnection {
        try PostgresConnection(address, purpose(patience))
    }

    static func purpose(_ patience: Duration = patience) -> PostgresConnection.Purpose {
        PostgresConnection.Purpose(
            name: "reveille commits", patience: patience,
            setup: ["SET statement_timeout = '8s'"])
    }

    /// - Throws: ``StoreFailure``. Whether the commit was written is then unknown: see ``outcome(of:)``.
    func append(_ number: Int64, _ operations: UnsafeRawBufferPointer) throws(StoreFailure) {
        try onConnection { connection throws(StoreFailure) in
            var parameters = PostgresParameters()
            parameters.bind(number)
            parameters.bind(key)
            // A smallint.
            withUnsafeBytes(of: Int16(Self.format).bigEndian) { parameters.bind(copying: $0) }
            parameters.bindInPlace(operations)
            let isWritten = try connection.run(Self.append, parameters).changedCount == 1
            if !connection.takeWarning(), isWritten { return }
            if case .written = try outcome(of: number, connection) { return }
            throw StoreFailure(.busy, path: address.description, detail: "commit \(number) was not written")
        }
    }

    /// Finds how a failed ``append(_:_:)`` ended.
    /// - Throws: ``StoreFailure``: ``StoreFailure/Reason/fenced`` when another process is the home,
    ///   ``StoreFailure/Reason/lostCommits`` when earlier commits are missing.
    func outcome(of number: Int64) throws(StoreFailure) -> Outcome {
        try onConnection { connection throws(StoreFailure) in try outcome(of: number, connection) }
    }

    private func outcome(
        of number: Int64, _ connection: PostgresConnection
    ) throws(StoreFailure) -> Outcome {
        // The lock waits for the end of an attempt whose connection was lost. It is in the write-ahead log behind the
        // commit, so that the synchronous standby then has both. The second statement sees what was committed while the
        // lock was awaited. Both are one message: a connection that is cut leaves no lock, for which a take-over would
        // wait.
        let results = try connection.replicated { () throws(StoreFailure) in
            try connection.runSimple(
                """
                \(key.home) FOR NO KEY UPDATE;
                SELECT commit_no, term = '\(key.id)' FROM journal ORDER BY commit_no DESC LIMIT 1
                """)
        }
        guard results.first?.rowCount == 1 else {
            throw StoreFailure(.fenced, path: address.description, detail: "another process is the realm's home")
        }
        let row = results.last
        let last = Int64(digits: row?.text(0, 0) ?? "", in: 0...Int64.max) ?? -1
        if last == number, row?.text(0, 1) == "t" { return .written }
        if last == number - 1 { return .notWritten }
        throw StoreFailure(
            .lostCommits, path: address.description,
            detail: "its last commit is \(last), and commit \(number - 1) was acknowledged")
    }

    private func onConnection<Result>(
        _ body: (PostgresConnection) throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        let connection = if let known = self.connection { known } else { try Self.connect(address, patience: patience) }
        self.connection = connection
        do throws(StoreFailure) {
            return try body(connection)
        } catch {
            // A transaction may be open, and a late answer may come.
            self.connection = nil
            throw SynchronousStandby.explain(error, address)
        }
    }

    func close() { connection = nil }

    // MARK: Reading

    private static let mostCommits: Int64 = 1 << 53

    struct Entry {
        var number: Int64
        var operations: [UInt8]
    }

    /// The last commit, and the last one that the tables have.
    static func ends(_ connection: PostgresConnection) throws(StoreFailure) -> (last: Int64, settled: Int64) {
        let row = try connection.run(
            """
            SELECT (SELECT max(commit_no) FROM journal),
                (SELECT max(commit_no) FROM journal WHERE operations IS NULL)
            """)
        guard let last = row.int(0, 0), let settled = row.int(0, 1) else {
            throw StoreFailure(.corrupted, path: connection.path, detail: "the table journal has no settled row")
        }
        // The next commit has a number, too.
        guard settled >= 0, settled <= last, last < mostCommits else {
            throw StoreFailure(
                .corrupted, path: connection.path,
                detail: "the table journal has commits \(settled) to \(last); numbers are 0 to \(mostCommits)")
        }
        return (last, settled)
    }

    /// The commits after `settled`, up to `last`.
    /// - Throws: ``StoreFailure/Reason/newerVersion`` for entries of another version.
    static func entries(
        _ connection: PostgresConnection, after settled: Int64, through last: Int64, limit: Int
    ) throws(StoreFailure) -> [Entry] {
        var parameters = PostgresParameters()
        parameters.bind(settled)
        parameters.bind(last)
        parameters.bind(Int64(limit))
        let rows = try connection.run(
            """
            SELECT commit_no, format, operations FROM journal
            WHERE commit_no > ? AND commit_no <= ? AND operations IS NOT NULL ORDER BY commit_no LIMIT ?
            """, parameters)
        var entries: [Entry] = []
        for row in 0..<rows.rowCount {
            let number = rows.int(row, 0) ?? 0
            guard number == settled + Int64(entries.count) + 1 else {
                throw StoreFailure(
                    .corrupted, path: connection.path,
                    detail: "the journal lacks commit \(settled + Int64(entries.count) + 1)")
            }
            guard rows.int(row, 1) == format else {
                throw StoreFailure(
                    .newerVersion, path: connection.path,
                    detail: "entry \(number) of the journal has the format of another version")
            }
            entries.append(Entry(number: number, operations: rows.withBytes(row, 2) { Array($0) } ?? []))
        }
        return entries
    }
}

@available(*, unavailable)
extension PostgresJournal: Sendable {}
