import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Synchronization
import Testing

@testable import CallStore

/// A store whose server was killed: some calls stand in the tables' log alone, some in the journal alone.
private struct KilledServer {
    static let direct = 20
    static let behind = 20

    let folder: TemporaryFolder
    let calls: [CallID]

    /// - Parameter more: calls that are merged into the database beforehand.
    init(more: Int = 0) throws {
        folder = try TemporaryFolder()
        let running = try TemporaryFolder()
        let store = try CallStore.open(folder: running.path)
        let merged = (0..<more).map { CallRecord.live(createdAt: at(Int64($0) - 1000)) }
        var calls = merged.map(\.id)
        if more > 0 {
            try store.commit(merged.map { .call($0) })
            try StoreFile.foldLog(into: running.database)
        }
        for number in 0..<Self.direct + Self.behind {
            let call = CallRecord.live(createdAt: at(Int64(number)))
            if number < Self.direct {
                try store.commit([.call(call)])
            } else {
                try store.commitBehind(batches: [[.call(call)]])
            }
            calls.append(call.id)
        }
        self.calls = calls
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        try running.copyStore(to: folder.path)
        store.close()
    }

    private init(folder: TemporaryFolder, calls: [CallID]) { (self.folder, self.calls) = (folder, calls) }

    func copy() throws -> KilledServer { KilledServer(folder: try TemporaryFolder(copying: folder), calls: calls) }

    var database: String { folder.database }
    var databaseLog: String { StoreFolder.log(of: database) }
    var journal: String { StoreFolder.journal(of: database) }
    var journalLog: String { StoreFolder.log(of: journal) }
    var mark: String { StoreFolder.mark(of: database) }

    /// Of the files that hold something of the store.
    var contents: [String: Data] {
        var contents: [String: Data] = [:]
        for name in folder.files where !name.hasSuffix("-shm") && name != "reveille.lock" {
            let data = FileManager.default.contents(atPath: folder.path + "/" + name)
            if let data, !data.isEmpty { contents[name] = data }
        }
        return contents
    }

    func change(_ path: String, _ body: (inout Data) -> Void) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        body(&data)
        try data.write(to: URL(fileURLWithPath: path))
    }

    enum Outcome: Equatable {
        case refused(StoreFailure.Reason)
        /// All that was acknowledged is there.
        case whole
        /// Something is missing, and it is said.
        case said
        case silent
    }

    func open() throws -> Outcome {
        let doubts = Mutex<[String]>([])
        let store: CallStore
        do throws(StoreFailure) {
            store = try CallStore.open(folder: folder.path, onDoubt: { doubt in doubts.withLock { $0.append(doubt) } })
        } catch {
            return .refused(error.reason)
        }
        defer { store.close() }
        if Set(try store.whole().calls.map(\.id)) == Set(calls) { return .whole }
        return doubts.withLock { $0.isEmpty } ? .silent : .said
    }
}

@Suite struct IntegrityTests {
    @Test func `a killed server's store is whole as it is, and its mark alone may be missing`() throws {
        let killed = try KilledServer()
        #expect(try killed.copy().open() == .whole)
        let unmarked = try killed.copy()
        try FileManager.default.removeItem(atPath: unmarked.mark)
        #expect(try unmarked.open() == .whole)
    }

    @Test func `a file that is missing or empty after a kill is refused, and the others stay as they were`() throws {
        let killed = try KilledServer()
        let names = [killed.database, killed.databaseLog, killed.journal, killed.journalLog].map {
            $0.split(separator: "/").last.map(String.init) ?? ""
        }
        for name in names {
            for isEmptied in [false, true] {
                for hasMark in [true, false] {
                    let damaged = try killed.copy()
                    let path = damaged.folder.path + "/" + name
                    if !hasMark { try FileManager.default.removeItem(atPath: damaged.mark) }
                    if isEmptied {
                        try Data().write(to: URL(fileURLWithPath: path))
                    } else {
                        try FileManager.default.removeItem(atPath: path)
                    }
                    let before = damaged.contents
                    for _ in 0..<2 {
                        let outcome = try damaged.open()
                        guard case .refused = outcome else {
                            Issue.record("\(name), emptied \(isEmptied), mark \(hasMark): \(outcome)")
                            continue
                        }
                    }
                    #expect(damaged.contents == before, "\(name)")
                }
            }
        }
    }

