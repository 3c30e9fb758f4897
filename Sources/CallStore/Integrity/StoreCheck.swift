import Foundation
import GRDB
import Glibc
import StoreInterface

/// Checks that the files of a store hold all that was acknowledged, before anything is written, so that refused files
/// stay unchanged.
struct StoreCheck {
    /// Possible losses, which are reported and not refused: a power failure can look the same as damage.
    private(set) var doubts: [String] = []

    private let path: String
    private let mark: CommitMark.Found
    /// The logs of the database and of the journal.
    private let logs: (database: LogCheck, journal: LogCheck)

    /// - Parameter path: the database, which no server has open.
    /// - Throws: ``StoreFailure`` when acknowledged records or a file are missing.
    static func doubts(about path: String) throws(StoreFailure) -> [String] {
        var check = StoreCheck(path: path)
        try check.run()
        return check.doubts
    }

    /// Refuses a folder without a store; says so if it had one.
    static func refuseAbsent(in folder: String) throws(StoreFailure) {
        guard !StoreFolder.isDirectory(folder) || access(folder, X_OK) == 0 || errno != EACCES else {
            throw StoreFailure(
                .noStore, path: folder,
                detail: "this user may not look into the folder; run this as the user who runs the server")
        }
        guard !StoreFolder.exists(StoreFolder.database(in: folder)) else { return }
        let isFolder = StoreFolder.isDirectory(folder)
        if isFolder { try refuseDamaged(in: folder) }
        throw StoreFailure(
            isFolder || !StoreFolder.exists(folder) ? .noStore : .notADirectory, path: folder,
            detail: isFolder ? "the folder holds no store" : "there is no such folder")
    }

    /// Refuses incomplete files of a killed server, which would otherwise look like a store without the missing
    /// records. No effect while a server runs, which has checked its files itself.
    static func refuseDamaged(in folder: String) throws(StoreFailure) {
        let path = StoreFolder.database(in: folder)
        let left = [StoreFolder.mark(of: path), StoreFolder.journal(of: path), StoreFolder.log(of: path)]
        let isLost = StoreFolder.isEmpty(path) && StoreFolder.exists(StoreFolder.clock(of: path))
        guard isLost || left.contains(where: { StoreFolder.exists($0) }) else { return }
        let lock: FolderLock
        do {
            lock = try FolderLock(folder: folder)
        } catch {
            // A server holds the lock, or this user has no permission.
            return
        }
        _ = try doubts(about: path)
        _ = consume lock
    }

    private init(path: String) {
        self.path = path
        mark = CommitMark.read(StoreFolder.mark(of: path))
        logs = (
            LogCheck.of(StoreFolder.log(of: path)), LogCheck.of(StoreFolder.log(of: StoreFolder.journal(of: path)))
        )
    }

    private mutating func run() throws(StoreFailure) {
        // Opening it reports the error.
        guard !StoreFolder.isDirectory(path) else { return }
        guard !StoreFolder.isEmpty(path) else { return try refuseLeftovers() }
        // Before any file is opened, which may change it.
        try refuseLostPages()
        guard let tables = try readTables() else { return try refuseLostCommits(isSameBoot: false) }
        // SQLite removes the log of an empty database, so the journal is not opened then.
        let journal = StoreFolder.journal(of: path)
        if tables.openBoot != nil, StoreFolder.exists(journal), StoreFolder.isEmpty(journal) {
            throw failure(.missingFile, journal, "it is empty, and the last server did not stop cleanly")
        }
        let recovered: Int64
        do throws(StoreFailure) {
            recovered = try self.recovered(tables)
        } catch  where error.reason == .otherJournal {
            throw lostInLog ?? error
        }
        switch mark {
        case .mark(let mark):
            guard mark.store == tables.settled.store else {
                throw failure(.foreignMark, StoreFolder.mark(of: path), "it belongs to another store")
            }
            guard recovered >= mark.through else {
                throw lostInLog
                    ?? failure(
                        .incomplete, path,
                        "commits \(recovered + 1) to \(mark.through), which were acknowledged, are missing")
            }
            // The mark is exact: further commits in the logs were never acknowledged.
            if mark.boot == CommitMark.bootID { return }
        case .missing where tables.openBoot != nil:
            doubts.append("\(StoreFolder.mark(of: path)) is missing: the last acknowledged commit is unknown")
        case .unreadable:
            doubts.append("\(StoreFolder.mark(of: path)) is damaged: the last acknowledged commit is unknown")
        case .missing: break
        }
        if tables.openBoot != nil { try refuseMissingFiles() }
        try refuseLostCommits(isSameBoot: tables.openBoot == CommitMark.bootID)
    }

