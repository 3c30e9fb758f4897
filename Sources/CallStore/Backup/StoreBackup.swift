import Glibc
import RecordTables
import StoreInterface

/// Backs up a store, with or without a server running on it, and restores a backup.
public enum StoreBackup {
    /// Called from time to time with the bytes written, and the approximate total.
    public typealias Progress = (_ written: Int64, _ of: Int64) -> Void

    public struct Restored: Equatable, Sendable {
        public var contents: StoreContents
        /// The renamed files of the previous store: its database, and files that could not be merged into it. Empty
        /// when there was no previous store.
        public var kept: [String]
        /// The renamed previous database, if there was one.
        public var replaced: String?
    }

    /// Writes a consistent copy of the store in `folder` to `file`, with mode 0600. A running server is not blocked.
    /// `file` appears only once the copy is complete, synced, and checked.
    ///
    /// - Parameters:
    ///   - replacing: whether an existing file may be replaced.
    ///   - salvaging: copies the readable part of a damaged or incomplete store.
    /// - Throws: ``StoreFailure``; then no files are left behind, and `file` is unchanged.
    public static func write(
        folder: String, to file: String, replacing: Bool, salvaging: Bool = false,
        progress: @escaping Progress = { _, _ in }
    ) throws(StoreFailure) -> StoreContents {
        let database = StoreFolder.database(in: folder)
        try StoreCheck.refuseAbsent(in: folder)
        let own = StoreFolder.files(of: database) + [StoreFolder.lock(in: folder), StoreFolder.mark(of: database)]
        guard !own.contains(where: { StoreFolder.isSame($0, file) }) else {
            throw StoreFailure(.notReplaceable, path: file, detail: "the target is a file of the store itself")
        }
        guard !StoreFolder.isDirectory(file) else {
            throw StoreFailure(.notReplaceable, path: file, detail: "a folder of that name exists")
        }
        guard replacing || !StoreFolder.exists(file) else {
            throw StoreFailure(.exists, path: file, detail: "a file of that name exists")
        }
        if !salvaging { try StoreCheck.refuseDamaged(in: folder) }
        let mismatches = PageChecksums.mismatches
        var contents = try draft(of: database, besides: file, salvaging, progress) { draft throws(StoreFailure) in
            let contents = try StoreContents(file: draft)
            try StoreFolder.move(draft, to: file)
            return contents
        }
        try StoreFolder.sync(StoreFolder.folder(of: file))
        // Without salvaging a damaged page fails the copy; another store of the process may have some.
        contents.hasDamagedPages = salvaging && PageChecksums.mismatches != mismatches
        return contents
    }

    /// Restores the backup `file` into `folder`. After a crash the folder holds either the previous or the restored
    /// store.
    ///
    /// - Parameters:
    ///   - replacing: whether an existing store may be replaced; it is kept under another name.
    ///   - now: seconds since the epoch, for that name.
    /// - Throws: ``StoreFailure``, also when a server runs on the folder. The store in it is unchanged then.
    public static func restore(
        _ file: String, into folder: String, replacing: Bool, now: Int, progress: @escaping Progress = { _, _ in }
    ) throws(StoreFailure) -> Restored {
        let contents = try StoreContents(file: file)
        try StoreFolder.create(folder)
        let lock = try FolderLock(folder: folder)
        let aside = try replaceStore(in: folder, holding: lock, by: file, replacing: replacing, now: now, progress)
        // The shared-memory file holds no data of its own.
        let files = aside.map { StoreFolder.files(of: $0) } ?? []
        let kept = files.filter { StoreFolder.exists($0) && !$0.hasSuffix("-shm") }
        return Restored(contents: contents, kept: kept, replaced: kept.first { $0 == aside })
    }

    /// - Returns: the path of the previous store.
    private static func replaceStore(
        in folder: String, holding lock: borrowing FolderLock, by file: String, replacing: Bool, now: Int,
        _ progress: @escaping Progress
    ) throws(StoreFailure) -> String? {
        let database = StoreFolder.database(in: folder)
        guard replacing || !StoreFolder.exists(database) else {
            throw StoreFailure(.exists, path: folder, detail: "the folder holds a store")
        }
        let isEmpty = !StoreFolder.files(of: database).contains { StoreFolder.exists($0) }
        let replaced = try draft(of: file, besides: database, false, progress) {
            draft throws(StoreFailure) -> String? in
            let aside = isEmpty ? nil : try setAside(database, now: now)
            if isEmpty { try StoreFolder.remove(StoreFolder.mark(of: database)) }
            try StoreFolder.sync(folder)
            try StoreFolder.move(draft, to: database)
            return aside
        }
        try StoreFolder.sync(folder)
        return replaced
    }

