import CPostgreSQL
import CallVocabulary
import Glibc
import RecordTables
import StoreInterface
import Synchronization

/// A connection to PostgreSQL. Calls block, with a deadline, because a server that is stopped answers nothing and keeps
/// its connections. Confined to one thread at a time.
///
/// A connection that has failed stays failed: its owner opens another.
final class PostgresConnection {
    /// What a connection is for.
    struct Purpose {
        /// Shown in `pg_stat_activity`, with the realm after it.
        var name: String
        /// The longest time without an answer, and of a statement unless the setup says less.
        var patience: Duration
        /// SQL that is run first.
        var setup: [String] = []
        /// Asked again and again while an answer is awaited: whether nobody waits for it any more. Nil for never.
        var isInterrupted: (@Sendable () -> Bool)?

        func applicationName(_ address: PostgresAddress) -> String { "\(name) \(address.realm)" }
    }

    /// Of establishing a connection to one host, and to each of several: one may be off, and libpq takes 2 s at least.
    private static let connectSeconds = (one: 4, ofSeveral: 2)
    /// How long the other machine may leave bytes unacknowledged. A connection that is cut in silence would otherwise keep
    /// commits waiting for their patience, while the lease goes on by another connection. A server that is slow, or waits
    /// for its standby, acknowledges bytes.
    static let longestUnacknowledged = Duration.seconds(2)
    /// Seconds without a packet until the kernel asks the other machine for one, and between such probes. They find a
    /// connection that is cut while an answer is awaited: nothing is unacknowledged then. By the limit above it is given
    /// up at the second probe, whatever `keepalives_count` says (tcp(7), `TCP_USER_TIMEOUT`).
    static let probes = (idle: 1, interval: 1)
    private static let oldestServer = 130_000

    /// For connections with transactions of several messages: a client that is cut off leaves their locks for no longer.
    static let limitsIdleTransactions = "SET idle_in_transaction_session_timeout = '5s'"
    /// Has the database find a connection that is cut, as soon: within a pipeline that limit does not count.
    private static let findsCuts = """
        SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3;
        SET tcp_user_timeout = '5s'
        """

    let address: PostgresAddress
    let library: UnsafePointer<postgresql>
    private let raw: OpaquePointer
    private let patience: Duration
    private let isInterrupted: (@Sendable () -> Bool)?
    /// The names of prepared statements by their text.
    private var prepared: [String: Prepared] = [:]
    private(set) var isBroken = false
    private let notices: Notices

    struct Prepared {
        let name: String
        let parameterCount: Int
    }

    /// The host of the URI that this is a connection to; nil if it names none.
    var host: String? { library.pointee.PQhost(raw).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }

    /// The process id of the database's session, as the other side said it when the connection was made. A connection
    /// pooler says a number of its own.
    var toldSession: Int32 { library.pointee.PQbackendPID(raw) }

    /// The address without secrets, for failures.
    var path: String { address.description }

    /// - Throws: ``StoreFailure``.
    init(_ address: PostgresAddress, _ purpose: Purpose) throws(StoreFailure) {
        if let host = address.exposedHost({ getenv($0).map { String(cString: $0) } }) {
            let (reason, advice) = PostgresAddress.exposure(of: host)
            throw StoreFailure(.invalidAddress, path: address.description, detail: "\(reason): \(advice)")
        }
        let library = try PostgresLibrary.load(for: address.description)
        let connection = Self.connect(library, address, purpose)
        guard let connection, library.pointee.PQstatus(connection) == UInt32(POSTGRESQL_CONNECTION_OK) else {
            let text = connection.flatMap { library.pointee.PQerrorMessage($0) }.map { String(cString: $0) }
            if let connection { library.pointee.PQfinish(connection) }
            throw StoreFailure(connecting: text ?? "no memory", path: address.description)
        }
        self.address = address
        self.library = library
        raw = connection
        notices = Notices(library)
        patience = purpose.patience
        isInterrupted = purpose.isInterrupted
        guard library.pointee.PQsetnonblocking(connection, 1) == 0 else {
            throw StoreFailure(.unreachable, path: address.description, detail: "the connection is lost")
        }
        // libpq writes notices to standard error otherwise.
        _ = library.pointee.PQsetNoticeReceiver(
            connection,
            { context, notice in
                guard let context, let notice else { return }
                Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().take(notice)
            }, Unmanaged.passUnretained(notices).toOpaque())
        try checkServer()
        // Without warnings a cancelled wait for the synchronous standby would look like a commit, whatever the default of
        // the database or the role: see `replicated`.
        // The server ends a statement when nobody waits for its answer any more. While the synchronous standby is away, one
        // that waits for the lock of another one would keep its connection, and so would each repetition.
        try runSimple(
            """
            SET client_min_messages = warning; SET search_path = "\(address.realm)";
            SET statement_timeout = \(max(1, purpose.patience.wholeMilliseconds)); \(Self.findsCuts)
            """)
        // An acknowledged commit is on disk, and on the disk of a synchronous standby, whatever the default of the
        // database or the role.
        try runSimple(
            """
            SELECT set_config('synchronous_commit', 'on', false)
            WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
            """)
        for statement in purpose.setup { try runSimple(statement) }
    }

