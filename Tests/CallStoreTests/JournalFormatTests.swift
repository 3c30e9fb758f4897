import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct JournalFormatTests {
    /// What the journal of any version leaves in the tables of today.
    private func check(_ store: CallStore, _ folder: TemporaryFolder, _ version: String) throws {
        #expect(try store.whole() == KilledStore.expected(version))
        let reader = try StoreReader.open(folder: folder.path)
        for (user, calls) in [
            ("alice", [6, 5, 4, 3, 2, 1]), ("bob", [6, 2, 1]), ("carol", [4, 3]), ("dave", [6, 5]),
        ] as [(String, [UInt64])] {
            let expected = ["v11", "v12", "v13", "v14"].contains(version) ? calls : calls.filter { $0 < 6 }
            #expect(try reader.history(of: handle(user), limit: 9).entries.map(\.call.id.low) == expected, "\(user)")
        }
        #expect(try reader.audit().violations == [])
        #expect(try reader.call(KilledStore.over.id)?.call == KilledStore.over)
    }

    @Test(arguments: KilledStore.versions)
    func `what a killed server of each released version left in its journal is there at the next start`(
        version: String
    ) throws {
        let folder = try KilledStore.folder(version)
        var told: [String] = []
        let store = try CallStore.open(folder: folder.path) { told += [$0, $1] }
        #expect(told == (version == Schema.newest ? [] : [version, Schema.newest]))
        try check(store, folder, version)
        store.close()
        let again = try CallStore.open(folder: folder.path) { _, _ in Issue.record("nothing is left to migrate") }
        #expect(try again.whole() == KilledStore.expected(version), "the journal is settled once")
        again.close()
    }

    @Test func `events in the tables and in the journal of a killed server are there at the next start, in order`()
        throws
    {
        let folder = try KilledStore.folder(Schema.newest)
        try CallStore.open(folder: folder.path).close()
        let reader = try StoreReader.open(folder: folder.path)
        defer { reader.close() }
        let events = try reader.events(after: 0, limit: 10, bytes: .max)
        #expect(events.map(\.id) == [KilledStore.event.id, KilledStore.deviceEvent.id])
        #expect(events.map(\.position) == [1, 2])
        #expect(try reader.lastEvent() == 2)
    }

    @Test(arguments: KilledStore.versions)
    func `it is in a backup of that store, and in the store when it was set aside`(version: String) throws {
        let (folder, other) = (try KilledStore.folder(version), try TemporaryFolder())
        let file = folder.parent + "/backup"
        let contents = try StoreBackup.write(folder: folder.path, to: file, replacing: false)
        #expect(contents.version == version && contents.isCurrent == (version == Schema.newest))
        _ = try StoreBackup.restore(file, into: other.path, replacing: false, now: 1_790_000_000)
        let kept = try StoreBackup.restore(file, into: folder.path, replacing: true, now: 1_790_000_000)
        let aside = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: aside.path, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: try #require(kept.replaced), toPath: aside.database)
        for folder in [folder, other, aside] {
            let store = try CallStore.open(folder: folder.path)
            try check(store, folder, version)
            store.close()
        }
    }

    @Test(arguments: KilledStore.versions)
    func `a reader waits for a server to bring an older store up to date, and settles the journal of a current one`(
        version: String
    ) throws {
        let folder = try KilledStore.folder(version)
        if version == Schema.newest {
            #expect(try StoreReader.open(folder: folder.path).call(KilledStore.new.id)?.legs.count == 1)
        } else {
            let found = failure { () throws(StoreFailure) in try StoreReader.open(folder: folder.path) }
            #expect(found?.reason == .noStore)
        }
    }

    @Test func `entries of a format that is not known are refused, and stay`() throws {
        for version in KilledStore.versions {
            let folder = try KilledStore.folder(version)
            let path =
                StoreFolder.exists(StoreFolder.journal(of: folder.database))
                ? StoreFolder.journal(of: folder.database) : folder.database
            let queue = try DatabaseQueue(path: path)
            try queue.write { try $0.execute(sql: "UPDATE journal SET format = 99") }
            try queue.close()
            for _ in 0..<2 {
                let found = failure { () throws(StoreFailure) in try CallStore.open(folder: folder.path) }
                #expect(found?.reason == .newerVersion && found?.detail.contains("99") == true, "\(version)")
            }
            let left = try DatabaseQueue(path: path)
            #expect(try left.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM journal") } ?? 0 > 1)
            let tables = try DatabaseQueue(path: folder.database)
            #expect(try tables.read { try Schema.version(of: $0) } == version, "nothing is brought up to date")
        }
    }

    @Test func `an entry that was changed, or is another store's or another commit's, is refused`() throws {
        for change in [
            "operations = CAST(substr(operations, 1, 40) || x'a5' || substr(operations, 42) AS BLOB)",
            "entry = entry + 1", "checksum = checksum + 1", "operations = CAST(operations || x'00' AS BLOB)",
        ] {
            let folder = try KilledStore.folder(Schema.newest)
            let queue = try DatabaseQueue(path: StoreFolder.journal(of: folder.database))
            try queue.write { database throws in
                let last = try Int64.fetchOne(database, sql: "SELECT max(entry) FROM journal") ?? 0
                try database.execute(sql: "UPDATE journal SET \(change) WHERE entry = \(last)")
            }
            try queue.close()
            let found = failure { () throws(StoreFailure) in try CallStore.open(folder: folder.path) }
            #expect(found?.reason == .corrupted, "\(change)")
        }
    }

    @Test func `an operation with values of any type and size is applied, or refused with a reason`() throws {
        let queue = try DatabaseQueue()
        try Schema.migrator.migrate(queue)
        let numbers = [Int64.min, -1, 1_790_000_000_000, .max].map { number in
            [ValueTag.integer.rawValue] + withUnsafeBytes(of: number.littleEndian, Array.init)
        }
        let id: [UInt8] = [ValueTag.identifier.rawValue] + Array(repeating: 7, count: 16)
        // NULL, 0, 1, and texts: empty, an object, invalid.
        let values: [[UInt8]] = numbers + [[0], [1], [2], id, [5, 0], [5, 2, 0x7B, 0x7D], [5, 1, 0xFF]]
        var refused = 0
        try queue.inDatabase { database in
            for statement in StoreStatement.allCases {
                let count = Int(try SQLRow(database, statement.sql).parameterCount)
                for value in values {
                    // A dependent row has a valid call id, so that the end of the call is read.
                    let parameters = (1...count).flatMap { Int32($0) == statement.call?.id ? id : value }
                    let entry = JournalEntries.Entry(
                        number: 1, format: JournalFormat.current.number, operations: [statement.rawValue] + parameters)
                    try database.inTransaction {
                        do {
                            try JournalEntries.run([entry], on: database, path: "journal")
                        } catch let failure as StoreFailure {
                            #expect(!failure.detail.isEmpty)
                            refused += 1
                        }
                        return .rollback
                    }
                }
            }
        }
        #expect((1..<StoreStatement.allCases.count * values.count).contains(refused))
    }

    @Test func `no operation within a checksum may change without it`() {
        let store = Data((0..<16).map { UInt8($0) })
        let bytes = (0..<61).map { UInt8($0) }
        func checksum(_ bytes: [UInt8], entry: Int64 = 7, _ store: Data) -> Int64 {
            bytes.withUnsafeBytes { EntryChecksum.of($0, entry: entry, store: store) }
        }
        var seen: Set<Int64> = [checksum(bytes, store), checksum(bytes, entry: 8, store)]
        seen.insert(checksum(bytes, Data((1..<17).map { UInt8($0) })))
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << UInt8(bit)
                seen.insert(checksum(changed, store))
            }
        }
        for count in 0..<bytes.count { seen.insert(checksum(Array(bytes[..<count]), store)) }
        #expect(seen.count == 3 + 61 * 8 + 61)
    }

    /// FNV-1a, 64 bits.
    private func digest(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    private func digest(_ format: JournalFormat) -> UInt64 {
        let texts = format.statements.sorted { $0.key < $1.key }.map {
            "\($0.key) \($0.value.sql) \($0.value.call?.id ?? 0) \($0.value.call?.alive ?? 0)"
        }
        let first = "\(format.number) \(format.upsertCall)"
        return digest(([first] + texts + [format.histories ?? ""]).joined(separator: "\n"))
    }

    @Test(arguments: [
        ("v5", 1 as Int64, 327_102_538_767_683_627 as UInt64), ("v6", 1, 6_547_876_018_293_291_808),
        ("v7", 1, 6_547_876_018_293_291_808), ("v8", 1, 11_727_549_964_715_436_650),
        ("v9", 2, 8_882_473_294_870_458_706), ("v10", 3, 14_838_773_698_152_430_744),
        ("v11", 4, 9_596_924_104_693_139_591), ("v12", 5, 11_757_790_955_837_582_651),
        ("v13", 5, 11_757_790_955_837_582_651), ("v14", 5, 11_757_790_955_837_582_651),
    ])
    func `each format is as it was released`(schema: String, number: Int64, released: UInt64) throws {
        let format = try #require(JournalFormat.released(number, schema: schema))
        #expect(
            digest(format) == released,
            """
            servers that were killed left journals of the format as it was: put it into ReleasedFormats, give \
            JournalFormat.current a new number, and check in a store that was killed with the new one
            """)
    }

    @Test func `the statements of the eighth version are those that its own tests were made with`() {
        let statements = ReleasedFormats.v8.statements.sorted { $0.key < $1.key }
        let text = statements.map { "\($0.key) \($0.value.sql)" }.joined(separator: "\n")
        #expect(digest(text) == 3_939_475_766_941_801_676)
    }

    @Test func `the store that is checked in for this version is what it leaves when it is killed`() throws {
        let text = try KilledStore.dump()
        let file = KilledStore.file(Schema.newest)
        let released = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        guard text != released else { return }
        let new = NSTemporaryDirectory() + file.lastPathComponent
        try text.write(toFile: new, atomically: true, encoding: .utf8)
        Issue.record("\(file.path) differs from what is written now: \(new). A released version never changes.")
    }
}
