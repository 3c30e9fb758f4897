import CallCore
import CallStore
import CallVocabulary
import EventLoop
import StoreInterface
import TestCleanup
import Testing

@testable import CallServer

@Suite(.cleanup) struct HistoryReaderTests {
    @Test func `more calls of one millisecond than a frame takes are listed over several pages, each once`()
        async throws
    {
        let folder = try DataFolder.temporary()
        let bob = try #require(Handle("bob"))
        let members =
            (0..<100).compactMap { Handle("member-\($0)-of-a-list-of-people-who-are-called-together") } + [bob]
        let calls = (1...150).map { number in
            var call = CallRecord(
                id: CallID(high: 7, low: UInt64(number)), caller: Party(user: bob, device: nil), callerName: nil,
                to: .users(members), video: false, inviteDigest: 0, state: .ended,
                createdAt: Instant(milliseconds: 5), ringsUntil: Instant(milliseconds: 6))
            call.endedAt = Instant(milliseconds: 6)
            call.endReason = .cancelled
            return call
        }
        let store = try CallStore.open(folder: folder.path)
        let committer = try GroupCommitter(store: store)
        for call in calls { #expect(committer.commit(batch: [.call(call)]) { _ in }) }
        await committer.flush()
        let loop = try EventLoop.started("history-test")
        let (answers, answer) = AsyncStream.makeStream(of: HistoryPage?.self)
        var answered = answers.makeAsyncIterator()
        let core = Mailbox<CoreInput>(loop: loop, capacity: 100) { inputs in
            for case .store(.historyRead(_, _, let page)) in inputs { answer.yield(page) }
        }
        let reader = HistoryReader(
            queries: try SQLiteQueries.open(folder: folder.path, thread: "test"), core: core)
        var seen: [CallID] = []
        var cursor: HistoryCursor?
        var pages = 0
        repeat {
            reader.read(
                HistoryQuery(party: Party(user: bob, device: nil), after: cursor, limit: 100),
                ConnectionID(shard: 0, serial: 1), .number(1))
            let page = try #require(await answered.next() ?? nil).fittingFrame()
            #expect(page.calls.count < 100)
            seen += page.calls.map(\.call)
            cursor = page.next
            pages += 1
        } while cursor != nil && pages < 150
        #expect(seen.count == 150 && Set(seen) == Set(calls.map(\.id)))
        await reader.queries.close()
        await committer.close()
    }
}