    /// The order in which the next connection tries the hosts of a URI, as indices. Each connection would wait for a
    /// machine that is switched off otherwise.
    private struct Order {
        var indices: [Int]
        /// Whether the first one is the host of the last connection.
        var isProven = false

        mutating func begin(at position: Int) { indices = Array(indices[position...] + indices[..<position]) }
    }

    private static let orders = Mutex<[String: Order]>([:])

    private static func connect(
        _ library: UnsafePointer<postgresql>, _ address: PostgresAddress, _ purpose: Purpose
    ) -> OpaquePointer? {
        let servers = address.servers
        guard servers.count > 1 else { return attempt(library, address, purpose, at: []) }
        var order = orders.withLock { $0[address.uri] } ?? Order(indices: Array(servers.indices))
        let connection = attempt(library, address, purpose, at: order.indices.map { servers[$0] })
        if let connection, library.pointee.PQstatus(connection) == UInt32(POSTGRESQL_CONNECTION_OK) {
            let host = library.pointee.PQhost(connection).map { String(cString: $0) } ?? ""
            let port = library.pointee.PQport(connection).map { String(cString: $0) } ?? ""
            let position = order.indices.firstIndex {
                servers[$0].host == host && (servers[$0].port.isEmpty || servers[$0].port == port)
            }
            if let position { order.begin(at: position) }
            order.isProven = position != nil
        } else if order.isProven {
            // It may be off, and another one be promoted, which is noticed at once then.
            order.begin(at: 1)
            order.isProven = false
        }
        orders.withLock { $0[address.uri] = order }
        return connection
    }

    /// - Parameter servers: the order in which they are tried; none for that of the URI.
    private static func attempt(
        _ library: UnsafePointer<postgresql>, _ address: PostgresAddress, _ purpose: Purpose,
        at servers: [PostgresAddress.Server]
    ) -> OpaquePointer? {
        let seconds = servers.isEmpty ? connectSeconds.one : connectSeconds.ofSeveral
        // What stands before `dbname` gives way to the URI, what stands after it does not.
        var settings = [
            ("connect_timeout", "\(seconds)"),
            ("tcp_user_timeout", "\(longestUnacknowledged.wholeMilliseconds)"), ("keepalives", "1"),
            ("keepalives_idle", "\(probes.idle)"), ("keepalives_interval", "\(probes.interval)"),
            ("keepalives_count", "2"),
            // A standby may lack rows that a reader expects.
            ("target_session_attrs", "read-write"),
            ("dbname", address.uri), ("client_encoding", "UTF8"),
            ("application_name", purpose.applicationName(address)),
        ]
        if !servers.isEmpty { settings.append(("host", servers.map(\.host).joined(separator: ","))) }
        // Without any, libpq takes that of the environment.
        if servers.contains(where: { !$0.port.isEmpty }) {
            settings.append(("port", servers.map(\.port).joined(separator: ",")))
        }
        let texts = settings.flatMap { [strdup($0.0), strdup($0.1)] }
        defer { for text in texts { free(text) } }
        var keys = stride(from: 0, to: texts.count, by: 2).map { UnsafePointer(texts[$0]) }
        var values = stride(from: 1, to: texts.count, by: 2).map { UnsafePointer(texts[$0]) }
        keys.append(nil)
        values.append(nil)
        return library.pointee.PQconnectdbParams(keys, values, 1)
    }

    private func checkServer() throws(StoreFailure) {
        let version = library.pointee.PQserverVersion(raw)
        guard version >= Self.oldestServer else {
            throw StoreFailure(
                .unsuitableDatabase, path: path, detail: "the server has version \(version / 10_000); 13 is the oldest")
        }
        let encoding = library.pointee.PQparameterStatus(raw, "server_encoding").map { String(cString: $0) } ?? ""
        guard encoding == "UTF8" else {
            throw StoreFailure(
                .unsuitableDatabase, path: path, detail: "the encoding of the database is \(encoding), not UTF8")
        }
    }