    @Test func `whatever byte of a log, the journal or the mark is changed, nothing is missing unsaid`() throws {
        let killed = try KilledServer()
        for (path, step) in [
            (\KilledServer.databaseLog, 4001), (\KilledServer.journalLog, 4001), (\KilledServer.journal, 1201),
            (\KilledServer.mark, 1),
        ] as [(KeyPath<KilledServer, String>, Int)] {
            let size = Int(StoreFolder.size(killed[keyPath: path]))
            // More of the headers.
            for offset in Array(stride(from: 0, to: min(64, size), by: 3)) + Array(stride(from: 64, to: size, by: step))
            {
                for hasMark in path == \KilledServer.mark ? [true] : [true, false] {
                    let damaged = try killed.copy()
                    if !hasMark { try FileManager.default.removeItem(atPath: damaged.mark) }
                    try damaged.change(damaged[keyPath: path]) { $0[offset] ^= 0x55 }
                    let outcome = try damaged.open()
                    #expect(outcome != .silent, "byte \(offset) of \(damaged[keyPath: path]), mark \(hasMark)")
                }
            }
        }
    }

    @Test func `whatever length a log is cut to, nothing is missing without a word`() throws {
        let killed = try KilledServer()
        for path in [\KilledServer.databaseLog, \KilledServer.journalLog] {
            let size = Int(StoreFolder.size(killed[keyPath: path]))
            for length in stride(from: 0, to: size, by: max(1, size / 11)) {
                let damaged = try killed.copy()
                try damaged.change(damaged[keyPath: path]) { $0.removeLast($0.count - length) }
                let outcome = try damaged.open()
                #expect(outcome != .silent, "\(length) bytes of \(size)")
            }
        }
    }

    @Test func `whatever length a database or journal is cut to, nothing is missing without a word`() throws {
        let killed = try KilledServer(more: 300)
        for path in [\KilledServer.database, \KilledServer.journal] {
            let size = Int(StoreFolder.size(killed[keyPath: path]))
            #expect(path == \KilledServer.journal || size > 20 * 4096, "most of it is in the file")
            for length in [1, 2, 99, 100, 511, size - 1, size - 4096] + stride(from: 0, to: size, by: max(1, size / 23))
            {
                let damaged = try killed.copy()
                try damaged.change(damaged[keyPath: path]) { $0.removeLast($0.count - length) }
                let before = damaged.contents
                let outcome = try damaged.open()
                // A page may stand in the log as well.
                guard outcome != .whole else { continue }
                guard case .refused = outcome else {
                    Issue.record("\(length) bytes of \(size): \(outcome)")
                    continue
                }
                #expect(damaged.contents == before)
            }
        }
    }

