import Glibc
import StoreInterface

/// Copies of a store: taken while a server runs on it or not, and put in place of a store again.
public enum StoreBackup {
    /// Told every now and then how many bytes are written, of about how many.
    public typealias Progress = (_ written: Int64, _ of: Int64) -> Void

    /// What a restore has done.
    public struct Restored: Equatable, Sendable {
        public var contents: StoreContents
        /// The files of the store that was there before, under their names of now: its database, and what could not be
        /// brought into that. Empty when there was none.
        public var kept: [String]
        /// The database among them, where there was one.
        public var replaced: String?
    }

    /// Writes a copy of the store in `folder`, as of now, to `file`, for its owner alone. A server on the folder is not
    /// held up. The file has its name only once it is complete, on disk, and found sound.
    ///
    /// - Parameters:
    ///   - replacing: whether it may take the place of a file.
    ///   - salvaging: writes what can be read of a store that is damaged, or that parts are missing of.
    /// - Throws: ``StoreFailure``; nothing is left behind then, and `file` is as it was.
    public static func write(
        folder: String, to file: String, replacing: Bool, salvaging: Bool = false,
        progress: @escaping Progress = { _, _ in }
    ) throws(StoreFailure) -> StoreContents {
        let database = StoreFolder.database(in: folder)
        guard StoreFolder.exists(database) else {
            throw StoreFailure(.noStore, path: folder, detail: "the folder holds no store")
        }
        let own = StoreFolder.files(of: database) + [StoreFolder.lock(in: folder), StoreFolder.mark(of: database)]
        guard !own.contains(where: { StoreFolder.isSame($0, file) }) else {
            throw StoreFailure(.exists, path: file, detail: "that is the store itself")
        }
        guard replacing || !StoreFolder.exists(file), !StoreFolder.isDirectory(file) else {
            let what = StoreFolder.isDirectory(file) ? "a folder" : "a file"
            throw StoreFailure(.exists, path: file, detail: "there is \(what) of that name")
        }
        if !salvaging { try StoreCheck.refuseDamaged(in: folder) }
        let contents = try draft(of: database, besides: file, salvaging, progress) { draft throws(StoreFailure) in
            let contents = try StoreContents(file: draft)
            try StoreFolder.move(draft, to: file)
            return contents
        }
        try StoreFolder.sync(StoreFolder.folder(of: file))
        return contents
    }

    /// Puts the store that `file` holds into `folder`. A crash leaves what was there before, or the restored store.
    ///
    /// - Parameters:
    ///   - replacing: whether it may take the place of a store; that one is kept beside it, under another name.
    ///   - now: of the clock, in seconds since the epoch, for that name.
    /// - Throws: ``StoreFailure``: also when a server runs on the folder. The store in it is as it was.
    public static func restore(
        _ file: String, into folder: String, replacing: Bool, now: Int, progress: @escaping Progress = { _, _ in }
    ) throws(StoreFailure) -> Restored {
        let contents = try StoreContents(file: file)
        try StoreFolder.create(folder)
        let lock = try FolderLock(folder: folder)
        let aside = try replaceStore(in: folder, holding: lock, by: file, replacing: replacing, now: now, progress)
        // Shared memory holds nothing of its own.
        let files = aside.map { StoreFolder.files(of: $0) } ?? []
        let kept = files.filter { StoreFolder.exists($0) && !$0.hasSuffix("-shm") }
        return Restored(contents: contents, kept: kept, replaced: kept.first { $0 == aside })
    }

    /// - Returns: where the store is that was there before.
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

    /// Copies the database at `path` to a file beside `target`, which is gone again unless `body` moves it.
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

    /// Drafts of processes that were killed: no other removes them.
    private static func removeAbandonedDrafts(besides target: String) {
        let start = (target.split(separator: "/").last.map(String.init) ?? target) + ".draft-"
        let folder = StoreFolder.folder(of: target)
        for name in StoreFolder.names(in: folder) where name.hasPrefix(start) {
            // Of a draft come its companions too.
            guard let process = Int32(name.dropFirst(start.count).prefix { $0.isNumber }), process > 0 else { continue }
            guard kill(process, 0) != 0, errno == ESRCH else { continue }
            try? StoreFolder.remove(folder + "/" + name)
        }
    }

    /// Gives the store a second name, and sees to it that nothing lies beside the first that would be taken for part of
    /// whatever comes in its place.
    private static func setAside(_ database: String, now: Int) throws(StoreFailure) -> String {
        // One that is damaged is kept with all its files, for inspection.
        let isWhole = (try? StoreCheck.doubts(about: database)) != nil
        let (isSettled, isFolded) = isWhole ? (try settle(database), try foldLog(into: database)) : (false, false)
        let aside = try freeName(besides: database, now: now)
        if StoreFolder.exists(database) { try StoreFolder.link(database, as: aside) }
        // But for the database itself, which the restored one takes the name of.
        for (path, target) in zip(StoreFolder.files(of: database), StoreFolder.files(of: aside)).dropFirst() {
            guard StoreFolder.exists(path) else { continue }
            // What is not in the database is kept with it. No server can use them as they are.
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

    /// Brings what the journal has into the tables.
    /// - Returns: false when the files are too damaged for that, or do not belong together.
    private static func settle(_ database: String) throws(StoreFailure) -> Bool {
        guard StoreFolder.exists(database) else { return false }
        do {
            return try StoreFile.settle(database)
        } catch  where [.corrupted, .notADatabase, .otherJournal, .unreadableRow].contains(error.reason) {
            return false
        }
    }

    /// Merges the WAL into the database: from then on the one file is all of it.
    /// - Returns: false when the files are too damaged for that.
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
        throw StoreFailure(.exists, path: folder, detail: "there is no name left for the store that is replaced")
    }

    private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
