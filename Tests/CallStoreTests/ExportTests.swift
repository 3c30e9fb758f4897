import CallCore
import CallVocabulary
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
        _ reader: StoreReader, _ page: ExportPage
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

    @Test(arguments: [1, 2, 3, 100])
    func `ended calls come in the order of their ends, none twice and none left out, also of one millisecond`(
        limit: Int
    ) throws {
        let calls = [ended(at(7)), ended(at(5)), ended(at(5)), .live(), ended(at(5)), ended(at(6)), ended(at(9))]
        try withStore(calls.map { .call($0) }) { _, reader, _ throws in
            let order = [calls[1], calls[2], calls[4], calls[5], calls[0], calls[6]].map(\.id)
            #expect(try all(reader, ExportPage(limit: limit)).calls == order)
            let bounded = try all(reader, ExportPage(since: at(6), until: at(9), limit: limit))
            #expect(bounded.calls == [calls[5].id, calls[0].id])
        }
    }

    @Test func `a reader that goes on later gets calls that were created before and end after what it has read`() throws
    {
        let long = CallRecord.live(createdAt: at(0))
        let short = ended(at(5), createdAt: at(4))
        try withStore([.call(long), .call(short)]) { store, reader, _ throws in
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

    @Test func `pushes come as they were intended, up to the first one whose outcome is open`() throws {
        let call = CallRecord.ended()
        func push(_ time: Int64, _ status: ProviderStatus, _ report: ReportStatus? = nil) -> PushRecord {
            .sample(of: .sample(of: call), status: status, report: report, intendedAt: at(time))
        }
        let pushes = [
            push(3, .cancelled), push(1, .rejected), push(2, .accepted, .reported), push(4, .accepted, .awaited),
            push(5, .expired),
        ]
        try withStore([.call(call)] + pushes.map { .push($0) }) { store, reader, _ throws in
            let first = try reader.closedPushes(ExportPage())
            #expect(first.rows.map(\.id) == [pushes[1], pushes[2], pushes[0]].map(\.id))
            #expect(try reader.closedPushes(ExportPage(after: first.next)).rows.isEmpty)
            var closed = pushes[3]
            closed.report = .unreported
            try store.commit([.push(closed)])
            #expect(try reader.closedPushes(ExportPage(after: first.next)).rows.map(\.id) == pushes[3...].map(\.id))
        }
    }
}
