import CallCore
import CallVocabulary
import Foundation
import GRDB
import GRDBSQLite
import RecordTables
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@testable import CallStore

/// A store that was closed: its database is one file.
private struct ClosedStore {
    static let pageSize = 4096

    let folder: TemporaryFolder
    let calls: [CallRecord]
    let legs: [LegRecord]
    let undamaged: Data

    init(calls count: Int = 400) throws {
        folder = try TemporaryFolder()
        calls = (0..<count).map { .live(createdAt: at(Int64($0))) }
        legs = calls.map { .sample(of: $0) }
        let store = try CallStore.open(folder: folder.path)
        try store.commit(calls.map { .call($0) } + legs.map { .leg($0) })
        store.close()
        undamaged = try Data(contentsOf: URL(fileURLWithPath: folder.database))
    }

    var pages: Int { undamaged.count / Self.pageSize }

    /// Writes the file anew, with changes.
    func damage(_ body: (inout Data) -> Void) throws {
        var data = undamaged
        body(&data)
        try data.write(to: URL(fileURLWithPath: folder.database))
    }

    /// The places of a call's id: in its row, in the index and in its leg.
    func places(of call: CallRecord) -> [Int] {
        let words = (call.id.high.bigEndian, call.id.low.bigEndian)
        let id = withUnsafeBytes(of: words) { Data($0) }
        var places: [Int] = []
        while let found = undamaged.range(of: id, in: (places.last.map { $0 + 1 } ?? 0)..<undamaged.count) {
            places.append(found.lowerBound)
        }
        return places
    }
}

@Suite struct PageChecksumTests {
    private static let mismatch = "does not match its checksum"

    // The process counts the mismatches of all its stores.
    @Test(.ownProcess)
    func `a changed bit anywhere in a backup is found, in each byte of the header too`() throws {
        let stored = try ClosedStore()
        let file = stored.folder.parent + "/backup"
        // It has no free pages, which nothing reads.
        let contents = try StoreBackup.write(folder: stored.folder.path, to: file, replacing: false)
        #expect(contents.calls == 400 && !contents.hasDamagedPages)
        let undamaged = try Data(contentsOf: URL(fileURLWithPath: file))
        for place in Array(0..<100) + Array(stride(from: 100, to: undamaged.count, by: 1999)) {
            var damaged = undamaged
            damaged[place] ^= 1 << UInt8(place % 8)
            try damaged.write(to: URL(fileURLWithPath: file))
            let found = failure { () throws(StoreFailure) in try StoreContents(file: file) }?.reason
            #expect(found == .corrupted || found == .notADatabase, "byte \(place): \(String(describing: found))")
        }
        // The number of reserved bytes: with 0 there would be no checksums.
        var damaged = undamaged
        damaged[20] = 0
        try damaged.write(to: URL(fileURLWithPath: file))
        let found = failure { () throws(StoreFailure) in try StoreContents(file: file) }
        #expect(found?.detail.contains("page 1 \(Self.mismatch)") == true, "\(String(describing: found))")
    }

    @Test func `two pages that changed places are found`() throws {
        let stored = try ClosedStore()
        let size = ClosedStore.pageSize
        // The last pages of rows: both have valid checksums, each for its own number.
        let (first, second) = (stored.pages - 2, stored.pages - 1)
        try stored.damage { data in
            let page = data[first * size..<(first + 1) * size]
            data.replaceSubrange(first * size..<(first + 1) * size, with: data[second * size..<(second + 1) * size])
            data.replaceSubrange(second * size..<(second + 1) * size, with: page)
        }
        let damage = PageChecker.damage(in: stored.folder.database)
        #expect(damage?.reason == .corrupted)
        let isNamed = [first, second].contains { damage?.detail.contains("page \($0 + 1) \(Self.mismatch)") == true }
        #expect(isNamed, "\(String(describing: damage))")
    }

