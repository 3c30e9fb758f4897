import CallCore
import CallVocabulary
import Dispatch
import Foundation
import GRDB
import PostgresStore
import RecordTables
import StoreInterface
import Synchronization
import Testing

@testable import CallStore

/// Reads until it is interrupted.
private final class EndlessReader: TableReader {
    typealias Source = SQLiteStatements

    private let interrupts = DispatchSemaphore(value: 0)
    private let isReading = Mutex(false)

    var hasBegun: Bool { isReading.withLock { $0 } }

    func query<Value>(_ body: (TableQueries<SQLiteStatements>) throws -> Value) throws(StoreFailure) -> Value {
        throw interrupted()
    }

    func openCalls() throws(StoreFailure) -> RecoveredState { throw interrupted() }

    private func interrupted() -> StoreFailure {
        isReading.withLock { $0 = true }
        interrupts.wait()
        return StoreFailure(.closed, path: "", detail: "it was interrupted")
    }

    func interrupt() { interrupts.signal() }

    func close() {}
}

extension TableReader {
    fileprivate func number(_ sql: String, onBegin: () -> Void) throws(StoreFailure) -> Int64? {
        try query { queries -> Int64? in
            onBegin()
            return try queries.source.statement(sql).first { $0.int() }
        }
    }
}

