import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct BackupTests {
    /// A live call that rings, with an open push, and one that is over.
    private struct Sample {
        let live = CallRecord.live(createdAt: at(10))
        let over = CallRecord.ended(createdAt: at(5))
        let leg: LegRecord
        let push: PushRecord
        let device = DeviceRecord.full()

        init() {
            leg = .sample(of: live)
            push = .sample(of: leg, status: .sent, report: .awaited)
        }

        var records: [StoreRecord] { [.call(over), .call(live), .leg(leg), .push(push), .device(device)] }
    }

    @discardableResult
    private static func write(
        _ folder: TemporaryFolder, to file: String, replacing: Bool = false
    ) throws(StoreFailure) -> StoreContents {
        try StoreBackup.write(folder: folder.path, to: file, replacing: replacing)
    }

    @discardableResult
    private static func restore(
        _ file: String, into folder: TemporaryFolder, replacing: Bool = false
    ) throws(StoreFailure) -> StoreBackup.Restored {
        // 2026-09-21T14:13:20Z
        try StoreBackup.restore(file, into: folder.path, replacing: replacing, now: 1_790_000_000)
    }

    @Test func `a backup has all that was committed before it, and a restored store goes on from there`() throws {
        let sample = Sample()
        try withStore(sample.records) { store, _, folder throws in
            let file = folder.parent + "/backup"
            let contents = try Self.write(folder, to: file)
            #expect(contents.version == Schema.newest && contents.isCurrent)
            #expect(contents.calls == 2 && contents.liveCalls == 1 && contents.pushes == 1 && contents.devices == 1)
            #expect(contents.oldestCall == at(5) && contents.newestCall == at(10))
            #expect(contents.audit.violations == [])
            #expect(contents.audit.counts.inFlight == 1)
            #expect(contents.size == StoreFolder.size(file))
            #expect(try StoreContents(file: file) == contents)
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.parent).sorted() == ["backup", "data"])

            let before = try store.whole()
            try store.commit([.call(.live(createdAt: at(11)))])
            let other = try TemporaryFolder()
            let restored = try Self.restore(file, into: other)
            #expect(restored == StoreBackup.Restored(contents: contents, kept: []))
            #expect(other.files == ["reveille.lock", "reveille.sqlite3"])
            let next = try CallStore.open(folder: other.path)
            #expect(try next.whole() == before)
            let ended = CallRecord.ended(sample.live.id, createdAt: at(10))
            try next.commit([.call(ended)])
            #expect(try StoreReader.open(folder: other.path).calls() == [ended, sample.over])
            next.close()
            // It is readable by its owner alone, as a store that a server makes.
            let mode = try FileManager.default.attributesOfItem(atPath: other.database)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func `commits go on during a backup, and it has none of them`() throws {
        let calls = (0..<3000).map { CallRecord.ended(createdAt: at(Int64($0))) }
        try withStore(calls.map { .call($0) }) { store, reader, folder throws in
            let file = folder.parent + "/backup"
            var added = 0
            let contents = try StoreBackup.write(folder: folder.path, to: file, replacing: false) { written, total in
                #expect(written >= 0 && total > 100_000)
                // On this thread, in the middle of the copy.
                _ = try? store.commit([.call(.ended(createdAt: at(10_000)))])
                added += 1
            }
            #expect(added > 0, "it tells how far it has come")
            #expect(contents.calls == 3000)
            #expect(try reader.callCount() == 3000 + added)
            // No reader is left that keeps the log from starting anew.
            let isBusy = try store.tables.queue.writeWithoutTransaction {
                try Bool.fetchOne($0, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            }
            #expect(isBusy == false)
        }
    }

    @Test func `the space of deleted rows is not in a backup`() throws {
        let calls = (0..<3000).map { CallRecord.ended(createdAt: at(Int64($0))) }
        try withStore(calls.map { .call($0) }) { store, _, folder throws in
            let full = try Self.write(folder, to: folder.parent + "/full")
            var run = RetentionRun(RetentionPolicy(), now: at(0) + .seconds(500 * 86_400))
            while !run.isDone { _ = try store.tables.deleteSlice(&run, rows: 500) { false } }
            let empty = try Self.write(folder, to: folder.parent + "/empty")
            #expect(empty.calls == 0 && empty.oldestCall == nil)
            #expect(empty.size * 2 < full.size)
        }
    }

    @Test func `a file is overwritten only on request, and the store itself never`() throws {
        try withStore(Sample().records) { store, _, folder throws in
            let file = folder.parent + "/backup"
            let text = Data("precious".utf8)
            try text.write(to: URL(fileURLWithPath: file))
            #expect(failure { () throws(StoreFailure) in try Self.write(folder, to: file) }?.reason == .exists)
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == text)
            #expect(try Self.write(folder, to: file, replacing: true).calls == 2)
            #expect(try StoreContents(file: file).calls == 2)
            for own in [folder.database, folder.database + "-wal", StoreFolder.lock(in: folder.path), folder.path] {
                let refused = failure { () throws(StoreFailure) in try Self.write(folder, to: own, replacing: true) }
                #expect(refused?.reason == .notReplaceable, "\(own)")
            }
            #expect(try store.whole().calls.count == 1)
        }
    }

    @Test(arguments: [
        "CREATE TRIGGER lost AFTER INSERT ON token_revocation BEGIN DELETE FROM token_revocation; END",
        """
        DROP TRIGGER group_is_deleted;
        CREATE TRIGGER group_is_deleted AFTER DELETE ON call_group BEGIN DELETE FROM alias; END
        """,
        """
        DROP TABLE token_revocation;
        CREATE TABLE Token_Revocation (
            handle TEXT PRIMARY KEY ON CONFLICT IGNORE, issued_before INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE UNIQUE INDEX Mine ON Call (caller_user)", "CREATE INDEX mine ON event (abs(at))",
        "CREATE INDEX mine ON call (members COLLATE NOCASE)",
        "CREATE UNIQUE INDEX mine ON grdb_migrations (identifier)",
        "ALTER TABLE alias ADD COLUMN twice TEXT AS (user || user)", "ALTER TABLE alias ADD COLUMN mine TEXT CHECK (0)",
        "CREATE TABLE note (text); CREATE TRIGGER lost AFTER INSERT ON note BEGIN DELETE FROM call; END",
        "DROP TRIGGER group_is_deleted", "DROP INDEX call_by_time", "DROP TABLE alias",
    ])
    func `what changes or fails commits is refused in a store and in a backup`(_ change: String) throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.tables.queue.write { try $0.execute(sql: change) }
        store.close()
        let opened = failure { () throws(StoreFailure) in try CallStore.open(folder: folder.path) }
        let isMissing = change.hasPrefix("DROP") && !change.contains("CREATE")
        let words = isMissing ? "is missing" : "is not as this program makes it"
        #expect(opened?.reason == .corrupted && opened?.detail.contains(words) == true)
        let refused = failure { () throws(StoreFailure) in try Self.write(folder, to: folder.parent + "/backup") }
        #expect(refused?.reason == .corrupted)
        let restored = failure { () throws(StoreFailure) in try StoreContents(file: folder.database) }
        #expect(restored?.reason == .corrupted)
    }

    /// As an editor of the file can make them: SQLite reads types in any case, and checks no name when it reads a schema.
    @Test(arguments: [
        """
        CREATE TRIGGER lost AFTER INSERT ON device BEGIN DELETE FROM device; END;
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET type = 'TRIGGER' WHERE name = 'lost'
        """,
        """
        CREATE UNIQUE INDEX mine ON call (caller_user);
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET name = 'sqlite_mine', sql = replace(sql, 'mine', 'sqlite_mine') WHERE name = 'mine'
        """,
    ])
    func `what has another type or a name of SQLite's own is refused too`(_ change: String) throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.tables.queue.writeWithoutTransaction {
            try $0.execute(sql: change)
            try $0.execute(sql: "PRAGMA writable_schema = OFF")
        }
        store.close()
        for thrown in [
            failure({ () throws(StoreFailure) in try CallStore.open(folder: folder.path) }),
            failure({ () throws(StoreFailure) in try StoreContents(file: folder.database) }),
        ] {
            #expect(thrown?.reason == .corrupted && thrown?.detail.contains("is not as this program makes it") == true)
        }
    }

    @Test func `somebody's own views and tables are in no way`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.tables.queue.write {
            try $0.execute(
                sql: """
                    CREATE VIEW mine AS SELECT user FROM device;
                    CREATE TABLE note (text UNIQUE, alias REFERENCES alias (handle)); CREATE INDEX by_alias ON note (alias);
                    ANALYZE
                    """)
        }
        store.close()
        try CallStore.open(folder: folder.path).close()
        #expect(try Self.write(folder, to: folder.parent + "/backup").calls == 0)
    }

    @Test func `a pipe is neither a store nor a backup, and nobody waits for its writer`() throws {
        let folder = try TemporaryFolder()
        let pipe = folder.parent + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(failure { () throws(StoreFailure) in try StoreContents(file: pipe) }?.reason == .noBackup)
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        #expect(mkfifo(folder.database, 0o600) == 0)
        let opened = failure { () throws(StoreFailure) in try CallStore.open(folder: folder.path) }
        #expect(opened?.reason == .notADatabase)
    }

    @Test func `what cannot be copied or written says so, and leaves nothing behind`() throws {
        let empty = try TemporaryFolder()
        let file = empty.parent + "/backup"
        #expect(failure { () throws(StoreFailure) in try Self.write(empty, to: file) }?.reason == .noStore)
        try withStore(Sample().records) { store, _, folder throws in
            for (target, reason) in [
                ("/proc/backup", StoreFailure.Reason.cannotWrite), (folder.parent + "/none/backup", .cannotWrite),
                (folder.database + "/backup", .notADirectory),
            ] {
                let refused = failure { () throws(StoreFailure) in try Self.write(folder, to: target) }
                #expect(refused?.reason == reason, "\(target): \(String(describing: refused))")
            }
            // Damage is found in the copy if not by the copying.
            try store.tables.queue.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        PRAGMA writable_schema = ON;
                        UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', 'STRICT,') WHERE name = 'leg';
                        PRAGMA writable_schema = OFF;
                        """)
            }
            let refused = failure { () throws(StoreFailure) in try Self.write(folder, to: folder.parent + "/backup") }
            #expect(refused?.reason == .corrupted)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.parent) == ["data"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: empty.parent).isEmpty)
    }

    @Test func `a file that is damaged, of a later version, or no backup is refused, and the store stays`() throws {
        try withStore(Sample().records) { store, _, folder throws in
            try store.commit((0..<500).map { .call(.ended(createdAt: at(Int64($0)))) })
            let good = folder.parent + "/good"
            try Self.write(folder, to: good)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: good))
            var torn = bytes
            torn.removeLast(bytes.count / 3)
            // In the middle of a table's page.
            var bent = bytes
            bent.replaceSubrange((bytes.count / 2)..<(bytes.count / 2 + 4096), with: Data(repeating: 0xAA, count: 4096))
            let later = folder.parent + "/later", other = folder.parent + "/other"
            try bytes.write(to: URL(fileURLWithPath: later))
            try StoreConnection.open(later, Configuration()).inDatabase {
                try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('v999')")
            }
            try DatabaseQueue(path: other).inDatabase { try $0.execute(sql: "CREATE TABLE note (text)") }
            // Every table can be read, and an index has not what it should.
            let crossed = folder.parent + "/crossed"
            try bytes.write(to: URL(fileURLWithPath: crossed))
            let writing = try StoreConnection.open(crossed, Configuration())
            try writing.writeWithoutTransaction {
                try $0.execute(
                    sql: """
                        PRAGMA writable_schema = ON;
                        UPDATE sqlite_schema SET rootpage =
                            (SELECT sum(rootpage) FROM sqlite_schema WHERE name IN ('device_suspended', 'push_sync_by_user'))
                            - rootpage
                        WHERE name IN ('device_suspended', 'push_sync_by_user');
                        """)
            }
            try writing.close()
            var cases: [(String, StoreFailure.Reason)] = [
                (crossed, .corrupted), (later, .newerVersion), (other, .noBackup), (folder.parent + "/none", .noBackup),
                (folder.parent, .noBackup),
            ]
            for (name, content, reason) in [
                ("torn", torn, StoreFailure.Reason.corrupted), ("bent", bent, .corrupted),
                ("text", Data(repeating: 0x78, count: 9000), .notADatabase), ("empty", Data(), .noBackup),
            ] {
                let path = folder.parent + "/" + name
                try content.write(to: URL(fileURLWithPath: path))
                cases.append((path, reason))
            }
            store.close()
            let before = folder.files
            for (path, reason) in cases {
                let refused = failure { () throws(StoreFailure) in
                    try Self.restore(path, into: folder, replacing: true)
                }
                #expect(refused?.reason == reason, "\(path): \(String(describing: refused))")
                #expect(failure { () throws(StoreFailure) in try StoreContents(file: path) } == refused)
                #expect(folder.files == before)
            }
            #expect(try StoreReader.open(folder: folder.path).callCount() == 502)
            let beside = try FileManager.default.contentsOfDirectory(atPath: folder.parent)
            #expect(!beside.contains { $0.contains("draft") || $0.hasSuffix("-wal") || $0.hasSuffix("-shm") })
        }
    }

    @Test(arguments: [Int64.max, Int64.max / 2, EventTable.lastRestored + 1, EventTable.lastRestored])
    func `a backup with a position of an event that no server reaches is refused, by a check too`(
        position: Int64
    ) throws {
        try withStore(Sample().records) { _, _, folder throws in
            let good = folder.parent + "/good", bad = folder.parent + "/bad"
            try Self.write(folder, to: good)
            for sql in [
                "INSERT INTO sqlite_sequence (name, seq) VALUES ('event', \(position))",
                "INSERT INTO event (position, id, kind, at, body) VALUES (\(position), x'', 'call.invited', 0, '{}')",
            ] {
                try FileManager.default.copyItem(atPath: good, toPath: bad)
                let writing = try StoreConnection.open(bad, Configuration())
                try writing.write { try $0.execute(sql: sql) }
                try writing.close()
                let refused = failure { () throws(StoreFailure) in try StoreContents(file: bad) }
                #expect(refused?.reason == (position > EventTable.lastRestored ? .unreadableRow : nil))
                let other = try TemporaryFolder()
                let restored = failure { () throws(StoreFailure) in try Self.restore(bad, into: other) }
                #expect(restored == refused)
                try FileManager.default.removeItem(atPath: bad)
            }
        }
    }

    @Test func `a store is replaced only on request, and kept with all it has, its log too`() throws {
        let (sample, later) = (Sample(), CallRecord.live(createdAt: at(99)))
        try withStore(sample.records) { store, _, folder throws in
            let file = folder.parent + "/backup"
            try Self.write(folder, to: file)
            try store.commitBehind(batches: [[.call(later)]])
            // As `kill -9` leaves it: the log is not merged, and the journal not brought in.
            let killed = try TemporaryFolder(copying: folder)
            #expect(killed.files.contains("reveille.sqlite3-wal") && killed.files.contains("reveille-journal.sqlite3"))
            let refused = failure { () throws(StoreFailure) in try Self.restore(file, into: killed) }
            #expect(refused?.reason == .exists)
            // Somebody who looks at the store keeps SQLite from tidying up behind itself.
            let other = try StoreReader.open(folder: killed.path, replays: false)
            #expect(try other.callCount() == 2)
            let restored = try Self.restore(file, into: killed, replacing: true)
            let aside = "reveille-replaced-20260921T141320Z.sqlite3"
            #expect(restored.kept == [killed.path + "/" + aside])
            #expect(killed.files == [aside, "reveille.lock", "reveille.sqlite3"])
            #expect(try StoreContents(file: killed.path + "/" + aside).calls == 3)
            let next = try CallStore.open(folder: killed.path)
            #expect(try next.whole().calls == [sample.live])
            next.close()

            // And back again, in the same second.
            let again = try Self.restore(killed.path + "/" + aside, into: killed, replacing: true)
            #expect(again.kept.map { $0.hasSuffix("Z-2.sqlite3") } == [true])
            #expect(try StoreReader.open(folder: killed.path).calls() == [later, sample.live, sample.over])
        }
    }

    @Test func `a store is replaced whose journal is another store's, which is kept beside it`() throws {
        let sample = Sample()
        try withStore(sample.records) { store, _, folder throws in
            let file = folder.parent + "/backup"
            try Self.write(folder, to: file)
            try store.commitBehind(batches: [[.call(.live(createdAt: at(99)))]])
            let other = try TemporaryFolder()
            let otherStore = try CallStore.open(folder: other.path)
            try otherStore.commit([.device(.full())])
            let mixed = try TemporaryFolder(copying: other)
            otherStore.close()
            let journal = StoreFolder.journal(of: mixed.database)
            try WriteJournal.remove(journal)
            for ending in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: StoreFolder.journal(of: folder.database) + ending, toPath: journal + ending)
            }
            let kept = try Self.restore(file, into: mixed, replacing: true).kept
            let aside = try #require(kept.first)
            #expect(try StoreContents(file: aside).devices == 1, "its log is merged")
            #expect(kept.dropFirst() == [StoreFolder.journal(of: aside), StoreFolder.journal(of: aside) + "-wal"])
            #expect(try StoreReader.open(folder: mixed.path).callCount() == 2)
        }
    }

    @Test func `a store that is too damaged to be opened is replaced and kept as it is`() throws {
        try withStore(Sample().records) { store, _, folder throws in
            let file = folder.parent + "/backup"
            try Self.write(folder, to: file)
            let before = try store.whole()
            // A log that holds but a part of the pages makes no database whole again.
            try store.tables.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
            try store.commit([.device(.full(user: "carol"))])
            let damaged = try TemporaryFolder(copying: folder)
            let rubbish = Data(repeating: 0x78, count: 9000)
            try rubbish.write(to: URL(fileURLWithPath: damaged.database))
            let log = try Data(contentsOf: URL(fileURLWithPath: damaged.database + "-wal"))
            #expect(!log.isEmpty)
            let aside = try #require(try Self.restore(file, into: damaged, replacing: true).kept.first)
            #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == rubbish)
            #expect(try Data(contentsOf: URL(fileURLWithPath: aside + "-wal")) == log)
            let next = try CallStore.open(folder: damaged.path)
            #expect(try next.whole() == before)
            next.close()
            // A log without its database is set aside as well, and not taken for one of the restored store.
            let orphaned = try TemporaryFolder(copying: folder)
            try FileManager.default.removeItem(atPath: orphaned.database)
            let kept = try #require(try Self.restore(file, into: orphaned, replacing: false).kept.first)
            #expect(kept.hasSuffix(".sqlite3-wal"), "there is no database")
            #expect(try Data(contentsOf: URL(fileURLWithPath: kept)) == log)
            #expect(try StoreReader.open(folder: orphaned.path).callCount() == 2)
        }
    }

    @Test func `while a server has the folder nothing is restored into it`() throws {
        try withStore(Sample().records) { store, _, folder throws in
            let file = folder.parent + "/backup"
            try Self.write(folder, to: file)
            let before = folder.files
            let refused = failure { () throws(StoreFailure) in try Self.restore(file, into: folder, replacing: true) }
            #expect(refused?.reason == .locked(by: ProcessInfo.processInfo.processIdentifier))
            #expect(folder.files == before)
            try store.commit([.device(.full(user: "carol"))])
            #expect(try store.whole().devices.count == 2)
        }
    }

    @Test func `books that are not balanced are told, and backed up all the same`() throws {
        var broken = CallRecord.ended()
        broken.endReason = nil
        try withStore([.call(broken)]) { store, _, folder throws in
            let file = folder.parent + "/backup"
            let contents = try Self.write(folder, to: file)
            #expect(contents.audit.violations.count == 1)
            let other = try TemporaryFolder()
            #expect(try Self.restore(file, into: other).contents == contents)
            #expect(try StoreReader.open(folder: other.path).calls() == [broken])
        }
    }
}