    @Test func `readers, backups and salvage leave what belongs to a file of nothing where it is`() throws {
        let killed = try KilledServer()
        for path in [\KilledServer.database, \KilledServer.journal] {
            for length in [0, 1] {
                for hasMark in [true, false] {
                    let damaged = try killed.copy()
                    if !hasMark { try FileManager.default.removeItem(atPath: damaged.mark) }
                    try damaged.change(damaged[keyPath: path]) { $0.removeLast($0.count - length) }
                    let before = damaged.contents
                    #expect(throws: StoreFailure.self) { try StoreReader.open(folder: damaged.folder.path) }
                    #expect(throws: StoreFailure.self) { try CallStore.open(folder: damaged.folder.path) }
                    let file = damaged.folder.parent + "/rest"
                    for isSalvaging in [false, true] {
                        _ = try? StoreBackup.write(
                            folder: damaged.folder.path, to: file, replacing: true, salvaging: isSalvaging)
                    }
                    #expect(damaged.contents == before, "\(path), \(length)")
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func `a database that is gone after a clean stop is refused where a server has kept its clock`(
        isEmptied: Bool
    ) throws {
        let folder = try TemporaryFolder()
        try CallStore.open(folder: folder.path).close()
        for file in StoreFolder.files(of: folder.database) { try? FileManager.default.removeItem(atPath: file) }
        if isEmptied { try Data().write(to: URL(fileURLWithPath: folder.database)) }
        // A folder in which nothing was stored yet.
        #expect(throws: (any Error).self) { try StoreReader.open(folder: folder.path) }
        try Data("{}".utf8).write(to: URL(fileURLWithPath: StoreFolder.clock(of: folder.database)))
        let files = folder.files
        func reason(_ body: () throws -> Void) -> StoreFailure.Reason? {
            do { try body() } catch { return (error as? StoreFailure)?.reason }
            return nil
        }
        #expect(reason { try CallStore.open(folder: folder.path).close() } == .missingFile)
        #expect(reason { try StoreReader.open(folder: folder.path).close() } == .missingFile)
        let copy = folder.parent + "/copy"
        #expect(reason { _ = try StoreBackup.write(folder: folder.path, to: copy, replacing: false) } == .missingFile)
        #expect(folder.files == files)
        try FileManager.default.removeItem(atPath: StoreFolder.clock(of: folder.database))
        #expect(reason { try CallStore.open(folder: folder.path).close() } == nil, "it begins anew")
    }

    @Test func `a store that was closed and then cut is refused`() throws {
        for length in [1, 2, 99, 4095, 4096, 8192] {
            let folder = try TemporaryFolder()
            let store = try CallStore.open(folder: folder.path)
            try store.commit([.call(.live())])
            store.close()
            try FileHandle(forUpdatingAtPath: folder.database)?.truncate(atOffset: UInt64(length))
            #expect(throws: StoreFailure.self, "\(length)") { try CallStore.open(folder: folder.path) }
            #expect(StoreFolder.size(folder.database) == length)
        }
    }

    @Test func `files of another store are refused`() throws {
        let (killed, other) = (try KilledServer(), try KilledServer())
        for paths in [
            [\.database, \.databaseLog], [\.journal, \.journalLog], [\.mark], [\.databaseLog], [\.journalLog],
        ] as [[KeyPath<KilledServer, String>]] {
            let damaged = try killed.copy()
            for path in paths {
                try FileManager.default.removeItem(atPath: damaged[keyPath: path])
                try FileManager.default.copyItem(atPath: other[keyPath: path], toPath: damaged[keyPath: path])
            }
            let outcome = try damaged.open()
            guard case .refused = outcome else {
                Issue.record("\(paths): \(outcome)")
                continue
            }
        }
    }

    @Test func `what is refused at a start is refused by readers and backups, and may be salvaged`() throws {
        let damaged = try KilledServer()
        try FileManager.default.removeItem(atPath: damaged.journalLog)
        let read = failure { () throws(StoreFailure) in try StoreReader.open(folder: damaged.folder.path) }
        #expect(read?.reason == .incomplete)
        let file = damaged.folder.parent + "/backup"
        let backup = failure { () throws(StoreFailure) in
            try StoreBackup.write(folder: damaged.folder.path, to: file, replacing: false)
        }
        #expect(backup?.reason == .incomplete && !StoreFolder.exists(file))
        let contents = try StoreBackup.write(folder: damaged.folder.path, to: file, replacing: false, salvaging: true)
        #expect(contents.calls == KilledServer.direct)
        let restored = try StoreBackup.restore(file, into: damaged.folder.path, replacing: true, now: 1_790_000_000)
        #expect(restored.kept.count > 1, "what is damaged is kept with all that belongs to it")
        let store = try CallStore.open(folder: damaged.folder.path)
        #expect(try store.whole().calls.count == KilledServer.direct)
        store.close()
    }

    @Test func `a store that was closed is its database alone, and no mark or journal has to be there`() throws {
        try withStore([.call(.live())]) { store, reader, folder throws in
            #expect(StoreFolder.exists(StoreFolder.mark(of: folder.database)))
            reader.close()
            store.close()
            #expect(folder.files == ["reveille.lock", "reveille.sqlite3"])
            let again = try CallStore.open(folder: folder.path, onDoubt: { Issue.record("\($0)") })
            #expect(try again.whole().calls.count == 1)
            again.close()
        }
    }

    @Test(arguments: [513, 1000, 4095, 65_535] as [UInt32])
    func `a log with a page size that SQLite does not have is no log`(_ pageSize: UInt32) throws {
        // The header ends with its checksum, over pairs of words (sqlite.org/fileformat2.html#walformat).
        var words: [UInt32] = [0x377F_0683, 3_007_000, pageSize, 0, 1, 2]
        var sum: (UInt32, UInt32) = (0, 0)
        for index in stride(from: 0, to: words.count, by: 2) {
            sum.0 &+= words[index] &+ sum.1
            sum.1 &+= words[index + 1] &+ sum.0
        }
        words += [sum.0, sum.1]
        // One frame with the header's salt, up to the end of the file.
        words += [1, 1, 1, 2, 0, 0]
        let bytes = words.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
        let folder = try TemporaryFolder()
        let path = folder.parent + "/log"
        try Data(bytes + [UInt8](repeating: 7, count: Int(pageSize))).write(to: URL(fileURLWithPath: path))
        guard case .badHeader = LogCheck.of(path) else {
            Issue.record("it was read: \(LogCheck.of(path))")
            return
        }
    }

    @Test func `a mark is read as it was written, and not when any bit of it is another`() {
        let mark = CommitMark.Content(
            store: Data((0..<16).map { UInt8($0) }), through: 77, boot: Data((16..<32).map { UInt8($0) }))
        #expect(CommitMark.Content(bytes: mark.bytes) == mark && mark.bytes.count == CommitMark.Content.size)
        for place in 0..<56 {
            for bit in 0..<8 {
                var bytes = mark.bytes
                bytes[place] ^= 1 << UInt8(bit)
                #expect(CommitMark.Content(bytes: bytes) == nil, "byte \(place)")
            }
        }
        #expect(CommitMark.bootID.count == 16)
    }

    @Test func `nothing is acknowledged while a file is deleted or moved, and all is once it is back`() async throws {
        let folder = try TemporaryFolder()
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
        let paths = StoreFolder.files(of: folder.database) + [StoreFolder.mark(of: folder.database)]
        for path in paths {
            try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
            let isDone = Atomic<Bool>(false)
            let isTaken = committer.commit(batch: [.call(.live())]) { result in
                isDone.store((try? result.get()) != nil, ordering: .sequentiallyConsistent)
            }
            #expect(isTaken)
            await eventually("\(path) is missed") { committer.failure?.reason == .displacedFile }
            #expect(committer.failure?.path == path)
            #expect(!isDone.load(ordering: .sequentiallyConsistent) && committer.waitingSince != nil)
            try FileManager.default.moveItem(atPath: path + ".moved", toPath: path)
            await eventually("the commit is done") {
                committer.isHealthy && isDone.load(ordering: .sequentiallyConsistent)
            }
            #expect(committer.waitingSince == nil)
        }
        await committer.close()
    }

    @Test func `a file that is replaced while nothing is committed is noticed as well`() async throws {
        let folder = try TemporaryFolder()
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
        try FileManager.default.moveItem(atPath: folder.database, toPath: folder.database + ".moved")
        try FileManager.default.copyItem(atPath: folder.database + ".moved", toPath: folder.database)
        await eventually("it is noticed") { committer.failure?.reason == .displacedFile }
        #expect(committer.failure?.path == folder.database)
        await committer.close()
        #expect(StoreFolder.exists(StoreFolder.mark(of: folder.database)), "the next start is to look")
    }

    @Test func `a copy by hard links, which keeps the next start off, is told until it is removed`() async throws {
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
        try FileManager.default.createDirectory(atPath: other.path, withIntermediateDirectories: true)
        let copy = StoreFolder.database(in: other.path)
        try FileManager.default.linkItem(atPath: folder.database, toPath: copy)
        await eventually("it is told") { committer.statistics.linked?.reason == .linkedFile }
        #expect(committer.statistics.linked?.path == folder.database && committer.isHealthy)
        try FileManager.default.removeItem(atPath: copy)
        await eventually("it is over") { committer.statistics.linked == nil }
        await committer.close()
    }

    /// Writes over the file that is there, as `cp` does. The handle is to be closed after the store, whose locks go with
    /// it.
    private static func overwrite(_ path: String, with bytes: Data) throws -> FileHandle {
        func time() throws -> Date? {
            try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        }
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        let before = try time()
        // The times of files go in steps of some milliseconds.
        repeat {
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: bytes)
        } while try time() == before
        return handle
    }

    @Test func `nothing is acknowledged once a database was overwritten, and nothing is mixed into it`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commit((0..<50).map { .call(.live(createdAt: at($0))) })
        let backup = folder.parent + "/backup"
        _ = try StoreBackup.write(folder: folder.path, to: backup, replacing: false)
        store.close()
        // One of another size, and one of the same.
        let copies = try [backup, folder.database].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        for bytes in copies {
            for isJournal in [false, true] {
                let running = try TemporaryFolder(copying: folder)
                let path = isJournal ? StoreFolder.journal(of: running.database) : running.database
                let committer = try GroupCommitter(store: try CallStore.open(folder: running.path))
                let handle = try Self.overwrite(path, with: bytes)
                let isDone = Atomic<Bool>(false)
                let isTaken = committer.commit(batch: [.call(.live())]) { result in
                    isDone.store((try? result.get()) != nil, ordering: .sequentiallyConsistent)
                }
                #expect(isTaken)
                await eventually("\(path) is noticed") { committer.failure?.reason == .overwrittenFile }
                #expect(committer.failure?.path == path)
                #expect(committer.failure?.description.contains("reveille restore --replace") == true)
                await committer.close()
                try handle.close()
                let wasDone = isDone.load(ordering: .sequentiallyConsistent)
                #expect(!wasDone)
                #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
                #expect(StoreFolder.exists(StoreFolder.mark(of: running.database)), "the next start is to look")
                // What it advises.
                _ = try StoreBackup.restore(backup, into: running.path, replacing: true, now: 1_790_000_000)
                let restored = try CallStore.open(folder: running.path)
                #expect(try restored.whole().calls.count == 50)
                restored.close()
            }
        }
    }

    @Test func `nothing is acknowledged once a log was overwritten or cut, nor merged from it`() async throws {
        for isJournal in [false, true] {
            for isCut in [false, true] {
                let folder = try TemporaryFolder()
                let store = try CallStore.open(folder: folder.path)
                let database = isJournal ? StoreFolder.journal(of: folder.database) : folder.database
                let path = StoreFolder.log(of: database)
                var earlier = Data()
                for number in 0..<4 {
                    let records: [StoreRecord] = [.call(.live())]
                    if isJournal { try store.commitBehind(batches: [records]) } else { try store.commit(records) }
                    try store.checkFiles()
                    if number == 0 { earlier = try Data(contentsOf: URL(fileURLWithPath: path)) }
                }
                let handle = try Self.overwrite(path, with: isCut ? Data() : earlier)
                let committer = try GroupCommitter(store: store)
                let isDone = Atomic<Bool>(false)
                let isTaken = committer.commit(batch: [.call(.live())]) { result in
                    isDone.store((try? result.get()) != nil, ordering: .sequentiallyConsistent)
                }
                #expect(isTaken)
                await eventually("\(path) is noticed") { committer.failure?.reason == .overwrittenFile }
                #expect(committer.failure?.path == path)
                await committer.close()
                try handle.close()
                let wasDone = isDone.load(ordering: .sequentiallyConsistent)
                #expect(!wasDone)
                #expect(StoreFolder.exists(StoreFolder.mark(of: folder.database)), "the next start is to look")
                guard isJournal else {
                    #expect(throws: StoreFailure.self) { try CallStore.open(folder: folder.path) }
                    continue
                }
                // The tables have what was in the journal.
                let next = try CallStore.open(folder: folder.path)
                #expect(try next.whole().calls.count == 4)
                next.close()
            }
        }
    }

    @Test func `a log that was cut before a transaction is still known after it`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commit([.call(.live())])
        let handle = try Self.overwrite(StoreFolder.log(of: folder.database), with: Data())
        _ = failure { () throws(StoreFailure) in try store.commit([.call(.live())]) }
        let refused = failure { () throws(StoreFailure) in try store.checkFiles() }
        #expect(refused?.reason == .overwrittenFile)
        store.close()
        try handle.close()
    }

    @Test(arguments: [false, true], [1, 400_000])
    func `a commit over others, by an older index of the log, is known after it`(isJournal: Bool, size: Int) throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let database = isJournal ? StoreFolder.journal(of: folder.database) : folder.database
        func commit(_ size: Int) throws(StoreFailure) {
            let call = CallRecord.live()
            let sdp = RawJSON(bytes: Array("\"\(String(repeating: "a", count: size))\"".utf8))
            let records: [StoreRecord] = [
                .call(call), .descriptions(DescriptionsRecord(call: call.id, offer: sdp, custom: nil)),
            ]
            if isJournal { try store.commitBehind(batches: [records]) } else { try store.commit(records) }
        }
        try commit(1)
        let earlier = try Data(contentsOf: URL(fileURLWithPath: database + "-shm"))
        for _ in 0..<4 {
            try commit(1)
            try store.checkFiles()
        }
        let handle = try Self.overwrite(database + "-shm", with: earlier)
        // One that ends before the last one, and one that goes beyond it.
        _ = failure { () throws(StoreFailure) in try commit(size) }
        let refused = failure { () throws(StoreFailure) in try store.checkFiles() }
        #expect(refused?.reason == .overwrittenFile && refused?.path == StoreFolder.log(of: database))
        store.close()
        try handle.close()
        #expect(StoreFolder.exists(StoreFolder.mark(of: folder.database)), "the next start is to look")
    }