@Suite struct ReadingTests {
    @Test(arguments: StoreKind.allCases)
    func `calls are found by state, user, time and reason, newest first`(_ kind: StoreKind) async throws {
        let alice = CallRecord.ended(from: "alice", createdAt: at(1), reason: .busy)
        let bob = CallRecord.ended(from: "bob", to: .user(handle("carol")), createdAt: at(2))
        let group = CallRecord.live(from: "dave", to: .group("sales"), createdAt: at(3))
        let many = CallRecord.live(from: "dave", to: .users([handle("carol"), handle("erin")]), createdAt: at(3))
        try await withStore(
            kind,
            [
                .call(alice), .call(bob), .call(group), .call(many), .leg(.sample(of: group, user: "bob")),
                .leg(.sample(of: group, user: "bob")),
            ]
        ) { _, reader throws in
            #expect(try reader.calls() == [many, group, bob, alice])
            #expect(try reader.calls(CallFilter(isLive: true)) == [many, group])
            #expect(try reader.calls(CallFilter(isLive: false)) == [bob, alice])
            #expect(try reader.calls(CallFilter(since: at(2))) == [many, group, bob])
            #expect(try reader.calls(CallFilter(reason: .busy)) == [alice])
            #expect(try reader.calls(CallFilter(limit: 1)) == [many])
            #expect(try reader.calls(CallFilter(limit: 0)) == [])
            // Called by name, as caller, and as a member of a group by its legs; once, though there are two.
            #expect(try reader.calls(CallFilter(user: handle("bob"))) == [group, bob, alice])
            #expect(try reader.calls(CallFilter(user: handle("erin"))) == [many])
            #expect(try reader.calls(CallFilter(isLive: true, user: handle("carol"), since: at(2))) == [many])
            #expect(try reader.calls(CallFilter(user: handle("sales"))) == [])
            #expect(try reader.call(.random()) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a history is paged without a gap, also between calls of the same millisecond`(_ kind: StoreKind) async throws
    {
        let times: [Int64] = [1, 2, 2, 2, 3, 4, 5, 5]
        let calls = times.map { CallRecord.ended(createdAt: at($0)) }
        let strangers = times.map { CallRecord.ended(from: "x", to: .user(handle("y")), createdAt: at($0)) }
        try await withStore(kind, (calls + strangers).map { .call($0) }) { _, reader throws in
            for limit in 1...9 {
                var seen: [CallRecord] = []
                var cursor: HistoryCursor?
                repeat {
                    let page = try reader.history(of: handle("bob"), after: cursor, limit: limit)
                    #expect(!page.entries.isEmpty)
                    #expect(page.next == nil || page.entries.count == limit)
                    seen += page.entries.map(\.call)
                    cursor = page.next
                } while cursor != nil
                #expect(seen.map(\.createdAt) == times.reversed().map { at($0) }, "limit \(limit)")
                #expect(Set(seen.map(\.id)) == Set(calls.map(\.id)))
            }
            // A time alone leaves out all of its millisecond, and so does a call that is not there.
            for call in [nil, CallID.random()] {
                let older = try reader.history(
                    of: handle("bob"), after: HistoryCursor(before: at(2), call: call), limit: 9)
                #expect(older.entries.map(\.call) == [calls[0]])
            }
            #expect(try reader.history(of: handle("nobody"), limit: 5) == CallHistory(entries: [], next: nil))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pushes are found by both axes, user, call and time, newest first`(_ kind: StoreKind) async throws {
        let call = CallRecord.live()
        let legs = [LegRecord.sample(of: call), .sample(of: call, user: "erin"), .sample(of: .live())]
        let queued = PushRecord.sample(of: legs[0], intendedAt: at(1))
        let accepted = PushRecord.sample(of: legs[1], status: .accepted, report: .awaited, intendedAt: at(2))
        let cancelled = PushRecord.sample(of: legs[2], status: .cancelled, intendedAt: at(3))
        let notice = PushRecord.sample(of: legs[2], purpose: .missedCall, status: .cancelled, intendedAt: at(0))
        let pushes = [notice, queued, accepted, cancelled].map { StoreRecord.push($0) }
        try await withStore(kind, [.call(call)] + pushes) { _, reader throws in
            #expect(try reader.pushes() == [cancelled, accepted, queued, notice])
            #expect(try reader.pushes(PushFilter(purpose: .missedCall)) == [notice])
            #expect(try reader.pushes(PushFilter(purpose: .call, limit: 2)) == [cancelled, accepted])
            #expect(try reader.pushes(PushFilter(purpose: .sync)) == [])
            #expect(try reader.push(notice.id) == notice)
            #expect(try reader.pushes(PushFilter(isOpen: true)) == [accepted, queued])
            #expect(try reader.pushes(PushFilter(isOpen: false)) == [cancelled, notice])
            #expect(try reader.pushes(PushFilter(status: .intended)) == [queued])
            #expect(try reader.pushes(PushFilter(report: .awaited)) == [accepted])
            #expect(try reader.pushes(PushFilter(user: handle("erin"))) == [accepted])
            #expect(try reader.pushes(PushFilter(call: call.id)) == [accepted, queued])
            #expect(try reader.pushes(PushFilter(since: at(2), limit: 5)) == [cancelled, accepted])
            #expect(try reader.pushes(PushFilter(status: .accepted, report: .awaited, since: at(3))) == [])
            #expect(try reader.push(.random()) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a push is overdue once its report was due, or its time passed before it was sent or answered`(
        _ kind: StoreKind
    ) async throws {
        let call = CallRecord.live()
        func push(_ status: ProviderStatus, _ report: ReportStatus?, due: Int64?, expires: Int64) -> PushRecord {
            var push = PushRecord.sample(of: .sample(of: call), status: status, report: report, intendedAt: at(0))
            push.reportDueAt = due.map { at($0) }
            push.expiresAt = at(expires)
            return push
        }
        let late = [
            push(.accepted, .awaited, due: 99, expires: 500), push(.intended, nil, due: nil, expires: 99),
            push(.sent, .awaited, due: nil, expires: 99),
        ]
        let fine = [
            push(.accepted, .awaited, due: 100, expires: 50), push(.intended, nil, due: nil, expires: 100),
            push(.accepted, .reported, due: 10, expires: 50), push(.expired, nil, due: nil, expires: 50),
        ]
        try await withStore(kind, (late + fine).map { .push($0) }) { _, reader throws in
            #expect(try reader.overduePushes(at: at(100)) == late)
            #expect(try reader.overduePushes(at: at(100), limit: 2).count == 2)
            #expect(try reader.overduePushes(at: at(99)) == [])
            #expect(try reader.overduePushes(at: at(100), since: at(0)) == late)
            #expect(try reader.overduePushes(at: at(100), since: at(1)) == [])
        }
    }

    @Test func `a reader sees each commit at once, and works on after the store is closed`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let reader = try StoreReader.open(folder: folder.path)
        let calls = (0..<3).map { CallRecord.live(createdAt: at($0)) }
        for (count, call) in calls.enumerated() {
            try store.commit([.call(call)])
            #expect(try reader.calls().count == count + 1)
        }
        store.close()
        #expect(try reader.calls().count == 3)
        #expect(try StoreReader.open(folder: folder.path).calls() == calls.reversed())
    }

    @Test(arguments: StoreKind.allCases)
    func `the audit of a sound store counts every push and finds nothing`(_ kind: StoreKind) async throws {
        let call = CallRecord.ended()
        let statuses: [(ProviderStatus, ReportStatus?)] = [
            (.cancelled, nil), (.expired, nil), (.rejected, nil), (.accepted, .reported), (.accepted, .reported),
            (.unknown, .unreported), (.accepted, .reportedLate), (.sent, .awaited), (.intended, nil),
        ]
        var records: [StoreRecord] = [.call(call)]
        for (status, report) in statuses {
            var leg = LegRecord.sample(of: call)
            leg.state = .ended
            records += [.leg(leg), .push(.sample(of: leg, status: status, report: report))]
        }
        try await withStore(kind, records) { _, reader throws in
            let audit = try reader.audit()
            #expect(audit.violations == [])
            #expect(try reader.ledgerCounts() == audit.counts)
            #expect(audit.counts.intended == 9)
            #expect(audit.counts.count(.accepted, .reported) == 2)
            #expect(audit.counts.sent == 6 && audit.counts.inFlight == 1 && audit.counts.queued == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the audit names each broken rule`(_ kind: StoreKind) async throws {
        let over = CallRecord.ended()
        var halfEnded = CallRecord.live()
        halfEnded.endReason = .hangup
        var winners = [LegRecord.sample(of: over), .sample(of: over)]
        for index in winners.indices { winners[index].answeredAt = at(1) }
        var twice = PushRecord.sample(of: winners[0], status: .rejected)
        twice.id = .random()
        var neverSent = PushRecord.sample(of: winners[1], status: .accepted, report: .reported)
        neverSent.sentAt = nil
        let records: [StoreRecord] = [
            .call(over), .call(halfEnded), .leg(winners[0]), .leg(winners[1]),
            .push(.sample(of: winners[0], status: .accepted)), .push(twice), .push(neverSent),
            .push(.sample(of: .sample(of: .live()), status: .cancelled, report: .reported)),
        ]
        try await withStore(kind, records) { _, reader throws in
            let violations = try reader.audit().violations
            for part in [
                "cancelled and yet have a report status", "accepted and have no report status",
                "1 pushes have a send time that contradicts their status, first \(neverSent.id)",
                "1 pushes belong to no call", "more than one push of one purpose for one call; calls, first \(over.id)",
                "not ended, first \(halfEnded.id)", "answered on more than one device, first \(over.id)",
                "2 legs are live in calls that are over",
            ] {
                #expect(violations.contains { $0.contains(part) }, "\(part) is not in \(violations)")
            }
            #expect(violations.count == 8)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the audit names what does not stand with its call`(_ kind: StoreKind) async throws {
        let (one, other) = (CallRecord.live(), CallRecord.live(createdAt: at(11)))
        let leg = LegRecord.sample(of: other)
        try await withStore(kind, [.call(one), .call(other), .leg(leg), .push(.sample(of: leg))]) {
            store, reader throws in
            #expect(try reader.audit().violations == [])
            for table in ["leg", "push"] {
                try store.execute("UPDATE \(table) SET call_serial = call_serial - 1")
            }
            #expect(
                try reader.audit().violations == [
                    "1 legs have another serial than their call, or no call, first \(other.id)",
                    "1 pushes have another serial than their call, first \(other.id)",
                ])
        }
    }

    @Test func `queries that are closed do not wait for the end of a long one`() async throws {
        let reader = EndlessReader()
        let queries = try ThreadedQueries(reader, path: "a test", thread: "a test")
        let read = Task { try await queries.audit() }
        await eventually("it reads") { reader.hasBegun }
        await queries.close()
        let failure = await #expect(throws: StoreFailure.self) { try await read.value }
        #expect(failure?.reason == .closed)
    }

    @Test func `an audit in progress serves all who ask, and the next one begins after it`() async throws {
        let reader = EndlessReader()
        let queries = try ThreadedQueries(reader, path: "a test", thread: "a test")
        let audit = queries.sharedAudit()
        #expect(queries.sharedAudit() == audit)
        reader.interrupt()
        _ = await audit.value
        let later = queries.sharedAudit()
        #expect(later != audit)
        await queries.close()
        _ = await later.value
    }

    @Test(arguments: StoreKind.allCases)
    func `a long read is ended at any time, and later ones fail`(_ kind: StoreKind) async throws {
        let sql =
            switch kind {
            case .sqlite: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
            case .postgreSQL: "SELECT count(*) FROM pg_sleep(600)"
            }
        let store = try await OpenStore.open(kind)
        defer { store.close() }
        let reader = try store.reader()
        let hasBegun = Mutex(false)
        let outcome = Mutex<StoreFailure.Reason?>(nil)
        Thread.detachNewThread {
            do throws(StoreFailure) {
                _ = try reader.number(sql) { hasBegun.withLock { $0 = true } }
            } catch {
                outcome.withLock { $0 = error.reason }
            }
        }
        await eventually("it reads") { hasBegun.withLock { $0 } }
        await eventually("it has ended") {
            reader.interrupt()
            return outcome.withLock { $0 } != nil
        }
        #expect(outcome.withLock { $0 } == .closed)
        let later = #expect(throws: StoreFailure.self) { try reader.callCount() }
        #expect(later?.reason == .closed)
        if case .postgreSQL(let store) = store {
            let other = PostgresReader(store.address)
            let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60' || '0)%'"
            await eventually("the database has ended it") { (try? other.number(sleeping)) == 0 }
            other.close()
        }
        reader.close()
    }
}
