import CallCore
import CallVocabulary
import GRDB
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

/// Exports: pages that a reader goes on with later.
@Suite struct ExportTests {
    private func ended(_ at: Instant, createdAt: Instant = CallStoreTests.at(0)) -> CallRecord {
        var call = CallRecord.ended(createdAt: createdAt)
        call.endedAt = at
        return call
    }

    /// All pages from `cursor` on.
    private func all(
        _ reader: any TableReader, _ page: ExportPage
    ) throws -> (calls: [CallID], next: ExportCursor?) {
        var (page, ids) = (page, [CallID]())
        while true {
            let found = try reader.endedCalls(page)
            #expect(found.rows.count <= page.limit)
            guard let next = found.next else { return (ids, page.after) }
            ids += found.rows.map(\.id)
            page.after = next
        }
    }

    @Test(arguments: StoreKind.allCases, [1, 2, 3, 100])
    func `ended calls come in the order of their ends, none twice and none left out, also of one millisecond`(
        kind: StoreKind, limit: Int
    ) async throws {
        let calls = [ended(at(7)), ended(at(5)), ended(at(5)), .live(), ended(at(5)), ended(at(6)), ended(at(9))]
        try await withStore(kind, calls.map { .call($0) }) { _, reader throws in
            let order = [calls[1], calls[2], calls[4], calls[5], calls[0], calls[6]].map(\.id)
            #expect(try all(reader, ExportPage(limit: limit)).calls == order)
            let bounded = try all(reader, ExportPage(since: at(6), until: at(9), limit: limit))
            #expect(bounded.calls == [calls[5].id, calls[0].id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a reader that goes on later gets calls that were created before and end after what it has read`(
        _ kind: StoreKind
    ) async throws {
        let long = CallRecord.live(createdAt: at(0))
        let short = ended(at(5), createdAt: at(4))
        try await withStore(kind, [.call(long), .call(short)]) { store, reader throws in
            let first = try all(reader, ExportPage(until: at(6)))
            #expect(first.calls == [short.id])
            var over = long
            (over.state, over.endedAt, over.endReason) = (.ended, at(6), .hangup)
            try store.commit([.call(over)])
            let second = try all(reader, ExportPage(until: at(7), after: first.next))
            #expect(second.calls == [long.id])
            #expect(try all(reader, ExportPage(until: at(8), after: second.next)).calls == [])
        }
    }

    @Test func `a page is read in the order of an index, without a table scan or a sort`() throws {
        let pages = [
            ExportPage(), ExportPage(since: at(1)), ExportPage(until: at(1)), ExportPage(since: at(1), until: at(2)),
            ExportPage(after: ExportCursor(at: at(1), serial: 7)),
            ExportPage(since: at(1), until: at(9), after: ExportCursor(at: at(1), serial: 7)),
        ]
        try withStore { store, _, _ throws in
            let queries = pages.flatMap { page in
                [
                    ("call_by_end", page.query(CallTable.layout, time: "ended_at").sql),
                    ("push_by_time", page.query(PushTable.layout, time: "intended_at").sql),
                ]
            }
            for (index, sql) in queries {
                // The plan is the same for any values.
                let filled = sql.replacing("?", with: "1")
                let plan = try store.tables.queue.inDatabase { database throws in
                    try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(filled)").map { $0["detail"] as String }
                }
                #expect(plan.count == 1 && plan[0].contains(" USING INDEX \(index)"), "\(sql)\n\(plan)")
                // After a cursor, a page begins at its row.
                #expect(!sql.contains(", serial) >") || plan[0].hasPrefix("SEARCH"), "\(plan)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pushes come as they were intended, up to the first one whose outcome is open`(_ kind: StoreKind) async throws
    {
        let call = CallRecord.ended()
        func push(_ time: Int64, _ status: ProviderStatus, _ report: ReportStatus? = nil) -> PushRecord {
            .sample(of: .sample(of: call), status: status, report: report, intendedAt: at(time))
        }
        let pushes = [
            push(3, .cancelled), push(1, .rejected), push(2, .accepted, .reported), push(4, .accepted, .awaited),
            push(5, .expired),
        ]
        try await withStore(kind, [.call(call)] + pushes.map { .push($0) }) { store, reader throws in
            let first = try reader.closedPushes(ExportPage())
            #expect(first.rows.map(\.id) == [pushes[1], pushes[2], pushes[0]].map(\.id))
            #expect(try reader.closedPushes(ExportPage(after: first.next)).rows.isEmpty)
            var closed = pushes[3]
            closed.report = .unreported
            try store.commit([.push(closed)])
            #expect(try reader.closedPushes(ExportPage(after: first.next)).rows.map(\.id) == pushes[3...].map(\.id))
        }
    }

    @Test(
        arguments: StoreKind.allCases,
        ["callee = 'x'", "ended_at = -1152921504606846976", "created_at = 1152921504606846976"])
    func `a damaged call is left out and named, and the calls after it come`(
        kind: StoreKind, change: String
    ) async throws {
        let calls = (1...4).map { ended(at(Int64($0))) }
        try await withStore(kind, calls.map { .call($0) }) { store, reader throws in
            try store.execute("UPDATE call SET \(change) WHERE serial = 2")
            for limit in [1, 2, 100] {
                #expect(
                    try all(reader, ExportPage(limit: limit)).calls == [calls[0], calls[2], calls[3]].map(\.id),
                    "\(limit)")
            }
            let page = try reader.endedCalls(ExportPage())
            #expect(page.rows.count == 3 && page.unreadable.count == 1)
            let failure = try #require(page.unreadable.first)
            #expect(failure.reason == .unreadableRow)
            let column = try #require(change.split(separator: " ").first)
            #expect(failure.detail.hasPrefix("row 2 of call: call.\(column) holds"), "\(failure.detail)")
        }
    }

    @Test(arguments: StoreKind.allCases, ["accepted", "intended"])
    func `a damaged time of a push, open or closed, holds up no other push`(
        kind: StoreKind, status: String
    ) async throws {
        let call = CallRecord.ended()
        let pushes = (1...3).map {
            PushRecord.sample(of: .sample(of: call), status: .cancelled, intendedAt: at(Int64($0)))
        }
        try await withStore(kind, [.call(call)] + pushes.map { .push($0) }) { store, reader throws in
            try store.execute(
                "UPDATE push SET intended_at = -1152921504606846976, status = '\(status)' WHERE serial = 2")
            let page = try reader.closedPushes(ExportPage())
            #expect(page.rows.map(\.id) == [pushes[0].id, pushes[2].id])
            #expect(page.unreadable.count == 1)
            #expect(page.unreadable.first?.detail.hasPrefix("row 2 of push: push.intended_at") == true)
        }
    }
}