    @Test func `a part of a page that is read is checked as well`() throws {
        let stored = try ClosedStore()
        func read(_ amount: Int32, at offset: Int64) throws -> Int32 {
            try StoreFile.read(stored.folder.database) { database in
                var pointer: UnsafeMutableRawPointer?
                sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &pointer)
                let file = try #require(pointer).assumingMemoryBound(to: sqlite3_file.self)
                let read = try #require(file.pointee.pMethods.pointee.xRead)
                var buffer = [UInt8](repeating: 0, count: Int(amount))
                return read(file, &buffer, amount, offset)
            }
        }
        // As SQLite reads the content of overflow pages: without the reserved bytes, and across pages.
        for (amount, offset) in [(4088, 2 * 4096), (512, 2 * 4096), (100, 3 * 4096 - 50)] as [(Int32, Int64)] {
            try stored.damage { _ in }
            #expect(try read(amount, at: offset) == SQLITE_OK)
            try stored.damage { $0[2 * 4096 + 4090] ^= 1 }
            #expect(try read(amount, at: offset) == ResultCode.SQLITE_IOERR_DATA.rawValue, "\(amount) at \(offset)")
        }
    }

    @Test func `a store without page checksums is used as it is, and a copy of it has them`() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        let old = try DatabaseQueue(path: folder.database)
        try Schema.migrator.migrate(old)
        try old.close()
        for start in 1...2 {
            let store = try CallStore.open(folder: folder.path)
            #expect(!store.hasPageChecksums)
            try store.commit((0..<150).map { .call(.live(createdAt: at($0))) })
            #expect(try store.whole().calls.count == start * 150)
            store.close()
        }
        #expect(PageChecker.damage(in: folder.database) == nil)
        // A program without the VFS reads every byte of a page as SQLite's.
        let plain = try DatabaseQueue(path: folder.database)
        #expect(try plain.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
        try plain.close()

        let file = folder.parent + "/backup"
        _ = try StoreBackup.write(folder: folder.path, to: file, replacing: false)
        _ = try StoreBackup.restore(file, into: folder.path, replacing: true, now: 1_790_000_000)
        let store = try CallStore.open(folder: folder.path)
        #expect(store.hasPageChecksums)
        #expect(try store.whole().calls.count == 300)
        store.close()
    }

    @Test func `a program without checksums can read the store`() throws {
        let stored = try ClosedStore()
        var configuration = Configuration()
        configuration.readonly = true
        let plain = try DatabaseQueue(path: stored.folder.database, configuration: configuration)
        #expect(try plain.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
        #expect(try plain.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM call") } == 400)
        try plain.close()
        #expect(PageChecker.damage(in: stored.folder.database) == nil)
    }

    @Test func `what another program writes is refused, and salvage makes a store of it`() throws {
        let stored = try ClosedStore()
        let plain = try DatabaseQueue(path: stored.folder.database)
        try plain.writeWithoutTransaction { try $0.execute(sql: "UPDATE leg SET user = 'other'") }
        try plain.close()
        let file = stored.folder.parent + "/backup"
        let refused = failure { () throws(StoreFailure) in
            try StoreBackup.write(folder: stored.folder.path, to: file, replacing: false)
        }
        #expect(refused?.reason == .corrupted && refused?.detail.contains("another program") == true)
        #expect(refused?.description.contains("--salvage") == true)
        let salvaged = try StoreBackup.write(folder: stored.folder.path, to: file, replacing: false, salvaging: true)
        #expect(salvaged.hasDamagedPages && salvaged.calls == 400)
        _ = try StoreBackup.restore(file, into: stored.folder.path, replacing: true, now: 1_790_000_000)
        let store = try CallStore.open(folder: stored.folder.path)
        #expect(Set(try store.whole().legs.map(\.device.user)) == [handle("other")])
        store.close()
        #expect(PageChecker.damage(in: stored.folder.database) == nil)
    }

    @Test func `a commit that meets a damaged page fails as a whole, and succeeds once the page is back`() throws {
        let stored = try ClosedStore()
        let call = stored.calls[200]
        for place in stored.places(of: call) {
            try stored.damage { $0[place + 7] ^= 1 }
            let store = try CallStore.open(folder: stored.folder.path)
            let device = DeviceRecord.full()
            let records: [StoreRecord] = [
                .device(device), .call(.ended(call.id, createdAt: call.createdAt)), .leg(stored.legs[200]),
            ]
            let refused = failure { () throws(StoreFailure) in try store.commit(records) }
            #expect(refused?.reason == .corrupted && refused?.detail.contains(Self.mismatch) == true, "byte \(place)")
            #expect(try StoreReader.open(folder: stored.folder.path, replays: false).devices() == [])
            let page = place / ClosedStore.pageSize * ClosedStore.pageSize
            let handle = try #require(FileHandle(forUpdatingAtPath: stored.folder.database))
            try handle.seek(toOffset: UInt64(page))
            try handle.write(contentsOf: stored.undamaged[page..<page + ClosedStore.pageSize])
            store.tables.checkpoints.noteWritten()
            // Not closed while the store is open: that would release the store's locks.
            try store.commit(records)
            #expect(try store.whole().devices == [device])
            store.close()
            try handle.close()
        }
    }

    @Test func `a damaged page that a reader meets is reported at once`() async throws {
        let stored = try ClosedStore()
        let place = try #require(stored.places(of: stored.calls[200]).last)
        try stored.damage { $0[place + 7] ^= 1 }
        let committer = try GroupCommitter(store: try CallStore.open(folder: stored.folder.path))
        let told = Mutex<StoreFailure?>(nil)
        var pace = PageCheckPace()
        (pace.firstAfter, pace.every, pace.betweenLooks) = (.seconds(3600), .seconds(3600), .milliseconds(1))
        committer.startPageChecks(pace: pace) { damage in told.withLock { $0 = damage } }
        let reader = try StoreReader.open(folder: stored.folder.path)
        let refused = failure { () throws(StoreFailure) in
            for call in stored.calls { _ = try reader.call(call.id) }
            return 0
        }
        #expect(refused?.reason == .corrupted)
        await eventually("it is reported") { told.withLock { $0 } != nil }
        #expect(committer.pages.damage?.detail.contains(Self.mismatch) == true)
        reader.close()
        await committer.close()
    }

    @Test func `a changed bit in the log of a running store is found by readers and checkpoints`() throws {
        let call = CallRecord.live()
        try withStore([.call(call)]) { store, reader, folder throws in
            let log = StoreFolder.log(of: folder.database)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: log))
            let words = (call.id.high.bigEndian, call.id.low.bigEndian)
            let id = withUnsafeBytes(of: words) { Data($0) }
            var start = 0
            while let found = bytes.range(of: id, in: start..<bytes.count) {
                bytes[found.lowerBound + 7] ^= 1
                start = found.upperBound
            }
            #expect(start > 0)
            #expect(try reader.callCount() == 1)
            let file = try #require(FileHandle(forUpdatingAtPath: log))
            try file.write(contentsOf: bytes)
            try file.close()
            let other = try StoreReader.open(folder: folder.path, replays: false)
            let refused = failure { () throws(StoreFailure) in try other.call(call.id) }
            #expect(refused?.reason == .corrupted && refused?.detail.contains(Self.mismatch) == true)
            other.close()
            let merged = failure { () throws(StoreFailure) in
                try StoreFailure.wrap(folder.database) {
                    try store.tables.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint") }
                }
            }
            #expect(merged?.reason == .corrupted)
            reader.close()
            store.close()
            #expect(throws: StoreFailure.self) { try CallStore.open(folder: folder.path) }
        }
    }

    @Test func `a transaction reads pages that it has written to the log and changed again`() throws {
        try withStore([]) { store, _, folder throws in
            try store.tables.queue.writeWithoutTransaction { database in
                // With a small cache, and then SQLite writes frames without their checksums until the commit.
                try database.execute(
                    sql: """
                        PRAGMA cache_size = 5;
                        BEGIN;
                        CREATE TABLE large (text);
                        WITH RECURSIVE number (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM number WHERE at < 300)
                        INSERT INTO large SELECT hex(randomblob(60)) FROM number;
                        UPDATE large SET text = text || 'x' WHERE rowid % 7 = 0;
                        SELECT sum(length(text)) FROM large;
                        COMMIT;
                        """)
            }
            #expect(PageChecker.damage(in: folder.database) == nil)
        }
    }

    @Test func `a folder may have a name with the signs of a URI`() throws {
        let parent = try TemporaryFolder()
        for name in ["a?vfs=unix", "b#c", "d%20e", "f&mode=ro g"] {
            let path = parent.parent + "/" + name
            let store = try CallStore.open(folder: path)
            try store.commit([.call(.live())])
            #expect(store.hasPageChecksums)
            store.close()
            #expect(StoreFolder.size(StoreFolder.database(in: path)) > 4096)
            let reader = try StoreReader.open(folder: "/" + path)
            #expect(try reader.callCount() == 1)
            reader.close()
        }
    }
}
