import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Synchronization
import Testing

@testable import CallStore

/// Events for other systems in the store.
struct EventTests {
    private static func call(_ number: UInt64) -> CallRecord {
        CallRecord(
            id: CallID(high: 8, low: number), caller: Party(user: handle("alice"), device: DeviceID(high: 1, low: 1)),
            callerName: nil, to: .user(handle("bob")), video: false, inviteDigest: 1, state: .routing,
            createdAt: at(1), ringsUntil: at(2))
    }

    private static func event(_ number: UInt64, at time: Int64) -> EventRecord {
        var call = call(number)
        call.eventCount = 1
        return EventRecord(
            id: EventID(high: 9, low: number), at: Instant(milliseconds: time),
            subject: .call(call, number: 1, .invited(custom: nil)))
    }

    private static func records(_ numbers: ClosedRange<UInt64>) -> [StoreRecord] {
        numbers.flatMap { [.call(call($0)), .event(event($0, at: Int64($0) * 1000))] }
    }

    @Test(
        "events are read in order, by page and by bytes, with the body as it was made", arguments: StoreKind.allCases)
    func pages(_ kind: StoreKind) async throws {
        let store = try await OpenStore.open(kind)
        try store.commit(Self.records(1...5))
        let reader = try store.reader()
        defer { reader.close() }
        let first = try reader.events(after: 0, limit: 3, bytes: .max)
        #expect(first.map(\.position) == [1, 2, 3] && first.map(\.kind) == [.callInvited, .callInvited, .callInvited])
        #expect(first[0].subject == .call(Self.call(1).id) && first[0].at == Instant(milliseconds: 1000))
        #expect(first[0].user == handle("alice"), "the caller")
        #expect(try reader.events(after: 3, limit: 3, bytes: .max).map(\.position) == [4, 5])
        // The first event that exceeds the sum still comes, so that a page is never empty.
        #expect(try reader.events(after: 0, limit: 5, bytes: 1).map(\.position) == [1])
        #expect(try reader.events(at: [5, 2, 77]).map(\.position) == [2, 5])
        #expect(try reader.lastEvent() == 5)
        let body = try JSONSerialization.jsonObject(with: Data(first[0].body.bytes)) as? [String: Any]
        #expect(body?["type"] as? String == "call.invited")
        store.close()
    }

    @Test(
        "a commit whose mark cannot be written is stored once, and acknowledged when the mark is",
        arguments: [false, true])
    func unmarked(isLoad: Bool) async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let mark = try MarkFile(of: store)
        let committer = try GroupCommitter(store: store, behind: isLoad ? .always : .never)
        let acknowledged = Mutex<[Int]>([])
        func commit(_ number: Int) {
            let isTaken = committer.commit(batch: Self.records(UInt64(number)...UInt64(number))) {
                if case .success = $0 { acknowledged.withLock { $0.append(number) } }
            }
            #expect(isTaken)
        }
        mark.fill()
        commit(1)
        await eventually("it is tried again") { committer.statistics.failures >= 3 }
        #expect(committer.failure?.reason == .diskFull)
        // The second commit waits for the first, and is not part of its transaction.
        commit(2)
        await eventually("it is tried again") { committer.statistics.failures >= 4 }
        #expect(acknowledged.withLock { $0 } == [])
        mark.free()
        await eventually("both are durable") { committer.waiting == 0 }
        await committer.close()
        #expect(acknowledged.withLock { $0 } == [1, 2])
        #expect(committer.isHealthy && committer.statistics.commits == 2 && committer.statistics.batches == 2)
        let reader = try StoreReader.open(folder: folder.path)
        defer { reader.close() }
        #expect(try reader.events(after: 0, limit: 9, bytes: .max).map(\.position) == [1, 2])
    }

    @Test("a position that no store gives is an unreadable row", arguments: [Int64.min, -1, .max])
    func impossiblePosition(_ position: Int64) throws {
        try withStore(Self.records(1...2)) { store, reader, _ throws in
            try store.tables.queue.write {
                try $0.execute(sql: "UPDATE event SET position = \(position) WHERE position = 2")
                try $0.execute(sql: "UPDATE sqlite_sequence SET seq = \(position) WHERE name = 'event'")
            }
            let last = failure { () throws(StoreFailure) in try reader.lastEvent() }
            #expect(last?.reason == .unreadableRow, "\(String(describing: last))")
            let before = failure { () throws(StoreFailure) in
                try reader.eventPosition(before: Instant(milliseconds: 1500))
            }
            #expect(before?.reason == .unreadableRow)
            let page = failure { () throws(StoreFailure) in
                try reader.events(after: .min, limit: 9, bytes: .max).count
            }
            // Not after the least number.
            #expect(page?.reason == (position == .min ? nil : .unreadableRow))
        }
    }

    @Test("the position before a time is that of the last event before it", arguments: StoreKind.allCases)
    func times(_ kind: StoreKind) async throws {
        let store = try await OpenStore.open(kind)
        let reader = try store.reader()
        defer { reader.close() }
        #expect(try reader.lastEvent() == 0)
        #expect(try reader.eventPosition(before: Instant(milliseconds: 0)) == 0)
        try store.commit(Self.records(1...3))
        for (time, position) in [(0, 0), (1000, 0), (1001, 1), (3000, 2), (3001, 3)] as [(Int64, Int64)] {
            #expect(try reader.eventPosition(before: Instant(milliseconds: time)) == position)
        }
        store.close()
    }

    @Test("the position of a deleted event is not used again, also after a restart", arguments: StoreKind.allCases)
    func positions(_ kind: StoreKind) async throws {
        var store = try await OpenStore.open(kind)
        try store.commit(Self.records(1...3))
        let policy = RetentionPolicy(events: RetentionPolicy.shortestAge)
        var run = RetentionRun(policy, now: Instant(milliseconds: 3000) + RetentionPolicy.shortestAge)
        run.step = .events
        let deleted = try store.retentionTables.deleteSlice(&run, rows: 100) { false }
        #expect(deleted.events == 2, "those from before 3 s")
        store = try store.reopened()
        run = RetentionRun(policy, now: Instant(milliseconds: 9000) + RetentionPolicy.shortestAge)
        run.step = .events
        #expect(try store.retentionTables.deleteSlice(&run, rows: 100) { false }.events == 1)
        try store.commit(Self.records(4...4))
        let reader = try store.reader()
        defer { reader.close() }
        #expect(try reader.events(after: 0, limit: 10, bytes: .max).map(\.position) == [4])
        #expect(try reader.lastEvent() == 4)
        store.close()
    }
}
