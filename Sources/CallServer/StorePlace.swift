import CallCore
import CallStore
import Foundation
import Logging
import PostgresStore
import RecordTables
import StoreInterface

/// Where the records of a server are.
public enum StorePlace: Sendable, CustomStringConvertible {
    /// SQLite.
    case folder(DataFolder)
    /// PostgreSQL.
    case database(PostgresAddress)

    public var description: String {
        switch self {
        case .folder(let folder): folder.path
        case .database(let address): "\(address)"
        }
    }

    /// Runs `body` with queries on the store, whether a server runs on it or not.
    /// - Parameter replays: false reads the tables as they are, without applying the journal of a killed server to
    ///   SQLite's, and without waiting for those of a running server.
    /// - Throws: `StoreFailure` when there is no store to read, or what `body` throws.
    public func withQueries<Result>(
        replays: Bool = true, _ body: (any StoreQueries) async throws -> Result
    ) async throws -> Result {
        switch self {
        case .folder(let folder): return try await folder.withQueries(replays: replays, body)
        case .database(let address):
            let queries = try PostgresQueries.open(address, thread: "queries", waits: replays)
            do {
                let result = try await body(queries)
                await queries.close()
                return result
            } catch {
                await queries.close()
                throw error
            }
        }
    }
}

extension StorePlace {
    /// Copies the whole content of this store to an empty one. No server may run on either.
    /// - Returns: the number of rows of each table.
    /// - Throws: `StoreFailure`; the other store is unchanged then.
    public func copy(to other: StorePlace) async throws(StoreFailure) -> [String: Int] {
        let copyName = "reveille store copy"
        switch (self, other) {
        case (.folder(let from), .folder(let to)):
            try from.checkStoreIsHere()
            try StoreReader.open(folder: from.path).close()
            let (source, target) = (try CallStore.open(folder: from.path), try CallStore.open(folder: to.path))
            let counts = try StoreCopy.run(from: source, to: target)
            to.forgetDatabase()
            return counts
        case (.folder(let from), .database(let to)):
            try from.checkStoreIsHere()
            // Tells whether there is a store.
            try StoreReader.open(folder: from.path).close()
            let (source, target) = (try CallStore.open(folder: from.path), try Self.open(to, for: copyName))
            return try StoreCopy.run(from: source, to: target)
        case (.database(let from), .folder(let to)):
            try await PostgresQueries.open(from, thread: "copy", waits: false).close()
            let (source, target) = (try Self.open(from, for: copyName), try CallStore.open(folder: to.path))
            let counts = try StoreCopy.run(from: source, to: target)
            to.forgetDatabase()
            return counts
        case (.database(let from), .database(let to)):
            try await PostgresQueries.open(from, thread: "copy", waits: false).close()
            let (source, target) = (try Self.open(from, for: copyName), try Self.open(to, for: copyName))
            return try StoreCopy.run(from: source, to: target)
        }
    }

    /// Makes a store and commits these batches to it, before a server runs there.
    /// - Throws: `StoreFailure`.
    public func fill(with batches: some Sequence<[StoreRecord]>) throws(StoreFailure) {
        switch self {
        case .folder(let folder):
            let store = try CallStore.open(folder: folder.path)
            defer { store.close() }
            for batch in batches { try store.commit(batch) }
        case .database(let address):
            let store = try Self.open(address, for: "reveille load")
            defer { store.close() }
            for batch in batches { try store.commit(batch) }
        }
    }

    /// - Parameter command: the name of this process as the realm's home.
    private static func open(
        _ address: PostgresAddress, for command: String
    ) throws(StoreFailure) -> PostgresStore {
        try PostgresStore.open(
            address,
            name: "\(command) on \(ProcessInfo.processInfo.hostName), "
                + "process \(ProcessInfo.processInfo.processIdentifier)")
    }
}

extension DataFolder {
    private static let databaseFile = "store.database"

    private var databasePath: String { path + "/" + Self.databaseFile }

    /// Writes down in the folder which database has the store, for commands that read the folder; removes that for a store
    /// in the folder.
    func note(database: PostgresAddress?, _ log: Logger) {
        guard let database else { return forgetDatabase() }
        // Without passwords.
        let text = "\(database)\n"
        do {
            if try Self.text(at: databasePath) != text { try replace(Self.databaseFile, with: text.utf8) }
        } catch {
            log.warning("commands that read the data folder may find an old store there: \(error)")
        }
    }

    /// The store is in this folder from now on.
    public func forgetDatabase() { unlink(databasePath) }

    /// Refuses a folder whose last server had its store in a database: what the folder has is older.
    public func checkStoreIsHere() throws(StoreFailure) {
        guard let text = try? Self.text(at: databasePath) else { return }
        let database = text.split(whereSeparator: \.isNewline).first ?? "a database"
        throw StoreFailure(
            .noStore, path: path,
            detail:
                "its last server had the store in \(database), and what is here is older; name that database with --data or in the setting store, or remove \(databasePath) to use what is here"
        )
    }

    /// Runs `body` with queries on the store in the folder, whether a server runs on it or not.
    /// - Parameter replays: false reads the tables as they are, without applying the journal of a killed server.
    /// - Throws: `StoreFailure` when there is no store to read, or what `body` throws.
    public func withQueries<Result>(
        replays: Bool = true, _ body: (any StoreQueries) async throws -> Result
    ) async throws -> Result {
        try checkStoreIsHere()
        let queries = try SQLiteQueries.open(folder: path, thread: "queries", replays: replays)
        do {
            let result = try await body(queries)
            await queries.close()
            return result
        } catch {
            await queries.close()
            throw error
        }
    }
}
