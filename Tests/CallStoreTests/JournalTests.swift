import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct JournalTests {
    /// Everything in the tables, in the order in which it counts. Serial numbers and the journal are left out.
    private static func contents(_ folder: TemporaryFolder) throws -> [String] {
        let tables = [
            ("call", "serial"), ("call_descriptions", "call"), ("leg", "call, serial"), ("push", "call, serial"),
            ("call_candidates", "call, serial"), ("device", "user, device"),
            ("(SELECT user, party.created_at, id FROM call_party party JOIN call ON serial = call_serial)", "1, 2, 3"),
            ("push_token", "user, device, position"), ("missed_call", "user, call"), ("call_group", "name"),
            ("user_policy", "handle"), ("alias", "handle"),
        ]
        let queue = try StoreConnection.open(folder.database, StoreConnection.reading("test"))
        defer { try? queue.close() }
        return try queue.read { database throws in
            try tables.flatMap { table, order in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table) ORDER BY \(order)").map { row in
                    table + row.filter { !$0.0.hasSuffix("serial") }.map { " \($0.0)=\($0.1)" }.joined()
                }
            }
        }
    }

    /// How many commits are in the journal and not in the tables.
    private static func entries(_ folder: TemporaryFolder) throws -> Int {
        let queue = try StoreConnection.open(folder.database, StoreConnection.reading("test"))
        let journal = try StoreConnection.open(
            StoreFolder.journal(of: folder.database), StoreConnection.reading("test"))
        defer {
            try? queue.close()
            try? journal.close()
        }
        let settled = try queue.read { try SettledCommits.read($0) }
        return try journal.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM journal WHERE entry > ?", arguments: [settled.through])!
        }
    }

    @Test func `what is left of a journal whose file is gone is nobody's`() throws {
        let calls = (0..<3).map { CallRecord.live(createdAt: at($0)) }
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commitBehind(batches: [[.call(calls[0])]])
        let killed = try TemporaryFolder(copying: folder)
        store.close()
        let log = StoreFolder.journal(of: killed.database) + "-wal"
        let left = try Data(contentsOf: URL(fileURLWithPath: log))
        #expect(!left.isEmpty)
        // The next start takes it in, and is cut off while it takes the journal away.
        let next = try CallStore.open(folder: killed.path)
        next.close()
        try left.write(to: URL(fileURLWithPath: log))
        #expect(try StoreReader.open(folder: killed.path).calls() == [calls[0]])
        let last = try CallStore.open(folder: killed.path)
        try last.commitBehind(batches: [[.call(calls[1])], [.call(calls[2])]])
        let again = try TemporaryFolder(copying: killed)
        last.close()
        for folder in [killed, again] { #expect(try StoreReader.open(folder: folder.path).calls().count == 3) }
    }

    @Test func `what is written behind is durable at once, and in the tables after catching up`() throws {
        let (first, second) = (CallRecord.full(), CallRecord.live(createdAt: at(11)))
        try withStore { store, reader, folder throws in
            try store.commitBehind(batches: [[.call(first)], [.call(second)]])
            #expect(store.behindSince != nil && store.behindCount == 2)
            #expect(try reader.calls() == [])

            let killed = try TemporaryFolder(copying: folder)
            #expect(try StoreReader.open(folder: killed.path).calls() == [second, first])

            #expect(try store.catchUp() == 2)
            #expect(store.behindSince == nil && store.behindCount == 0)
            #expect(try reader.calls() == [second, first])
            #expect(try Self.entries(folder) == 0)
            #expect(try store.catchUp() == 0)
        }
    }

    @Test func `a call that is over soon is written into the tables once`() throws {
        var call = CallRecord.live()
        var leg = LegRecord.sample(of: call)
        let offer = DescriptionsRecord(call: call.id, offer: RawJSON(bytes: Array("\"v=0\"".utf8)), custom: nil)
        try withStore { store, reader, folder throws in
            try store.commitBehind(batches: [[.leg(leg), .call(call), .descriptions(offer)]])
            // A server that is killed now finds the leg again, though its call stands behind it.
            let killed = try TemporaryFolder(copying: folder)
            #expect(
                try StoreReader.open(folder: killed.path).call(call.id)
                    == StoredCall(call: call, legs: [leg], pushes: []))
            (call.state, leg.state) = (.ringing, .ringing)
            try store.commitBehind(batches: [[.leg(leg), .call(call)]])
            call = .ended(call.id)
            leg.state = .ended
            try store.commitBehind(batches: [[.leg(leg), .call(call), .descriptionsDropped(call.id)]])
            #expect(store.behindCount == 8)
            #expect(try store.catchUp() == 3)
            #expect(try reader.call(call.id) == StoredCall(call: call, legs: [leg], pushes: []))
            #expect(try reader.history(of: handle("bob"), limit: 9).entries.map(\.call) == [call])
        }
    }

    @Test func `a commit brings what was written behind into the tables before it`() throws {
        let call = CallRecord.live()
        try withStore { store, reader, folder throws in
            try store.commitBehind(batches: [[.call(call)]])
            let ended = CallRecord.ended(call.id)
            #expect(try store.commit([.call(ended)]) == 2)
            #expect(try reader.calls() == [ended])
            #expect(try Self.entries(folder) == 0 && store.behindSince == nil)
            // Numbers go on.
            try store.commitBehind(batches: [[.call(.live())]])
            try store.catchUp()
            #expect(try reader.calls().count == 2)
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `whatever is written behind, and wherever the server is killed, the tables come to hold the same`(
        seed: UInt64
    ) throws {
        var history = RandomHistory(seed: seed)
        let (plainFolder, folder) = (try TemporaryFolder(), try TemporaryFolder())
        let plain = try CallStore.open(folder: plainFolder.path)
        var store = try CallStore.open(folder: folder.path)
        let reader = try StoreReader.open(folder: folder.path)
        for _ in 0..<60 {
            let group = (0..<history.number(1...3)).map { _ in history.batch() }
            try plain.commit(batches: group)
            switch history.number(0...19) {
            case 0: try store.commit(batches: group)
            default: try store.commitBehind(batches: group)
            }
            switch history.number(0...5) {
            case 0: try store.catchUp(records: history.number(1...6))
            case 1: try store.catchUp()
            case 2:
                let killed = try TemporaryFolder(copying: folder)
                try CallStore.open(folder: killed.path).close()
                #expect(try Self.contents(killed) == Self.contents(plainFolder))
            default: break
            }
            #expect(try reader.audit().violations == [], "a call is written with all its parts, or not at all")
        }
        // A server that goes on from what another left, killed in its turn.
        let next = try TemporaryFolder(copying: folder)
        store.close()
        store = try CallStore.open(folder: next.path)
        #expect(try store.whole() == plain.whole())
        let last = history.batch()
        try plain.commit(last)
        try store.commitBehind(batches: [last])
        store.close()
        plain.close()
        #expect(try Self.contents(next) == Self.contents(plainFolder))
    }

    @Test func `what does not fit on the disk is not acknowledged, and what was before it is not lost`() throws {
        try withStore { store, reader, folder throws in
            let disk = StoreDisk(of: store)
            let calls = (0..<300).map { CallRecord.live(createdAt: at($0)) }
            try store.commitBehind(batches: [calls.prefix(200).map { .call($0) }])
            try disk.fill()
            let refused = failure { () throws(StoreFailure) in
                try store.commitBehind(batches: [calls.map { .call(.ended($0.id, createdAt: $0.createdAt)) }])
            }
            #expect(refused?.reason == .diskFull)
            #expect(failure { () throws(StoreFailure) in try store.catchUp() }?.reason == .diskFull)
            #expect(store.behindCount == 200)
            #expect(try reader.calls().isEmpty)
            let killed = try TemporaryFolder(copying: folder)
            #expect(try StoreReader.open(folder: killed.path).calls(CallFilter(limit: 999)).count == 200)
            try disk.free()
            try store.commitBehind(batches: [calls.suffix(100).map { .call($0) }])
            try store.catchUp()
            #expect(try reader.calls(CallFilter(limit: 999)) == calls.reversed())
        }
    }

    @Test func `nothing is written about a call that is gone, not after a kill either`() throws {
        let call = CallRecord.ended()
        let push = PushRecord.sample(of: .sample(of: call), status: .accepted, report: .notRequired)
        try withStore([.call(call)]) { store, reader, folder throws in
            var run = RetentionRun(RetentionPolicy(), now: at(0) + .seconds(500 * 86_400))
            while !run.isDone { _ = try store.tables.deleteSlice(&run, rows: 500) { false } }
            try store.commitBehind(batches: [[.push(push), .leg(.sample(of: call))]])
            let killed = try TemporaryFolder(copying: folder)
            try store.catchUp()
            for reader in [reader, try StoreReader.open(folder: killed.path)] {
                #expect(try reader.pushes().isEmpty)
                #expect(try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM leg") } == 0)
                #expect(try reader.audit().violations == [])
            }
        }
    }

    @Test func `a push that was intended soon after a call's end goes with it, whatever lay between`() throws {
        let call = CallRecord.ended()
        var push = PushRecord.sample(of: .sample(of: call), status: .accepted, report: .notRequired)
        push.intendedAt = call.endedAt! + .seconds(5)
        try withStore([.call(call)]) { store, reader, _ throws in
            let policy = RetentionPolicy()
            let age = try #require(policy.calls)
            // What is kept begins between the two.
            var run = RetentionRun(policy, now: call.endedAt! + age + .seconds(1))
            while !run.isDone { _ = try store.tables.deleteSlice(&run, rows: 500) { false } }
            #expect(try reader.callCount() == 0)
            try store.commit([.push(push)])
            #expect(try reader.pushes().isEmpty)
        }
    }

    @Test func `what is too large for an entry goes into the tables at once, after what was behind`() throws {
        let calls = (0..<2).map { CallRecord.live(createdAt: at($0)) }
        var large = calls[1]
        large.callerName = String(repeating: "x", count: CallStore.mostEntryBytes)
        try withStore { store, reader, folder throws in
            try store.commitBehind(batches: [[.call(calls[0]), .call(calls[1])]])
            #expect(try reader.callCount() == 0)
            #expect(try store.commitBehind(batches: [[.call(large)]]) == 3)
            #expect(try Self.entries(folder) == 0)
            #expect(store.behindCount == 0)
            #expect(try reader.calls() == [large, calls[0]])
        }
    }

    @Test func `a backup has in its tables what stood in the journal`() throws {
        let call = CallRecord.live()
        try withStore { store, _, folder throws in
            try store.commitBehind(batches: [[.call(call)], [.device(.full())]])
            let contents = try StoreBackup.write(
                folder: folder.path, to: folder.parent + "/backup", replacing: false)
            #expect(contents.calls == 1 && contents.devices == 1)
            #expect(store.behindCount == 2)
            let other = try TemporaryFolder()
            _ = try StoreBackup.restore(
                folder.parent + "/backup", into: other.path, replacing: false, now: 1_790_000_000)
            #expect(try StoreReader.open(folder: other.path).calls() == [call])
        }
    }

    @Test func `a reader beside a running server leaves the journal to it`() throws {
        try withStore { store, _, folder throws in
            try store.commitBehind(batches: [[.call(.live())]])
            #expect(try StoreReader.open(folder: folder.path).calls().isEmpty)
            #expect(try Self.entries(folder) == 1)
        }
    }

    @Test func `operations that are damaged are refused, and none of them is run`() throws {
        let sound = OperationBuffer(of: [.device(.full()), .call(.full()), .candidatesDropped(.random())])
        for damage in [Array(sound.bytes.dropLast()), sound.bytes + [99], sound.bytes + [5, 77]] {
            let folder = try TemporaryFolder()
            let store = try CallStore.open(folder: folder.path)
            try store.commitBehind(batches: [[.device(.full())]])
            // Written so: a checksum that does not match is another test's.
            try store.journal?.queue.write { database throws in
                let owner = try Data.fetchOne(database, sql: "SELECT store FROM owner") ?? Data()
                let checksum = damage.withUnsafeBytes { EntryChecksum.of($0, entry: 1, store: owner) }
                try database.execute(
                    sql: "UPDATE journal SET operations = ?, checksum = ?", arguments: [Data(damage), checksum])
            }
            let killed = try TemporaryFolder(copying: folder)
            let thrown = failure { () throws(StoreFailure) in try CallStore.open(folder: killed.path) }
            #expect(thrown?.reason == .unreadableRow)
            #expect(thrown?.detail.contains("journal.operations") == true)
            #expect(try Self.contents(killed).isEmpty && Self.entries(killed) == 1)
            try store.journal?.queue.write { try $0.execute(sql: "UPDATE journal SET format = 99") }
            let later = try TemporaryFolder(copying: folder)
            let newer = failure { () throws(StoreFailure) in try CallStore.open(folder: later.path) }
            #expect(newer?.reason == .newerVersion && newer?.detail.contains("format 99") == true)
            #expect(newer?.path == StoreFolder.journal(of: later.database))
        }
    }

    @Test(arguments: [
        "UPDATE settled SET through = 9223372036854775807", "UPDATE settled SET through = -1",
        """
        CREATE TABLE other (store, through, open_boot); INSERT INTO other DEFAULT VALUES;
        DROP TABLE settled; ALTER TABLE other RENAME TO settled
        """,
    ])
    func `a number of the last commit that no server writes is refused`(_ damage: String) throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commitBehind(batches: [[.device(.full())]])
        try store.tables.queue.write { try $0.execute(sql: damage) }
        let killed = try TemporaryFolder(copying: folder)
        let thrown = failure { () throws(StoreFailure) in try CallStore.open(folder: killed.path) }
        #expect(thrown?.reason == .corrupted && thrown?.detail.contains("the table settled") == true)
    }

    @Test func `a journal is brought into no other store, nor into an older state of its own`() throws {
        try withStore { store, _, folder throws in
            try store.commit([.call(.live())])
            let old = try TemporaryFolder(copying: folder)
            // One that goes into the tables at once, and one that stands in the journal.
            try store.commit([.call(.live())])
            try store.commitBehind(batches: [[.device(.full())]])
            let (other, busy) = (try TemporaryFolder(), try TemporaryFolder())
            try CallStore.open(folder: other.path).close()
            // One that has had more commits than the journal tells of.
            let busyStore = try CallStore.open(folder: busy.path)
            for _ in 0..<9 { try busyStore.commit([.device(.full())]) }
            busyStore.close()
            for (base, words) in [
                (old, ", and the tables end with commit"), (other, "another store"), (busy, "another store"),
            ] {
                let mixed = try TemporaryFolder(copying: base)
                let journal = StoreFolder.journal(of: mixed.database)
                try WriteJournal.remove(journal)
                for ending in ["", "-wal"] {
                    try FileManager.default.copyItem(
                        atPath: StoreFolder.journal(of: folder.database) + ending, toPath: journal + ending)
                }
                let refused = failure { () throws(StoreFailure) in try CallStore.open(folder: mixed.path) }
                #expect(refused?.reason == .otherJournal && refused?.path == journal)
                #expect(refused?.detail.contains(words) == true)
                let reading = failure { () throws(StoreFailure) in try StoreReader.open(folder: mixed.path) }
                #expect(reading == refused)
                #expect(FileManager.default.fileExists(atPath: journal + "-wal"), "it is left as it is")
                try WriteJournal.remove(journal)
                try CallStore.open(folder: mixed.path).close()
            }
        }
    }

    @Test func `a journal that lacks a commit is refused`() throws {
        try withStore { store, _, folder throws in
            for _ in 0..<3 { try store.commitBehind(batches: [[.call(.live())]]) }
            try store.journal?.queue.write {
                try $0.execute(sql: "DELETE FROM journal WHERE entry = (SELECT max(entry) - 1 FROM journal)")
            }
            let killed = try TemporaryFolder(copying: folder)
            let refused = failure { () throws(StoreFailure) in try CallStore.open(folder: killed.path) }
            #expect(refused?.reason == .otherJournal && refused?.detail.contains("commits are missing") == true)
        }
    }

    @Test func `a journal that was cut off while it was made stops no server`() throws {
        try withStore([.call(.live())]) { _, _, folder throws in
            let killed = try TemporaryFolder(copying: folder)
            let journal = StoreFolder.journal(of: killed.database)
            try WriteJournal.remove(journal)
            // Not in WAL mode yet, and within its first transaction.
            let queue = try DatabaseQueue(path: journal)
            try queue.inDatabase { database throws in
                try database.execute(sql: "PRAGMA cache_size = 1; BEGIN; CREATE TABLE large (text)")
                let text = String(repeating: "x", count: 100_000)
                for _ in 0..<9 { try database.execute(sql: "INSERT INTO large VALUES (?)", arguments: [text]) }
                let cut = try TemporaryFolder(copying: killed)
                let ending = StoreFolder.rollback(of: "")
                let from = StoreFolder.journal(of: killed.database)
                let to = StoreFolder.journal(of: cut.database)
                try? FileManager.default.removeItem(atPath: to)
                for ending in ["", ending] {
                    try FileManager.default.copyItem(atPath: from + ending, toPath: to + ending)
                }
                #expect(try StoreReader.open(folder: cut.path).callCount() == 1)
                let store = try CallStore.open(folder: cut.path)
                try store.commitBehind(batches: [[.call(.live())]])
                store.close()
                #expect(cut.files == ["reveille.lock", "reveille.sqlite3"])
                try database.execute(sql: "ROLLBACK")
            }
        }
    }

    @Test func `what another thread has brought in is not behind any more, before it has said so`() throws {
        try withStore { store, reader, _ throws in
            try store.commitBehind(batches: [[.call(.live())], [.device(.full())]])
            let settled = try store.tables.catchUp(records: .max)
            #expect(settled?.rows == 2 && store.behindCount == 2)
            #expect(try store.catchUp() == 0)
            #expect(store.behindCount == 0 && store.behindSince == nil)
            store.note(settled)
            #expect(try reader.callCount() == 1)
        }
    }

    @Test func `any part of an operation is refused, also of one on a call that is gone`() throws {
        try withStore { store, _, _ throws in
            try store.tables.queue.inDatabase { database in
                let runner = try OperationRunner(database)
                runner.callsMayBeDeleted(before: Instant(milliseconds: .max))
                for record in [StoreRecord.leg(.full(of: .full())), .push(.full(of: .full(of: .full())))] {
                    let whole = OperationBuffer(of: [record]).bytes
                    try whole.withUnsafeBytes { try runner.run($0) }
                    for count in 1..<whole.count {
                        let part = Array(whole.prefix(count))
                        #expect(throws: StoreFailure.self) { try part.withUnsafeBytes { try runner.run($0) } }
                    }
                }
            }
        }
    }

    @Test func `any part of operations is read to its end and not beyond`() {
        let whole = OperationBuffer(of: [.device(.full()), .call(.full()), .leg(.full(of: .full()))]).bytes
        for count in 0..<whole.count {
            Array(whole.prefix(count)).withUnsafeBytes { bytes in
                var reader = OperationReader(bytes)
                _ = reader.statement()
                var values = 0
                while reader.value() != nil { values += 1 }
                #expect(values < whole.count)
            }
        }
    }
}

extension OperationBuffer {
    init(of records: [StoreRecord]) {
        self.init()
        for record in records { append(record) }
    }
}
