import CallCore
import CallStore
import CallVocabulary
import PostgresStore
import RecordTables
import StoreInterface

/// A store with sequential transactions.
struct StoreRun {
    struct Outcome {
        /// Each transaction, from submission until it is durable.
        let commits: Sample
        /// The same transactions, until all records are in the tables.
        let all: Sample
        /// The records in the tables when the last transaction became durable.
        let rowsWhenDurable: Int
        /// The 99th percentile of the transactions, rounded up to a power of two; nil without any.
        let p99: Duration?
    }

    private let committer: any RecordLog

    init(folder: String, behind: WriteBehind) throws {
        committer = try GroupCommitter(store: try CallStore.open(folder: folder), behind: behind)
    }

    /// A realm of a database, which is emptied first.
    init(_ address: PostgresAddress) throws {
        try PostgresStore.execute("DROP SCHEMA IF EXISTS \"\(address.realm)\" CASCADE", in: address)
        committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "reveille-bench"))
    }

    /// Commits batches for this many seconds after an uncounted one, and closes the store.
    /// - Throws: ``BenchmarkError`` when records are missing in the tables.
    func measure(_ batch: Int, for seconds: Double) async throws -> Outcome {
        do {
            let outcome = try await commit(batch, for: seconds)
            await committer.close()
            return outcome
        } catch {
            await committer.close()
            throw error
        }
    }

    private func commit(_ batch: Int, for seconds: Double) async throws -> Outcome {
        var count = 0
        try await commit(Self.records(count..<batch))
        let began = (OwnUsage.now(), ContinuousClock.now)
        repeat {
            count += 1
            try await commit(Self.records(count * batch..<(count + 1) * batch))
        } while (ContinuousClock.now - began.1) / .seconds(1) < seconds
        let durable = (OwnUsage.now(), committer.statistics.rows)
        await committer.flush()
        let all = OwnUsage.now()
        let (statistics, wanted) = (committer.statistics, UInt64((count + 1) * batch))
        guard statistics.commits == UInt64(count + 1), statistics.records == wanted, statistics.rows == wanted else {
            throw BenchmarkError("\(statistics.rows) of \(wanted) records are in the tables")
        }
        return Outcome(
            commits: began.0.sample(until: durable.0, count: count), all: began.0.sample(until: all, count: count),
            rowsWhenDurable: Int(durable.1), p99: statistics.latency.percentile(0.99))
    }

    private func commit(_ records: [StoreRecord]) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let isTaken = committer.commit(batch: records) {
                continuation.resume(with: $0.map { _ in }.mapError { $0 })
            }
            if !isTaken { continuation.resume(throwing: BenchmarkError("the store takes no more")) }
        }
    }

    private static func records(_ numbers: Range<Int>) -> [StoreRecord] {
        // Valid handles.
        let (caller, callee) = (Handle("+14155550100")!, Handle("bob")!)
        let now = Instant(milliseconds: 1_800_000_000_000)
        return numbers.map { number in
            // Ids are unique, and random like those of clients.
            let mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
            return .call(
                CallRecord(
                    id: CallID(high: mixed, low: 0x8000_0000_0000_0000 | UInt64(number)),
                    caller: Party(user: caller, device: DeviceID(high: 1, low: 1)), callerName: "Alice",
                    to: .user(callee), video: false, inviteDigest: mixed, state: .ringing, createdAt: now,
                    ringsUntil: now + .seconds(45)))
        }
    }
}