    deinit { library.pointee.PQfinish(raw) }

    // MARK: Statements

    /// Runs SQL without parameters, and prepares nothing. Several statements are one message and one transaction: the
    /// server runs all of them, or none when the connection is cut before.
    /// - Returns: the result of each statement, whose values are texts.
    @discardableResult
    func runSimple(_ sql: String) throws(StoreFailure) -> [PostgresResult] {
        guard library.pointee.PQsendQuery(raw, sql) == 1 else { throw lost() }
        return try results()
    }

    /// Runs SQL as ``runSimple(_:)``.
    /// - Returns: the first column of the first row, as text.
    func text(_ sql: String) throws(StoreFailure) -> String? { try runSimple(sql).last?.text(0, 0) }

    /// Runs a statement that ``StatementText`` understands. It is prepared at its first use.
    @discardableResult
    func run(_ text: String, _ parameters: PostgresParameters = PostgresParameters()) throws(StoreFailure)
        -> PostgresResult
    {
        let statement = try prepare(text)
        try send(statement, parameters)
        guard let last = try results().last else { throw lost() }
        return last
    }

    private func prepare(_ text: String) throws(StoreFailure) -> Prepared {
        if let known = prepared[text] { return known }
        let statement = try sendPrepare(text)
        do {
            _ = try results()
        } catch {
            prepared[text] = nil
            throw error
        }
        return statement
    }

    /// Sends the preparation of a statement, which may follow others in a pipeline.
    func sendPrepare(_ text: String) throws(StoreFailure) -> Prepared {
        let translated = StatementText(text)
        let statement = Prepared(name: "s\(prepared.count)", parameterCount: translated.parameterCount)
        guard library.pointee.PQsendPrepare(raw, statement.name, translated.sql, 0, nil) == 1 else { throw lost() }
        prepared[text] = statement
        return statement
    }

    func isPrepared(_ text: String) -> Prepared? { prepared[text] }