    @Test func `what the store itself writes to its databases overwrites nothing`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let paths = [folder.database, StoreFolder.journal(of: folder.database)]
        let before = paths.map { StoreFolder.size($0) }
        let sdp = RawJSON(bytes: Array("\"\(String(repeating: "a", count: 400_000))\"".utf8))
        // Ten of them fill a log up to its checkpoint.
        for number in 0..<40 {
            let call = CallRecord.live(createdAt: at(Int64(number)))
            let records: [StoreRecord] = [
                .call(call), .descriptions(DescriptionsRecord(call: call.id, offer: sdp, custom: nil)),
            ]
            if number.isMultiple(of: 2) {
                try store.commitBehind(batches: [records])
            } else {
                try store.commit(records)
            }
            try store.checkFiles()
        }
        for (path, size) in zip(paths, before) { #expect(StoreFolder.size(path) > size, "no checkpoint of \(path)") }
        store.close()
        #expect(folder.files == ["reveille.lock", "reveille.sqlite3"])
    }

    @Test func `a damaged page is found beside a running store`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commit((0..<2000).map { .call(.live(createdAt: at($0))) })
        store.close()
        #expect(PageChecker.damage(in: folder.database) == nil)
        // The root of the table is one of the first pages; a page of its rows is in the middle.
        let handle = try #require(FileHandle(forUpdatingAtPath: folder.database))
        let size = try handle.seekToEnd()
        try handle.seek(toOffset: size / 2 / 4096 * 4096)
        try handle.write(contentsOf: Data(repeating: 0, count: 4096))
        try handle.close()
        #expect(PageChecker.damage(in: folder.database)?.reason == .corrupted)
        // A stopping server checks no further table.
        let stop = QueryStop()
        stop.request()
        #expect(PageChecker.damage(in: folder.database, stop) == nil)
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
        let told = Mutex<StoreFailure?>(nil)
        var pace = PageCheckPace()
        (pace.firstAfter, pace.every) = (.zero, .milliseconds(10))
        committer.startPageChecks(pace: pace) { damage in told.withLock { $0 = damage } }
        await eventually("it is found") { committer.pages.passes > 1 }
        #expect(committer.pages.damage?.reason == .corrupted)
        #expect(told.withLock { $0 }?.path == folder.database)
        await committer.close()
    }

    @Test func `a check that finds the database moved away says nothing about the store`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        defer { store.close() }
        try store.commit([.call(.live(createdAt: at(0)))])
        let files = StoreFiles(folder.database)
        let (other, manager) = (folder.path + "/other", FileManager.default)
        try manager.moveItem(atPath: folder.database, toPath: other)
        // Its log alone looks like that of a truncated database.
        #expect(PageChecker.damage(in: folder.database)?.reason == .corrupted)
        #expect(PageChecker.verdict(on: folder.database, files) == .unknown)
        try manager.moveItem(atPath: other, toPath: folder.database)
        #expect(PageChecker.verdict(on: folder.database, files) == .sound)
    }

    /// A store with many calls, whose check takes a while, and after them a damaged table.
    private static func damagedStore() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commit([
            .call(.live(createdAt: at(0))), .user(UserRecord(handle: handle("alice"), policy: UserPolicy())),
        ])
        let root = try store.tables.queue.write { database throws -> Int in
            // Checked before the others.
            try database.execute(sql: "CREATE TABLE \"a'\u{301}\" (a)")
            let columns = try database.columns(in: "call").map(\.name).filter { $0 != "serial" && $0 != "id" }
                .joined(separator: ", ")
            try database.execute(
                sql: """
                    WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200000)
                    INSERT INTO call (id, \(columns)) SELECT randomblob(16), \(columns) FROM call, number
                    """)
            return try Int.fetchOne(
                database, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'user_policy'") ?? 0
        }
        store.close()
        let file = try #require(FileHandle(forUpdatingAtPath: folder.database))
        try file.seek(toOffset: UInt64(root - 1) * 4096)
        try file.write(contentsOf: Data(repeating: 0, count: 4096))
        try file.close()
        return folder
    }

    @Test func `a store that is closed does not wait for the end of a page check`() async throws {
        let folder = try Self.damagedStore()
        #expect(PageChecker.damage(in: folder.database)?.reason == .corrupted)
        var pace = PageCheckPace()
        pace.firstAfter = .zero
        // On a busy machine a check may be over before this test sees it run.
        for _ in 0..<5 {
            let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
            committer.startPageChecks(pace: pace) { _ in }
            await eventually("a check runs") { committer.pageCheckStop.isReading || committer.pages.passes > 0 }
            await committer.close()
            if committer.pages.damage == nil { return }
        }
        Issue.record("each check went on to the damaged table")
    }

    @Test func `a changed byte in an index or a value is found`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let call = CallRecord.live()
        try store.commit([.call(call), .leg(.sample(of: call))])
        store.close()
        let words = (call.id.high.bigEndian, call.id.low.bigEndian)
        let id = withUnsafeBytes(of: words) { Data($0) }
        let undamaged = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        // Of the call: the row and its index.
        var places: [Int] = []
        while let found = undamaged.range(of: id, in: (places.last.map { $0 + 1 } ?? 0)..<undamaged.count) {
            places.append(found.lowerBound)
        }
        #expect(places.count >= 3)
        var found = 0
        for place in places {
            var damaged = undamaged
            damaged[place + 7] ^= 1
            try damaged.write(to: URL(fileURLWithPath: folder.database))
            if PageChecker.damage(in: folder.database)?.reason == .corrupted { found += 1 }
        }
        #expect(found == places.count)
    }

    @Test func `drafts of backups that were killed go with the next one to the same file`() throws {
        try withStore([.call(.live())]) { _, _, folder throws in
            let file = folder.parent + "/backup"
            // No process has an id beyond the kernel's largest.
            let left = ["4194999", "4194999-wal", "4194998-journal"].map { file + ".draft-" + $0 }
            let others = [file + ".draft-1", file + "2.draft-4194999", file + ".draft-x"]
            for path in left + others { try Data("draft".utf8).write(to: URL(fileURLWithPath: path)) }
            _ = try StoreBackup.write(folder: folder.path, to: file, replacing: false)
            #expect(left.allSatisfy { !StoreFolder.exists($0) })
            #expect(others.allSatisfy { StoreFolder.exists($0) })
        }
    }
}