    private struct Tables {
        var settled: SettledCommits
        /// See ``SettledCommits/openBoot(in:)``.
        var openBoot: Data?
    }

    /// - Returns: nil for a store of an earlier version that does not record it, and without tables.
    private func readTables() throws(StoreFailure) -> Tables? {
        try StoreFile.read(path) { database in
            guard try SettledCommits.areKept(in: database) else { return nil }
            return Tables(
                settled: try SettledCommits.read(database), openBoot: try SettledCommits.openBoot(in: database))
        }
    }

    /// The last commit that the files hold.
    private func recovered(_ tables: Tables) throws(StoreFailure) -> Int64 {
        let journal = try JournalEntries.read(of: path)
        return max(tables.settled.through, journal?.last(of: tables.settled.store) ?? 0)
    }

    /// Without a database the other files are useless, but a new store must not replace it silently.
    private func refuseLeftovers() throws(StoreFailure) {
        let beside = [StoreFolder.mark(of: path), StoreFolder.clock(of: path)]
        let left = (StoreFolder.files(of: path).dropFirst() + beside).filter {
            StoreFolder.size($0) > 0 && !$0.hasSuffix("-shm")
        }
        guard !left.isEmpty else {
            guard StoreFolder.size(path) > 0 else { return }
            throw failure(.corrupted, path, "it is truncated: one byte is left")
        }
        let names = left.map { String($0.split(separator: "/").last ?? "") }.joined(separator: ", ")
        let what = StoreFolder.exists(path) ? "is empty" : "is missing"
        throw failure(.missingFile, path, "it \(what), but other files of a server exist: \(names)")
    }

    private func refuseLostPages() throws(StoreFailure) {
        for (file, log) in [(path, logs.database), (StoreFolder.journal(of: path), logs.journal)] {
            let lost = LostPages.count(in: file, log: log)
            if lost > 0 { throw failure(.corrupted, file, "it is truncated: \(lost) of its pages are lost") }
        }
    }

    private func refuseMissingFiles() throws(StoreFailure) {
        let journal = StoreFolder.journal(of: path)
        guard !StoreFolder.isEmpty(journal) else {
            throw failure(.missingFile, journal, "it is missing, and the last server did not stop cleanly")
        }
        for (file, log) in [(path, logs.database), (journal, logs.journal)] {
            switch log {
            case .missing, .empty:
                throw failure(
                    .missingFile, StoreFolder.log(of: file), "it is missing, and the last server did not stop cleanly")
            case .badHeader:
                throw failure(.corrupted, StoreFolder.log(of: file), "its header does not match its checksum")
            case .read: break
            }
        }
    }

    /// After a kill all written data is present. A power failure loses unsynced data: one transaction of the journal,
    /// and in the database deletions of retention, which are repeated.
    private mutating func refuseLostCommits(isSameBoot: Bool) throws(StoreFailure) {
        let journal = StoreFolder.journal(of: path)
        // A log without its journal is obsolete.
        for (file, log, unsynced) in [(path, logs.database, Int.max), (journal, logs.journal, 1)]
        where StoreFolder.exists(file) {
            let name = StoreFolder.log(of: file)
            switch log {
            case .missing, .empty: break
            case .badHeader: throw failure(.corrupted, name, "its header does not match its checksum")
            case .read(let log) where log.lostCommits > 0:
                let what = "frame \(log.frames + 1) is damaged, and \(log.lostCommits) transactions from it on are lost"
                guard log.lostCommits <= (isSameBoot ? 0 : unsynced) else { throw failure(.corrupted, name, what) }
                doubts.append("\(name): \(what); a power failure damages unacknowledged transactions like this")
            case .read: break
            }
        }
    }

    /// The damaged write-ahead log, as the cause when commits are missing; nil if none is damaged. Frames of an attempt
    /// that failed look like lost ones, so this alone is no reason to refuse the files.
    private var lostInLog: StoreFailure? {
        for (file, log) in [(path, logs.database), (StoreFolder.journal(of: path), logs.journal)] {
            let name = StoreFolder.log(of: file)
            switch log {
            case .missing, .empty: continue
            case .badHeader: return failure(.incomplete, name, "its header does not match its checksum")
            case .read(let log) where log.lostCommits > 0:
                return failure(
                    .incomplete, name,
                    "frame \(log.frames + 1) is damaged, and \(log.lostCommits) transactions from it on are lost")
            case .read: continue
            }
        }
        return nil
    }

    private func failure(_ reason: StoreFailure.Reason, _ path: String, _ detail: String) -> StoreFailure {
        StoreFailure(reason, path: path, detail: detail)
    }
}
