import CallStore
import GRDB
import StoreInterface

/// A journal entry is applied, or refused with a reason; a second attempt has the same result.
enum JournalChecks {
    /// An empty store of one release.
    private struct Tables {
        let format: Int64
        let queue: DatabaseQueue
    }

    /// The schema versions whose journal entries this release reads, with their formats.
    private static let versions: [(schema: String, format: Int64)] = [
        ("v5", 1), ("v6", 1), ("v7", 1), ("v8", 1), ("v9", 2), ("v10", 3), ("v11", 4), ("v12", 5),
    ]

    private static let stores: [Tables] = versions.map { version in
        do {
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            let queue = try DatabaseQueue(configuration: configuration)
            try Schema.migrator.migrate(queue, upTo: version.schema)
            return Tables(format: version.format, queue: queue)
        } catch {
            preconditionFailure("no store of version \(version): \(error)")
        }
    }

    static func check(_ bytes: [UInt8]) throws(Violation) {
        guard let first = bytes.first else { return }
        let store = stores[Int(first) % stores.count]
        let verdicts = [verdict(bytes, store), verdict(bytes, store)]
        try require(verdicts[0] == verdicts[1], "the second result differs: \(verdicts)")
        guard let failure = verdicts[0] else { return }
        let isExpected = if case .sqlite = failure.reason { true } else { failure.reason == .unreadableRow }
        try require(isExpected && !failure.detail.isEmpty, "the reason is \(failure)")
    }

    /// nil when the entry is applied.
    private static func verdict(_ bytes: [UInt8], _ store: Tables) -> StoreFailure? {
        let entry = JournalEntries.Entry(number: 1, format: store.format, operations: Array(bytes.dropFirst()))
        do {
            try store.queue.inDatabase { database in
                try database.inTransaction {
                    try JournalEntries.run([entry], on: database, path: "journal")
                    return .rollback
                }
            }
            return nil
        } catch let failure as StoreFailure {
            return failure
        } catch {
            return StoreFailure(.corrupted, path: "", detail: "another error: \(error)")
        }
    }
}
