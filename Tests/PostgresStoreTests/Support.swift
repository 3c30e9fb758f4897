import CallCore
import CallVocabulary
import Foundation
import RecordTables
import StoreInterface
import StoreTesting
import Synchronization
import Testing

@testable import PostgresStore

func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: 1_790_000_000_000 + milliseconds) }

func handle(_ text: String) -> Handle {
    // Tests name handles that are valid.
    Handle(text)!
}

/// Waits until `condition` holds; records an issue when it does not in forty seconds.
func eventually(_ what: Comment, _ condition: () throws -> Bool) async rethrows {
    let deadline = ContinuousClock.now + .seconds(40)
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what)
            return
        }
        // The database needs the processors too.
        try? await Task.sleep(for: .milliseconds(1))
    }
}

/// Runs `body` on a thread of its own: it blocks for seconds, and Swift's pool, which all tests share, has one thread for
/// each processor.
func apart(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Opens the realm's store once the lease of its home has ended, which takes seconds, as ``apart(_:)``.
func openApart(_ address: PostgresAddress, name: String) async throws -> PostgresStore {
    /// Proof for `@unchecked`: the store is opened on one thread, which keeps nothing of it, and used on another
    /// afterwards.
    struct Opened: @unchecked Sendable {
        let store: PostgresStore
    }
    let opened = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Opened, any Error>) in
        Thread.detachNewThread {
            continuation.resume(with: Result { Opened(store: try PostgresStore.open(address, name: name)) })
        }
    }
    return opened.store
}

extension CallRecord {
    static func live(_ id: CallID = .random(), createdAt: Instant = at(10)) -> CallRecord {
        CallRecord(
            id: id, caller: Party(user: handle("alice"), device: .random()), callerName: nil, to: .user(handle("bob")),
            video: false, inviteDigest: 1, state: .routing, createdAt: createdAt, ringsUntil: createdAt + .seconds(45))
    }
}

/// The outcome of each batch, in the order of their completions.
final class Outcomes: Sendable {
    private let entries = Mutex<[String]>([])

    var all: [String] { entries.withLock { $0 } }

    func commit(_ name: String, _ records: [StoreRecord], to log: any RecordLog) -> Bool {
        log.commit(batch: records) { [self] result in
            let text =
                switch result {
                case .success: "\(name) durable"
                case .failure(let failure): "\(name) \(failure.reason)"
                }
            entries.withLock { $0.append(text) }
        }
    }
}

/// Commits one new call after the other, each after the completion of the one before.
final class Stream: Sendable {
    private let log: any RecordLog
    private let isEnding = Mutex(false)
    private let ids = Mutex<[CallID]>([])

    init(_ log: any RecordLog) { self.log = log }

    /// The calls whose commit was acknowledged.
    var acknowledged: [CallID] { ids.withLock { $0 } }

    func goOn(_ number: Int64 = 0) {
        guard !isEnding.withLock({ $0 }) else { return }
        let call = CallRecord.live(createdAt: at(number))
        _ = log.commit(batch: [.call(call)]) { [self] result in
            guard case .success = result else { return }
            ids.withLock { $0.append(call.id) }
            goOn(number + 1)
        }
    }

    func end() { isEnding.withLock { $0 = true } }
}

/// An administrator's session on the realm's database.
struct Session {
    let connection: PostgresConnection

    init(_ address: PostgresAddress) throws {
        connection = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "a test", patience: .seconds(20)))
    }

    func run(_ sql: String) throws { try connection.runSimple(sql) }

    func number(_ sql: String) throws -> Int64? { try connection.run(sql).int(0, 0) }

    /// The first column, as text.
    func text(_ sql: String) throws -> [String] {
        let rows = try connection.run(sql)
        return (0..<rows.rowCount).map { rows.text($0, 0) ?? "" }
    }

    /// The process of the server that serves the realm's connections of a name.
    func backend(_ name: String) throws -> Int32? {
        let row = try connection.run(
            """
            SELECT pid FROM pg_stat_activity WHERE application_name LIKE '\(name)%' AND query LIKE '%journal%'
            ORDER BY backend_start DESC LIMIT 1
            """)
        return row.rowCount == 0 ? nil : row.int(0, 0).map { Int32($0) }
    }

    /// Ends all connections of a name. Returns once they are gone.
    func terminate(_ name: String) throws {
        try run("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE application_name LIKE '\(name)%'")
    }
}
