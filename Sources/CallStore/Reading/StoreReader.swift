import CallCore
import CallVocabulary
import GRDB
import Glibc
import StoreInterface
import Synchronization

/// Reads a store through its own read-only connection, in any process, with or without a running server. It does not
/// block a running server. It takes the folder's lock only to apply the journal of a killed server, and a starting
/// server then waits for it.
///
/// Each method reads one consistent state, as of the last commit applied to the tables. Under load the tables may lag
/// by half a second, or more where the machine lacks cores, because commits go to a journal first (see
/// ``CallStore/CallStore``). May be called from any thread; calls are serialized. ``close()`` it in a long-running
/// process: its open files keep the descriptors of the process's other connections to the same store open.
public final class StoreReader: Sendable {
    /// How long to wait for a running server's tables, or for another reader of a killed server's folder.
    static let patience = Duration.seconds(2)
    private static let pause = Duration.milliseconds(10)

    private let queue: DatabaseQueue
    private let path: String
    private let isClosed = Mutex(false)
    private let stop = QueryStop()

    private init(queue: DatabaseQueue, path: String) {
        self.queue = queue
        self.path = path
        stop.began(queue)
    }

    /// Opens the store so that it shows everything acknowledged before this call. First applies the journal of a killed
    /// server to the tables. Waits up to two seconds, usually half a second, for the tables of a running server, and
    /// then reads them as they are.
    ///
    /// - Parameter replays: false reads the tables as they are.
    /// - Throws: ``StoreFailure`` when the folder has no store, is not readable (or after such a kill not writable), or
    ///   a later version has written it.
    public static func open(folder: String, replays: Bool = true) throws(StoreFailure) -> StoreReader {
        let path = StoreFolder.database(in: folder)
        try StoreCheck.refuseAbsent(in: folder)
        if replays { try StoreCheck.refuseDamaged(in: folder) }
        var (queue, settled) = try connect(path)
        guard replays, let last = try JournalEntries.lastBehind(path, settled) else {
            return StoreReader(queue: queue, path: path)
        }
        let deadline = ContinuousClock.now + patience
        repeat {
            // No other connection in this process may have the file open while the store opens and closes it: on a
            // close the kernel drops all locks that the process has on the file.
            try StoreFailure.wrap(path) { try queue.close() }
            let isReplayed = try replayJournal(in: folder)
            if !isReplayed { usleep(UInt32(pause / .microseconds(1))) }
            (queue, settled) = try connect(path)
            if isReplayed { break }
        } while settled.through < last && ContinuousClock.now < deadline
        return StoreReader(queue: queue, path: path)
    }

    private static func connect(_ path: String) throws(StoreFailure) -> (DatabaseQueue, SettledCommits) {
        try StoreFailure.wrap(path) {
            let queue = try StoreConnection.open(path, StoreConnection.reading("store reader"))
            let settled = try queue.read { database in
                try Schema.refuseNewer(database, path: path)
                guard try Schema.migrator.hasCompletedMigrations(database) else {
                    throw StoreFailure(
                        .noStore, path: path,
                        detail: "the file is not a store of this version; start a server on it first")
                }
                return try SettledCommits.read(database)
            }
            return (queue, settled)
        }
    }

    /// - Returns: false while a server, which applies the journal itself, or another reader has the folder.
    private static func replayJournal(in folder: String) throws(StoreFailure) -> Bool {
        do {
            try CallStore.open(folder: folder, patience: .zero).close()
            return true
        } catch {
            if case .locked = error.reason { return false }
            throw error
        }
    }

    /// Closes the connection, after a read in progress. Later reads fail (``StoreFailure/Reason/closed``). No effect
    /// when it is closed.
    public func close() {
        isClosed.withLock { isClosed in
            guard !isClosed else { return }
            isClosed = true
            stop.ended()
            // Every statement has ended with its read, so the close cannot fail.
            try? queue.close()
        }
    }

    /// See `TableReader.interrupt()`.
    package func interrupt() { stop.request() }

    /// Runs `body` on one consistent state of the database.
    func read<Result>(_ body: (Database) throws -> Result) throws(StoreFailure) -> Result {
        var result: Result?
        // Locked during the read: GRDB 7.10 passes SQLite a null pointer when it reads through a closed queue.
        try isClosed.withLock { isClosed throws(StoreFailure) in
            guard !isClosed, !stop.isRequested else {
                throw StoreFailure(.closed, path: path, detail: "the reader is closed")
            }
            result = try StoreFailure.wrap(path) { try queue.read(body) }
        }
        guard let result else { preconditionFailure("a read that did not throw has a result") }
        return result
    }
}
