import CallCore
import Glibc
import RecordTables
import StoreInterface
import Synchronization

/// Reads a realm through its own connection, in any process, with or without a running server. Under load the tables
/// lag by half a second.
///
/// May be called from any thread; calls are serialized. A lost connection is made again by the next call.
///
/// Proof for `@unchecked`: the connection is used only while `turn` is held.
package final class PostgresReader: TableReader, @unchecked Sendable {
    package typealias Source = PostgresStatements

    private let address: PostgresAddress
    private let patience: Duration
    private let turn = Mutex<Bool>(false)
    private let isInterrupted = Atomic(false)
    private var connection: PostgresConnection?

    /// Opens the realm so that reads show everything acknowledged before this call: waits up to two seconds, usually some
    /// milliseconds, for the tables of a running home, and then reads them as they are.
    ///
    /// After a kill of the home the tables lack what it acknowledged last, under load of half a second, until the next
    /// home has started. A reader does not apply it, because it would have to become the home, and a home that is only
    /// cut off from the database for a moment would be fenced.
    /// - Parameter waits: false reads the tables as they are.
    /// - Throws: ``StoreFailure``, also when there is no store.
    package static func open(
        _ address: PostgresAddress, waits: Bool = true, patience: Duration = .seconds(600)
    ) throws(StoreFailure) -> PostgresReader {
        let reader = PostgresReader(address, patience: patience)
        do throws(StoreFailure) {
            var ends = try reader.read { try PostgresJournal.ends($0) }
            let (last, deadline) = (ends.last, ContinuousClock.now + .seconds(2))
            while waits, ends.settled < last, ContinuousClock.now < deadline {
                guard try reader.read({ try Lease.isHeld($0) }) else { break }
                usleep(10_000)
                ends = try reader.read { try PostgresJournal.ends($0) }
            }
        } catch {
            reader.close()
            throw error
        }
        return reader
    }

    /// Connects at the first read.
    /// - Parameter patience: the longest time of one statement.
    package init(_ address: PostgresAddress, patience: Duration = .seconds(600)) {
        self.address = address
        self.patience = patience
    }

    package func query<Value>(_ body: (TableQueries<PostgresStatements>) throws -> Value) throws(StoreFailure) -> Value
    {
        try read { connection in try body(TableQueries(PostgresStatements(connection: connection))) }
    }

    /// Runs `body` on one consistent state of the tables.
    func read<Value>(_ body: (PostgresConnection) throws -> Value) throws(StoreFailure) -> Value {
        var value: Value?
        let failure: StoreFailure? = turn.withLock { isClosed in
            do throws(StoreFailure) {
                guard !isClosed, !isInterrupted.load(ordering: .relaxed) else {
                    throw StoreFailure(.closed, path: address.description, detail: "the reader is closed")
                }
                value = try attempt(body)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        guard let value else { preconditionFailure("a read that did not throw has a result") }
        return value
    }

    private func attempt<Value>(_ body: (PostgresConnection) throws -> Value) throws(StoreFailure) -> Value {
        let wasOpen = connection != nil
        do throws(StoreFailure) {
            return try readOnce(body)
        } catch {
            // The server may have ended an idle connection, or was started again since.
            guard wasOpen, error.reason == .unreachable else { throw error }
            return try readOnce(body)
        }
    }

    private func readOnce<Value>(_ body: (PostgresConnection) throws -> Value) throws(StoreFailure) -> Value {
        let connection = if let known = self.connection { known } else { try open() }
        self.connection = connection
        do throws(StoreFailure) {
            try connection.runSimple("BEGIN")
            let value = try StoreFailure.wrap(address.description) { try body(connection) }
            try connection.runSimple("COMMIT")
            return value
        } catch {
            if error.reason == .closed { endSession(of: connection) }
            connection.rollBack()
            if connection.isBroken { self.connection = nil }
            throw error
        }
    }

    /// Ends the statement of an interrupted read in the database, which would go on until its time is over.
    private func endSession(of connection: PostgresConnection) {
        let purpose = PostgresConnection.Purpose(name: "reveille cancel", patience: .seconds(2))
        guard let other = try? PostgresConnection(address, purpose) else { return }
        var parameters = PostgresParameters()
        parameters.bind(Int64(connection.toldSession))
        parameters.bind(self.purpose.applicationName(address))
        _ = try? other.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ?::bigint AND application_name = ?
            """, parameters)
    }

    private var purpose: PostgresConnection.Purpose {
        PostgresConnection.Purpose(
            name: "reveille queries", patience: patience,
            setup: ["SET default_transaction_isolation = 'repeatable read'", "SET default_transaction_read_only = on"],
            isInterrupted: { [weak self] in self?.isInterrupted.load(ordering: .relaxed) ?? true })
    }

    private func open() throws(StoreFailure) -> PostgresConnection {
        let made = try PostgresConnection(address, purpose)
        switch try PostgresSchema.version(made) {
        case PostgresSchema.newest: return made
        case nil:
            throw StoreFailure(
                .noStore, path: address.description, detail: "the database has no realm \(address.realm)")
        case let version?:
            throw StoreFailure(
                version > PostgresSchema.newest ? .newerVersion : .noStore, path: address.description,
                detail: "its schema has version \(version), not \(PostgresSchema.newest)")
        }
    }

    package func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

    package func close() {
        turn.withLock { isClosed in
            isClosed = true
            connection = nil
        }
    }
}