    func send(_ statement: Prepared, _ parameters: PostgresParameters) throws(StoreFailure) {
        precondition(parameters.count == statement.parameterCount, "parameters are not bound")
        let count = Int32(parameters.count)
        let isSent = parameters.withArrays { values, lengths, formats in
            library.pointee.PQsendQueryPrepared(raw, statement.name, count, values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw lost() }
    }

    /// Whether the server has warned since this was last asked.
    ///
    /// A commit that has succeeded with a warning may be missing on the synchronous standby: `pg_cancel_backend` ends
    /// the wait for it, and PostgreSQL then reports success (chapter 27.2.8 of its manual).
    func takeWarning() -> Bool {
        defer { notices.hasWarning = false }
        return notices.hasWarning
    }

    /// Runs `body`, which commits.
    /// - Throws: ``StoreFailure/Reason/noSynchronousStandby`` after a warning: what was committed is visible, and counts
    ///   as not done, because a standby that is promoted may not have it.
    @discardableResult
    func replicated<Value>(_ body: () throws(StoreFailure) -> Value) throws(StoreFailure) -> Value {
        notices.hasWarning = false
        let value = try body()
        guard !takeWarning() else {
            throw StoreFailure(
                .noSynchronousStandby, path: path,
                detail: "the wait for the database's synchronous standby server was cancelled")
        }
        return value
    }

    // MARK: Results

    /// The results of what was sent, outside a pipeline.
    private func results() throws(StoreFailure) -> [PostgresResult] {
        var (found, failure): ([PostgresResult], StoreFailure?) = ([], nil)
        let deadline = ContinuousClock.now + patience
        while let result = try nextResult(by: deadline) {
            do throws(StoreFailure) { try check(result) } catch { failure = failure ?? error }
            found.append(result)
        }
        if let failure { throw failure }
        return found
    }

    /// - Throws: the failure that the result is.
    func check(_ result: PostgresResult) throws(StoreFailure) {
        let status = library.pointee.PQresultStatus(result.raw)
        guard status != UInt32(POSTGRESQL_COMMAND_OK), status != UInt32(POSTGRESQL_TUPLES_OK) else { return }
        let isLost = library.pointee.PQstatus(raw) != UInt32(POSTGRESQL_CONNECTION_OK)
        let state = library.pointee.PQresultErrorField(result.raw, Int32(POSTGRESQL_SQLSTATE))
        let message =
            library.pointee.PQresultErrorField(result.raw, Int32(POSTGRESQL_MESSAGE))
            ?? library.pointee.PQresultErrorMessage(result.raw)
        if isLost { isBroken = true }
        throw StoreFailure(
            sqlState: state.map { String(cString: $0) }, message: message.map { String(cString: $0) } ?? "",
            isLost: isLost, path: path)
    }

    /// The next result, or nil where libpq has none: between the results of a pipeline, and at the end of others.
    func nextResult(by deadline: ContinuousClock.Instant) throws(StoreFailure) -> PostgresResult? {
        while true {
            let unsent = library.pointee.PQflush(raw)
            guard unsent >= 0 else { throw lost() }
            if library.pointee.PQisBusy(raw) == 0 { break }
            try wait(toWrite: unsent > 0, by: deadline)
            guard library.pointee.PQconsumeInput(raw) == 1 else { throw lost() }
        }
        let result = library.pointee.PQgetResult(raw).map { PostgresResult($0, library) }
        if result == nil, library.pointee.PQstatus(raw) != UInt32(POSTGRESQL_CONNECTION_OK) { throw lost() }
        return result
    }

    /// Gives the kernel what was sent so far, as far as it takes it.
    func flush() throws(StoreFailure) {
        guard library.pointee.PQflush(raw) >= 0 else { throw lost() }
    }

    private func wait(toWrite: Bool, by deadline: ContinuousClock.Instant) throws(StoreFailure) {
        let left = deadline - ContinuousClock.now
        guard left > .zero else {
            isBroken = true
            throw StoreFailure(.unreachable, path: path, detail: "the server has not answered for \(patience)")
        }
        if let isInterrupted, isInterrupted() {
            isBroken = true
            throw StoreFailure(.closed, path: path, detail: "the read was ended: its connection is being closed")
        }
        let longest = isInterrupted == nil ? 60_000.0 : 50
        let events = Int16(POLLIN) | (toWrite ? Int16(POLLOUT) : 0)
        var descriptor = pollfd(fd: library.pointee.PQsocket(raw), events: events, revents: 0)
        _ = poll(&descriptor, 1, Int32(min(left / .milliseconds(1) + 1, longest)))
    }

    private func lost() -> StoreFailure {
        isBroken = true
        let text = library.pointee.PQerrorMessage(raw).map { String(cString: $0) } ?? ""
        return StoreFailure(.unreachable, path: path, detail: StoreFailure.oneLine(text, or: "the connection is lost"))
    }

    // MARK: Pipelines

    /// Sends many statements without waiting for each.
    func pipeline(_ body: (PostgresPipeline) throws(StoreFailure) -> Void) throws(StoreFailure) -> [PostgresResult] {
        guard library.pointee.PQenterPipelineMode(raw) == 1 else { throw lost() }
        let pipeline = PostgresPipeline(self)
        do {
            try body(pipeline)
        } catch {
            // What was sent cannot be taken back.
            isBroken = true
            throw error
        }
        guard library.pointee.PQpipelineSync(raw) == 1 else { throw lost() }
        let found = try endPipeline()
        return try found.get()
    }

    /// Reads the results of a pipeline. The statements after a failed one are skipped by the server.
    private func endPipeline() throws(StoreFailure) -> Result<[PostgresResult], StoreFailure> {
        var (found, failure): ([PostgresResult], StoreFailure?) = ([], nil)
        while true {
            guard let result = try nextResult(by: .now + patience) else { continue }
            let status = library.pointee.PQresultStatus(result.raw)
            if status == UInt32(POSTGRESQL_PIPELINE_SYNC) { break }
            if status == UInt32(POSTGRESQL_PIPELINE_ABORTED) { continue }
            do throws(StoreFailure) { try check(result) } catch { failure = failure ?? error }
            found.append(result)
        }
        guard try nextResult(by: .now + patience) == nil, library.pointee.PQexitPipelineMode(raw) == 1 else {
            throw lost()
        }
        // Statements behind the failed one are not prepared, and the transaction is open.
        if failure != nil { isBroken = true }
        return failure.map { .failure($0) } ?? .success(found)
    }

    /// Ends a transaction that a failure has left open.
    func rollBack() {
        guard !isBroken else { return }
        do { try runSimple("ROLLBACK") } catch { isBroken = true }
    }
}

@available(*, unavailable)
extension PostgresConnection: Sendable {}