    /// Copies the database at `path` to a draft file beside `target`; removes the draft unless `body` moves it.
    private static func draft<Result>(
        of path: String, besides target: String, _ salvaging: Bool, _ progress: @escaping Progress,
        _ body: (String) throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        removeAbandonedDrafts(besides: target)
        let draft = "\(target).draft-\(getpid())"
        try StoreFolder.createDraft(draft)
        do {
            try StoreFile.copy(path, to: draft, salvaging: salvaging, progress: progress)
            return try body(draft)
        } catch {
            for path in [draft] + StoreFolder.companions(of: draft) { try? StoreFolder.remove(path) }
            throw error
        }
    }

    /// Removes the drafts of killed processes.
    private static func removeAbandonedDrafts(besides target: String) {
        let start = (target.split(separator: "/").last.map(String.init) ?? target) + ".draft-"
        let folder = StoreFolder.folder(of: target)
        for name in StoreFolder.names(in: folder) where name.hasPrefix(start) {
            // Includes the companion files of a draft.
            guard let process = Int32(name.dropFirst(start.count).prefix { $0.isNumber }), process > 0 else { continue }
            guard kill(process, 0) != 0, errno == ESRCH else { continue }
            try? StoreFolder.remove(folder + "/" + name)
        }
    }

    /// Links the store to a second name, and clears the files beside the first name that SQLite would take for part of
    /// the restored store.
    private static func setAside(_ database: String, now: Int) throws(StoreFailure) -> String {
        // A damaged store is kept with all its files, for inspection.
        let isWhole = (try? StoreCheck.doubts(about: database)) != nil
        let (isSettled, isFolded) = isWhole ? (try settle(database), try foldLog(into: database)) : (false, false)
        let aside = try freeName(besides: database, now: now)
        if StoreFolder.exists(database) { try StoreFolder.link(database, as: aside) }
        // All files except the database, whose name the restored one takes.
        for (path, target) in zip(StoreFolder.files(of: database), StoreFolder.files(of: aside)).dropFirst() {
            guard StoreFolder.exists(path) else { continue }
            // Files with data that is not in the database are kept with it. A server cannot use them as they are.
            let isIn = StoreFolder.companions(of: database).contains(path) ? isFolded : isSettled && isFolded
            if isIn { try StoreFolder.remove(path) } else { try StoreFolder.move(path, to: target) }
        }
        let mark = StoreFolder.mark(of: database)
        if isSettled, isFolded {
            try StoreFolder.remove(mark)
        } else if StoreFolder.exists(mark) {
            try StoreFolder.move(mark, to: StoreFolder.mark(of: aside))
        }
        return aside
    }

    /// Applies the journal to the tables.
    /// - Returns: false when the files are too damaged, or do not belong together.
    private static func settle(_ database: String) throws(StoreFailure) -> Bool {
        guard StoreFolder.exists(database) else { return false }
        do {
            return try StoreFile.settle(database)
        } catch  where [.corrupted, .notADatabase, .otherJournal, .unreadableRow].contains(error.reason) {
            return false
        }
    }

    /// Merges the WAL into the database, which is complete from then on.
    /// - Returns: false when the files are too damaged.
    private static func foldLog(into database: String) throws(StoreFailure) -> Bool {
        guard StoreFolder.exists(database) else { return false }
        do {
            try StoreFile.foldLog(into: database)
            return true
        } catch  where error.reason == .corrupted || error.reason == .notADatabase {
            return false
        }
    }

    private static func freeName(besides database: String, now: Int) throws(StoreFailure) -> String {
        var (seconds, parts) = (now, tm())
        gmtime_r(&seconds, &parts)
        let date = [parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday].map(twoDigits).joined()
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined()
        let folder = StoreFolder.folder(of: database)
        for number in 1...99 {
            let name = "\(folder)/reveille-replaced-\(date)T\(time)Z\(number == 1 ? "" : "-\(number)").sqlite3"
            if !StoreFolder.files(of: name).contains(where: { StoreFolder.exists($0) }) { return name }
        }
        throw StoreFailure(.exists, path: folder, detail: "no name is free for the replaced store")
    }

    private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
