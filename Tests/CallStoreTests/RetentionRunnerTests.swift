import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Synchronization
import Testing

@testable import CallStore

@Suite struct RetentionRunnerTests {
    private static let now = at(0)
    private static let policy = RetentionPolicy()

    private static func old(_ count: Int) -> [StoreRecord] {
        let begin = now + .seconds(-500 * 86_400)
        return (0..<count).flatMap { number -> [StoreRecord] in
            let call = CallRecord.ended(createdAt: begin + .milliseconds(number))
            var leg = LegRecord.sample(of: call)
            leg.state = .ended
            return [.call(call), .leg(leg), .push(.sample(of: leg, status: .cancelled, intendedAt: call.createdAt))]
        }
    }

    /// As fast as it goes, in small bites.
    private static var pace: RetentionPace {
        var pace = RetentionPace()
        (pace.firstAfter, pace.rows, pace.time, pace.share) = (.zero, 50, .seconds(60), 1)
        (pace.yield, pace.patience) = (.zero, 1)
        return pace
    }

    /// Commits one call after the other, each from the completion of the one before, until told to end.
    private final class Stream: Sendable {
        private let committer: GroupCommitter
        private let isEnding = Mutex(false)
        /// How many slices there had been when each commit was durable.
        let seen = Mutex<[UInt64]>([])
        let refused = Mutex(0)

        init(_ committer: GroupCommitter) { self.committer = committer }

        func goOn(_ number: Int64 = 0) {
            guard !isEnding.withLock({ $0 }) else { return }
            let isTaken = committer.commit(batch: [.call(.live(createdAt: at(number)))]) { [self] result in
                guard case .success = result else { return refused.withLock { $0 += 1 } }
                seen.withLock { $0.append(committer.retention.slices) }
                goOn(number + 1)
            }
            if !isTaken { refused.withLock { $0 += 1 } }
        }

        func end() { isEnding.withLock { $0 = true } }
    }

    @Test func `commits go on between all slices while a long history is deleted`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try store.commit(Self.old(200))
        let committer = try GroupCommitter(store: store)
        let stream = Stream(committer)
        stream.goOn()
        await eventually("the stream flows") { committer.statistics.commits > 10 }
        // One that waits all the time: between two of the stream there may be none for a moment.
        _ = committer.shared.began()
        committer.startRetention(Self.policy, pace: Self.pace) { Self.now }
        await eventually("the history is deleted") { committer.retention.runs == 1 }
        let statistics = committer.retention
        committer.shared.ended(1)
        stream.end()
        await committer.close()

        // Two parties, and a leg, a push and the call.
        #expect(statistics.deleted.total == 1000 && statistics.deleted.calls == 200)
        #expect(statistics.largestSlice == 50 / 10, "beside commits that never stop, a tenth of a slice at a time")
        #expect(statistics.slices >= 200 && statistics.latency.count == statistics.slices)
        #expect(statistics.yields >= statistics.slices, "each gave way first")
        #expect(statistics.failures == 0 && !statistics.isRunning)
        #expect(statistics.lastRunEnded == Self.now)
        // Two threads take turns as the system lets them: not between any two slices, but not after all of them.
        #expect(Set(stream.seen.withLock { $0 }).count > 2, "commits go on between slices")
        #expect(stream.refused.withLock { $0 } == 0)
        let reader = try StoreReader.open(folder: folder.path)
        #expect(try reader.calls(CallFilter(isLive: false)).isEmpty)
        #expect(try reader.audit().violations == [])
        #expect(try reader.calls(CallFilter(limit: .max)).count == stream.seen.withLock { $0.count })
    }

    @Test(arguments: StoreKind.allCases)
    func `while nothing is committed a slice takes what it may, and the clock ends it too`(
        _ kind: StoreKind
    ) async throws {
        let store = try await OpenStore.open(kind)
        try store.commit(Self.old(100))
        let kept = CallRecord.ended(createdAt: at(-5000))
        try store.commit([.call(kept)])
        let committer = try store.log()
        store.startRetention(Self.policy, Self.pace, committer) { Self.now }
        await eventually("the history is deleted") { committer.retention.runs == 1 }
        let statistics = committer.retention
        #expect(statistics.largestSlice == 50)
        // Ten slices of fifty, and what is only looked at.
        #expect((10...14).contains(statistics.slices))
        #expect(statistics.oldestCall == kept.createdAt)
        #expect(statistics.yields == 0)

        // With no time at all each slice is one call.
        var hurried = Self.pace
        hurried.time = .zero
        let more = Self.old(20)
        #expect(committer.commit(batch: more) { _ in })
        await committer.flush()
        store.startRetention(Self.policy, hurried, committer) { Self.now }
        await eventually("the rest is deleted") { committer.retention.runs == 2 }
        #expect(committer.retention.deleted.calls == 120)
        #expect(committer.retention.slices - statistics.slices >= 20)
        await committer.close()
    }

    @Test(arguments: StoreKind.allCases)
    func `a slice that fails ends the run, commits go on, and a later run deletes it all`(
        _ kind: StoreKind
    ) async throws {
        let store = try await OpenStore.open(kind)
        try store.commit(Self.old(100))
        switch kind {
        case .sqlite:
            try store.execute("CREATE TRIGGER broken BEFORE DELETE ON leg BEGIN SELECT RAISE(ABORT, 'broken'); END")
        case .postgreSQL:
            try store.execute(
                "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''broken''; END'")
            try store.execute("CREATE TRIGGER broken BEFORE DELETE ON leg FOR EACH ROW EXECUTE FUNCTION broken()")
        }
        let committer = try store.log()
        store.startRetention(Self.policy, Self.pace, committer) { Self.now }
        await eventually("a slice fails") { committer.retention.failures == 1 }
        #expect(committer.retention.deleted.total == 0 && !committer.retention.isRunning)
        #expect(committer.isHealthy, "no commit has failed")
        #expect(committer.commit(batch: [.device(.full())]) { _ in })
        await committer.flush()
        #expect(committer.statistics.commits == 1)
        try store.execute(kind == .sqlite ? "DROP TRIGGER broken" : "DROP TRIGGER broken ON leg")
        store.startRetention(Self.policy, Self.pace, committer) { Self.now }
        await eventually("a later run deletes it all") { committer.retention.runs == 1 }
        #expect(committer.retention.deleted.calls == 100)
        await committer.close()
    }

    @Test(arguments: StoreKind.allCases)
    func `closing in the middle of a run leaves the rest to the next start`(_ kind: StoreKind) async throws {
        let store = try await OpenStore.open(kind)
        try store.commit(Self.old(1000))
        let committer = try store.log()
        store.startRetention(Self.policy, Self.pace, committer) { Self.now }
        await eventually("it has begun") { committer.retention.slices > 2 }
        await committer.close()
        #expect(!committer.retention.isRunning)
        let left = try store.reader()
        #expect(try left.audit().violations == [])
        let reopened = try store.reopened()
        let next = try reopened.log()
        reopened.startRetention(Self.policy, Self.pace, next) { Self.now }
        await eventually("it is all deleted") { next.retention.runs == 1 }
        await next.close()
        #expect(try left.callCount() == 0)
        left.close()
    }

    @Test func `slices take the share of the time that they are given`() {
        var pace = RetentionPace()
        pace.share = 0.05
        let pause = pace.pause(after: .milliseconds(10))
        #expect((.milliseconds(189)...(.milliseconds(191))).contains(pause))
        #expect(RetentionPace().pause(after: .milliseconds(6)) > .milliseconds(150))
    }
}
