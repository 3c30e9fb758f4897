import GRDB
import GRDBSQLite
import Synchronization

/// Carries the pages of the WAL over into the database, most of them beside the commits, not before one.
///
/// SQLite by itself does it in whichever commit finds the WAL long: that one then waits for a thousand pages to be read,
/// written and synced. Here a connection of its own does this on a thread of its own, while commits go on, and the
/// store's connection carries over only what has come meanwhile, so that the WAL can begin anew.
///
/// Confined to the thread of its store's connection.
final class Checkpoints {
    /// When pages are carried over.
    struct Pace: Sendable {
        /// Pages in the WAL since the last time (SQLite's own default).
        var pages: Int32 = 1000
        /// With so many, the store's connection carries over all of them: that beside does not keep up, or fails. 32 MB.
        var most: Int32 = 8000
    }

    private let pace: Pace
    private let queue: DatabaseQueue
    private let beside: CheckpointBeside
    private var isUnderWay = false
    /// In the WAL after the last commit of the store's connection.
    private let pages: UnsafeMutablePointer<Int32>
    /// In the WAL when it was last carried over; 0 once it has begun anew.
    private var carried: Int32 = 0

    /// - Parameters:
    ///   - queue: the store's connection, which no longer checkpoints by itself from now on.
    ///   - path: of its database.
    init(_ queue: DatabaseQueue, path: String, pace: Pace = Pace()) throws {
        beside = try CheckpointBeside(path: path)
        self.pace = pace
        self.queue = queue
        pages = .allocate(capacity: 1)
        pages.initialize(to: 0)
        // SQLite's own checkpoints are such a hook too: this one takes their place.
        queue.inDatabase { [pages] in _ = sqlite3_wal_hook($0.sqliteConnection, noteSize, pages) }
    }

    /// To be called after each transaction of the store's connection, out of it.
    func advance() {
        if pages.pointee < carried { carried = 0 }
        if isUnderWay, beside.isDone {
            isUnderWay = false
            carryRest()
        } else if pages.pointee - carried >= pace.most {
            carryRest()
        } else if !isUnderWay, pages.pointee - carried >= pace.pages {
            isUnderWay = true
            beside.begin()
        }
    }

    /// What fails is tried again some pages later; a disk that is full or broken shows in the commits themselves.
    private func carryRest() {
        _ = try? queue.inDatabase { try $0.checkpoint(.passive) }
        carried = pages.pointee
    }

    /// Waits for what is under way. The store's connection checkpoints itself from now on.
    func close() {
        beside.close()
        queue.inDatabase { _ = sqlite3_wal_autocheckpoint($0.sqliteConnection, pace.pages) }
    }

    deinit { pages.deallocate() }
}

@available(*, unavailable)
extension Checkpoints: Sendable {}

/// The connection that carries pages over while commits go on.
private final class CheckpointBeside: Sendable {
    private let queue: DatabaseQueue
    private let done = Atomic<Bool>(false)

    init(path: String) throws {
        var configuration = Configuration()
        configuration.label = "checkpoint"
        configuration.busyMode = .immediateError
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Whether what was begun last has ended.
    var isDone: Bool { done.load(ordering: .acquiring) }

    func begin() {
        done.store(false, ordering: .relaxed)
        queue.asyncWriteWithoutTransaction { [self] database in
            _ = try? database.checkpoint(.passive)
            // With commits in between, SQLite has left the sync to the checkpoint that finds nothing more to carry: the
            // one that commits wait for.
            Self.sync(database)
            done.store(true, ordering: .releasing)
        }
    }

    /// Waits for what is under way.
    func close() { try? queue.close() }

    private static func sync(_ database: Database) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let result = sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard result == SQLITE_OK, let file, let methods = file.pointee.pMethods else { return }
        _ = methods.pointee.xSync(file, SQLITE_SYNC_NORMAL)
    }
}

private func noteSize(
    _ pages: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, _ count: Int32
) -> Int32 {
    // Set with the hook, and valid as long as it is.
    pages!.storeBytes(of: count, as: Int32.self)
    return SQLITE_OK
}
