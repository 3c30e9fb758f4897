import CallCore
import CallStore
import CallVocabulary
import RecordTables
import StoreInterface
import TestCleanup
import Testing

@testable import AdminServer
@testable import CallServer

@Suite("Reads of administrators", .cleanup) struct AdminReadsTests {
    @Test("a reset picture has all committed records, even those not yet in the tables", .timeLimit(.minutes(5)))
    func settled() async throws {
        let folder = try DataFolder.temporary()
        var behind = WriteBehind()
        (behind.recordsPerSecond, behind.burst, behind.delay) = (0, -1, .seconds(3600))
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path), behind: behind)
        let reads = AdminReads(
            queries: try SQLiteQueries.open(folder: folder.path, thread: "test"), settle: { committer.settle($0) },
            wallTime: { Instant(milliseconds: 0) }, log: .none)
        var call = CallRecord(
            id: .random(), caller: Party(user: Handle("alice")!, device: .random()), callerName: nil,
            to: .user(Handle("bob")!),
            video: false, inviteDigest: 1, state: .ringing, createdAt: Instant(milliseconds: 1),
            ringsUntil: Instant(milliseconds: 2))
        #expect(committer.commit(batch: [.call(call)]) { _ in })
        #expect(await calls(reads) == [call.id])
        (call.state, call.endedAt, call.endReason) = (.ended, Instant(milliseconds: 3), .cancelled)
        #expect(committer.commit(batch: [.call(call)]) { _ in })
        #expect(await calls(reads) == [])
        await committer.close()
        #expect(await calls(reads) == nil, "nobody knows what is committed")
        await reads.queries.close()
    }

    private func calls(_ reads: AdminReads) async -> [CallID]? {
        await withCheckedContinuation { continuation in
            reads.openCalls { continuation.resume(returning: try? $0.get().calls.map(\.id)) }
        }
    }
}
