import CallCore
import ChildProcess
import Foundation
import GRDB
import GRDBSQLite
import Glibc
import RecordTables
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@testable import CallStore

@Suite struct OpeningTests {
    @Test func `the folder and its files are made for their owner alone`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path + "/deeper")
        try store.commit([.device(.full())])
        for path in [folder.path, store.folder] {
            #expect(try permissions(path) == 0o700)
        }
        let database = StoreFolder.database(in: store.folder)
        for path in [database, database + "-wal", StoreFolder.lock(in: store.folder)] {
            #expect(try permissions(path) == 0o600)
        }
        store.close()
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a file in place of the folder is refused, for a store and for a reader`() throws {
        let folder = try TemporaryFolder()
        try Data("x".utf8).write(to: URL(fileURLWithPath: folder.path))
        #expect(refusal(of: folder.path)?.reason == .notADirectory)
        let below = folder.path + "/data"
        #expect(refusal(of: below)?.reason == .notADirectory)
        #expect(refusalOfReader(of: folder.path)?.reason == .notADirectory)
    }

    @Test func `a folder that cannot be made, and a file that cannot be written, say so`() throws {
        // Nobody makes folders in /proc, not even root.
        let thrown = refusal(of: "/proc/reveille-store")
        #expect(thrown?.reason == .cannotWrite)
        #expect(thrown?.path == "/proc/reveille-store")

        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.database, withIntermediateDirectories: true)
        #expect(refusal(of: folder.path)?.reason == .cannotWrite)
    }

    /// Counts the store's connections in its process.
    @Test(.ownProcess)
    func `a store that cannot be opened to its end is closed, and opens once it can`() async throws {
        let folder = try TemporaryFolder()
        try CallStore.open(folder: folder.path).close()
        let before = Checkpoints.count.load(ordering: .relaxed)
        // Nothing can take the place of a folder that holds a file.
        let mark = StoreFolder.mark(of: folder.database)
        try FileManager.default.createDirectory(atPath: mark + "/deeper", withIntermediateDirectories: true)
        #expect(refusal(of: folder.path)?.path == mark)
        await eventually("its connections are closed") { Checkpoints.count.load(ordering: .relaxed) == before }
        try FileManager.default.removeItem(atPath: mark)
        let store = try CallStore.open(folder: folder.path)
        try store.commit([.device(.full())])
        store.close()
    }

    @Test func `a file that is no database is refused and left alone`() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let text = Data(repeating: UInt8(ascii: "x"), count: 8192)
        try text.write(to: URL(fileURLWithPath: folder.database))
        #expect(refusal(of: folder.path)?.reason == .notADatabase)
        #expect(refusalOfReader(of: folder.path)?.reason == .notADatabase)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == text)
        // The refused attempt has let go of the lock.
        try FileManager.default.removeItem(atPath: folder.database)
        try CallStore.open(folder: folder.path).close()
    }

    @Test func `damaged pages are noticed`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commit((0..<200).map { .device(.full(user: "user\($0)")) })
        store.close()
        let file = try #require(FileHandle(forUpdatingAtPath: folder.database))
        let size = try file.seekToEnd()
        // Page 1 holds the schema, whose tables are still found.
        try file.seek(toOffset: 4096)
        try file.write(contentsOf: Data(repeating: 0xFF, count: Int(size) - 4096))
        try file.close()
        let thrown = failure { () throws(StoreFailure) in try CallStore.open(folder: folder.path).recover() }
        #expect(thrown?.reason == .corrupted)
    }

    @Test func `a store of a later version is refused with its name, and not changed`() throws {
        let folder = try TemporaryFolder()
        try CallStore.open(folder: folder.path).close()
        let other = try StoreConnection.open(folder.database, Configuration())
        try other.write { try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('v999')") }
        try other.close()
        for thrown in [
            refusal(of: folder.path),
            refusalOfReader(of: folder.path),
        ] {
            #expect(thrown?.reason == .newerVersion)
            #expect(thrown?.description.contains("v999") == true)
        }
    }

    @Test func `no file is changed or made at the end of a link`() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        for name in ["reveille.lock", "reveille.sqlite3"] {
            let (link, victim) = ("\(folder.path)/\(name)", "\(folder.path)/victim-\(name)")
            if name == "reveille.lock" { try Data("kept".utf8).write(to: URL(filePath: victim)) }
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: victim)
            #expect(refusal(of: folder.path)?.reason == (name == "reveille.lock" ? .cannotWrite : .linkedFile))
            #expect(FileManager.default.contents(atPath: victim) == (name == "reveille.lock" ? Data("kept".utf8) : nil))
            try FileManager.default.removeItem(atPath: link)
        }
    }

    @Test func `a folder whose files are links to those of another store is refused, while that one runs and after`()
        throws
    {
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        let store = try CallStore.open(folder: folder.path)
        try store.commit([.device(.full())])
        let backup = folder.parent + "/backup"
        _ = try StoreBackup.write(folder: folder.path, to: backup, replacing: false)
        for isSymbolic in [true, false] {
            try FileManager.default.createDirectory(atPath: other.path, withIntermediateDirectories: false)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name != "reveille.lock" {
                let (file, link) = ("\(folder.path)/\(name)", "\(other.path)/\(name)")
                let made = isSymbolic ? symlink(file, link) : Glibc.link(file, link)
                #expect(made == 0)
            }
            let refused = refusal(of: other.path)
            #expect(refused?.reason == .linkedFile && refused?.description.contains("copy this folder") == true)
            let unrestored = failure { () throws(StoreFailure) in
                try StoreBackup.restore(backup, into: other.path, replacing: true, now: 0)
            }
            #expect(unrestored?.reason == .linkedFile)
            // The first store is as it was.
            try store.commit([.device(.full())])
            try store.checkFiles()
            try FileManager.default.removeItem(atPath: other.path)
        }
        store.close()
        // A second name in the same folder is that of an interrupted restore.
        let aside = Glibc.link(folder.database, folder.database + ".aside")
        try CallStore.open(folder: folder.path).close()
        try FileManager.default.createDirectory(atPath: other.path, withIntermediateDirectories: false)
        let outside = Glibc.link(folder.database, other.path + "/name")
        #expect(aside == 0 && outside == 0)
        #expect(refusal(of: folder.path)?.reason == .linkedFile)
    }

    @Test func `the database itself is locked, for what reaches it by another name`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        // Closed last: with it this process loses SQLite's locks on the file.
        let descriptor = Glibc.open(folder.database, O_RDONLY)
        let whileOpen = flock(descriptor, LOCK_EX | LOCK_NB)
        store.close()
        let after = flock(descriptor, LOCK_EX | LOCK_NB)
        close(descriptor)
        #expect(whileOpen == -1 && after == 0)
    }

    @Test func `two stores never share a folder, in one process neither`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let thrown = refusal(of: folder.path)
        #expect(thrown?.reason == .locked(by: ProcessInfo.processInfo.processIdentifier))
        #expect(thrown?.description.contains("\(ProcessInfo.processInfo.processIdentifier)") == true)
        // The refused one has not taken the lock away from the first.
        #expect(refusal(of: folder.path) != nil)
        try store.commit([.device(.full())])
        store.close()
        try CallStore.open(folder: folder.path).close()
    }

    /// Another process that has the lock, until its input is closed.
    private static func lockHolder(of folder: TemporaryFolder) async throws -> ChildProcess {
        let said = Mutex<[UInt8]>([])
        // `cat` ends with its input, and the lock with it.
        let holder = try ChildProcess.start(
            "/usr/bin/flock", [StoreFolder.lock(in: folder.path), "sh", "-c", "echo locked; cat"],
            input: .untilClosed, output: .pipe { part in said.withLock { $0 += part } })
        await eventually("the other process has the lock") { said.withLock { $0 == Array("locked\n".utf8) } }
        return holder
    }

    @Test func `a store that cannot be made to sync again commits nothing until it can`() throws {
        struct Broken: Error {}
        try withStore { store, reader, _ throws in
            func synchronous() throws -> Int? {
                try store.tables.queue.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            }
            let calls = (0..<2).map { CallRecord.live(createdAt: at($0)) }
            // As after a rollback that has failed.
            #expect(throws: StoreFailure.self) {
                try store.tables.withoutSync { database in
                    try database.execute(sql: "BEGIN IMMEDIATE")
                    throw Broken()
                }
            }
            #expect(try synchronous() == 2)
            try store.commit([.call(calls[0])])
            #expect(try reader.callCount() == 1)

            // SQLite takes no statement that is longer: neither the pragma nor a transaction.
            func limit(_ length: Int32) {
                _ = store.tables.queue.inDatabase {
                    sqlite3_limit($0.sqliteConnection, SQLITE_LIMIT_SQL_LENGTH, length)
                }
            }
            #expect(throws: StoreFailure.self) {
                try store.tables.withoutSync { database in
                    _ = sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_SQL_LENGTH, 8)
                    throw Broken()
                }
            }
            #expect(throws: StoreFailure.self) { try store.commit([.call(calls[1])]) }
            limit(1_000_000)
            #expect(try synchronous() == 1)
            try store.commit([.call(calls[1])])
            #expect(try synchronous() == 2)
            #expect(try reader.callCount() == 2)
        }
    }

    @Test func `a lock that another process holds keeps the store closed until that process is gone`() async throws {
        let folder = try TemporaryFolder()
        try CallStore.open(folder: folder.path).close()
        let holder = try await Self.lockHolder(of: folder)
        let thrown = refusal(of: folder.path)
        if case .locked = thrown?.reason {} else { Issue.record("not refused: \(String(describing: thrown))") }
        // A reader does not mind.
        #expect(try StoreReader.open(folder: folder.path).devices().isEmpty)
        holder.closeInput()
        #expect(await holder.wait(atMost: .seconds(10)) == .exit(0))
        try CallStore.open(folder: folder.path).close()
    }

    @Test func `a lock that is given up soon is waited for, as a command has it that reads what a killed server left`()
        async throws
    {
        let folder = try TemporaryFolder()
        try CallStore.open(folder: folder.path).close()
        let holder = try await Self.lockHolder(of: folder)
        #expect(throws: StoreFailure.self) { try CallStore.open(folder: folder.path, patience: .zero) }
        let opening = Task.detached { [path = folder.path] in
            try CallStore.open(folder: path, patience: .seconds(60)).close()
        }
        holder.closeInput()
        try await opening.value
        #expect(await holder.wait(atMost: .seconds(10)) == .exit(0))
    }

    @Test func `a store that was closed takes nothing more`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        store.close()
        store.close()
        #expect(failure { () throws(StoreFailure) in try store.commit([.device(.full())]) }?.reason == .closed)
        #expect(failure { () throws(StoreFailure) in try store.recover() }?.reason == .closed)
    }

    @Test func `a reader that was closed reads nothing more, and leaves no file open`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let reader = try StoreReader.open(folder: folder.path)
        let other = try StoreReader.open(folder: folder.path)
        #expect(try reader.devices().isEmpty)
        store.close()
        reader.close()
        reader.close()
        let thrown = failure { () throws(StoreFailure) in try reader.devices() }
        #expect(thrown?.reason == .closed)
        #expect(thrown?.description.contains("the reader is closed") == true)
        #expect(try other.devices().isEmpty)
        other.close()
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
        }
        #expect(open.filter { $0.hasPrefix(folder.parent) }.isEmpty)
    }

    @Test func `a reader makes no store where there is none`() throws {
        let folder = try TemporaryFolder()
        #expect(refusalOfReader(of: folder.path)?.reason == .noStore)
        #expect(refusalOfReader(of: folder.parent)?.reason == .noStore)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.parent).isEmpty)
    }

    @Test func `a row edited into nonsense is named, not guessed at`() throws {
        try withStore([.call(.live())]) { store, reader, _ throws in
            try store.tables.queue.inDatabase { try $0.execute(sql: "UPDATE call SET state = 'asleep'") }
            let thrown = failure { () throws(StoreFailure) in try reader.calls() }
            #expect(thrown?.reason == .unreadableRow)
            #expect(thrown?.description.contains("call.state holds “asleep”") == true)
            try store.tables.queue.inDatabase { try $0.execute(sql: "UPDATE call SET state = 'waking', callee = '{}'") }
            #expect(failure { () throws(StoreFailure) in try store.recover() }?.detail == "call.callee holds “{}”")
        }
    }
}

/// Why no store could be opened in `folder`. Does not wait for a lock.
private func refusal(of folder: String) -> StoreFailure? {
    failure { () throws(StoreFailure) in try CallStore.open(folder: folder, patience: .zero) }
}

private func refusalOfReader(of folder: String) -> StoreFailure? {
    failure { () throws(StoreFailure) in try StoreReader.open(folder: folder) }
}
