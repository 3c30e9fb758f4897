import CallCore
import CallVocabulary
import EventLoop
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Synchronization
import Testing

@testable import CallStore

@Suite struct WriteBehindTests {
    private static let calls = (0..<200).map { CallRecord.live(createdAt: at($0)) }

    private static func committer(
        _ change: (inout WriteBehind) -> Void
    ) throws -> (TemporaryFolder, GroupCommitter) {
        let folder = try TemporaryFolder()
        var behind = WriteBehind.always
        change(&behind)
        return (folder, try GroupCommitter(store: try CallStore.open(folder: folder.path), behind: behind))
    }

    private static func calls(in folder: TemporaryFolder) -> Int? {
        try? StoreReader.open(folder: folder.path, replays: false).callCount()
    }

    @Test func `under load a call that changes fast is written once, and a flush shows it to readers`() async throws {
        let (folder, committer) = try Self.committer { $0.delay = .seconds(3600) }
        let completed = Mutex(0)
        var call = CallRecord.live()
        for state in [CallState.routing, .ringing, .answered, .connected] {
            call.state = state
            let isTaken = committer.commit(batch: [.call(call)]) { result in
                if (try? result.get()) != nil { completed.withLock { $0 += 1 } }
            }
            #expect(isTaken)
            // One by one.
            _ = await committer.loop.run {}
        }
        #expect(completed.withLock { $0 } == 4)
        #expect(committer.statistics.records == 4 && committer.statistics.rows == 0)
        #expect(committer.statistics.behind == 4)
        #expect(try #require(committer.statistics.behindSince) < .now)
        #expect(Self.calls(in: folder) == 0)
        await committer.flush()
        #expect(committer.statistics.rows == 1 && committer.statistics.commits == 4)
        #expect(committer.statistics.behind == 0 && committer.statistics.behindSince == nil)
        #expect(try StoreReader.open(folder: folder.path).calls() == [call])
        await committer.close()
    }

    @Test(arguments: StoreKind.allCases)
    func `of either store a call that changes fast under load is written once, and closing writes all`(
        _ kind: StoreKind
    ) async throws {
        var behind = WriteBehind.always
        behind.delay = .seconds(3600)
        let store = try await OpenStore.open(kind)
        defer { withExtendedLifetime(store) {} }
        let reader = try store.reader()
        let log = try store.log(behind: behind)
        var call = CallRecord.live()
        for state in [CallState.routing, .ringing, .answered, .connected] {
            call.state = state
            let records: [StoreRecord] = [.call(call)]
            let isDurable = await withCheckedContinuation { continuation in
                let isTaken = log.commit(batch: records) { result in
                    continuation.resume(returning: (try? result.get()) != nil)
                }
                #expect(isTaken)
            }
            #expect(isDurable)
        }
        #expect(log.statistics.commits == 4 && log.statistics.rows == 0 && log.statistics.behind == 4)
        #expect(try reader.calls() == [])
        await log.flush()
        #expect(try reader.calls() == [call])
        #expect(log.statistics.rows == 1 && log.statistics.behind == 0 && log.statistics.behindSince == nil)

        call.state = .ended
        let last: [StoreRecord] = [.call(call)]
        #expect(log.commit(batch: last) { _ in })
        await log.close()
        #expect(try reader.calls() == [call])
        reader.close()
    }

    @Test func `who opens a store beside its server is shown all that was acknowledged before`() async throws {
        let (folder, committer) = try Self.committer { $0.delay = .milliseconds(1) }
        // The thread of the tables has something else to do for a while.
        let busy = DispatchSemaphore(value: 0)
        committer.tablesLoop.execute { _ = busy.wait(timeout: .now() + .milliseconds(200)) }
        #expect(committer.commit(batch: Self.calls.map { .call($0) }) { _ in })
        _ = await committer.loop.run {}
        #expect(try StoreReader.open(folder: folder.path).callCount() == Self.calls.count)
        await committer.close()
    }

    @Test func `with a journal that cannot be written batches go into the tables`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        try #require(store.journal).queue.inDatabase { try $0.execute(sql: "PRAGMA max_page_count = 1") }
        let committer = try GroupCommitter(store: store, behind: .always)
        let completed = Mutex(0)
        // More than the journal has room for as it is.
        for calls in [Self.calls[..<100], Self.calls[100...]] {
            #expect(
                committer.commit(batch: calls.map { .call($0) }) { result in
                    if (try? result.get()) != nil { completed.withLock { $0 += 1 } }
                })
        }
        await eventually("both are durable") { completed.withLock { $0 } == 2 }
        let failures = committer.statistics.failures
        #expect(failures > 0 && committer.failure == nil)
        #expect(try StoreReader.open(folder: folder.path).callCount() == 200)
        // The journal is not tried again with each of those that follow.
        for _ in 0..<3 {
            #expect(
                committer.commit(batch: Self.calls[100...].map { .call($0) }) { _ in completed.withLock { $0 += 1 } })
        }
        await eventually("the others are durable") { completed.withLock { $0 } == 5 }
        #expect(committer.statistics.failures == failures)
        await committer.close()
    }

    @Test func `what the thread of the tables has no time for is brought in beside commits`() async throws {
        let (folder, committer) = try Self.committer { $0.longest = .zero }
        let busy = DispatchSemaphore(value: 0)
        committer.tablesLoop.execute { busy.wait() }
        for call in Self.calls[..<3] {
            #expect(committer.commit(batch: [.call(call)]) { _ in })
            _ = await committer.loop.run {}
        }
        #expect(committer.statistics.rows == 2 && committer.statistics.behind == 1)
        #expect(Self.calls(in: folder) == 2)
        busy.signal()
        await committer.close()
    }

    @Test(arguments: StoreKind.allCases)
    func `what was written behind comes into the tables by itself, also when nothing more is committed`(
        _ kind: StoreKind
    ) async throws {
        var behind = WriteBehind.always
        (behind.delay, behind.records) = (.milliseconds(2), 3)
        let store = try await OpenStore.open(kind)
        let (committer, reader) = (try store.log(behind: behind), try store.reader())
        for calls in [Self.calls[..<20], Self.calls[20...]] {
            for call in calls { #expect(committer.commit(batch: [.call(call)]) { _ in }) }
            await eventually("all are in the tables") { (try? reader.callCount()) == calls.endIndex }
        }
        // They are counted when the store's thread has been told.
        await eventually("all are counted") { committer.statistics.rows >= 200 }
        #expect(committer.statistics.rows == 200)
        reader.close()
        await committer.close()
    }

    @Test func `more than the limit is not left behind, however little time has passed`() async throws {
        let folder = try TemporaryFolder()
        var behind = WriteBehind.always
        (behind.delay, behind.limit) = (.seconds(3600), 150)
        behind.records = 1
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path), behind: behind)
        for (index, call) in Self.calls.enumerated() {
            #expect(committer.commit(batch: [.call(call)]) { _ in })
            // From here on the time for catching up is set.
            if index == 0 { await committer.loop.run {} }
        }
        await eventually("the oldest are in the tables") { committer.statistics.rows >= 50 }
        await committer.loop.run {}
        #expect(committer.statistics.rows <= 200)
        await committer.close()
    }

    @Test func `commits go on while the tables are written`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let queue = store.tables.queue
        var behind = WriteBehind.always
        behind.delay = .milliseconds(1)
        let committer = try GroupCommitter(store: store, behind: behind)
        let (isHeld, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            queue.inDatabase { _ in
                isHeld.signal()
                release.wait()
            }
        }
        // A thread of the system's waits for that one, none of the tests'.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isHeld.wait()
                continuation.resume()
            }
        }
        let completed = Mutex(0)
        let isSettled = Mutex<Bool?>(nil)
        // One after the other, so that the time to write the tables comes between them.
        @Sendable func commit(_ index: Int) {
            guard index < Self.calls.count else { return }
            // Nor does a commit wait for somebody who wants to see all.
            if index == 100 { committer.settle { result in isSettled.withLock { $0 = result } } }
            let isTaken = committer.commit(batch: [.call(Self.calls[index])]) { _ in
                completed.withLock { $0 += 1 }
                commit(index + 1)
            }
            #expect(isTaken)
        }
        commit(0)
        await eventually("all are durable") { completed.withLock { $0 } == 200 }
        #expect(committer.statistics.behind == 200 && committer.statistics.rows == 0)
        #expect(try TemporaryFolder(copying: folder).recoveredCalls() == 200)
        #expect(isSettled.withLock { $0 } == nil)
        release.signal()
        await eventually("it is settled") { isSettled.withLock { $0 } == true }
        await eventually("all are in the tables") { Self.calls(in: folder) == 200 }
        await committer.close()
    }

    @Test func `closing brings everything into the tables`() async throws {
        let (folder, committer) = try Self.committer { $0.delay = .seconds(3600) }
        #expect(committer.commit(batch: Self.calls.map { .call($0) }) { _ in })
        await committer.close()
        #expect(folder.files == ["reveille.lock", "reveille.sqlite3"], "there is no journal any more")
        let queue = try DatabaseQueue(path: folder.database)
        #expect(try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM call") } == 200)
    }

    @Test func `a disk that is full when the tables are written holds commits back, and loses nothing`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        // Room for the journal, and not for the rows.
        let disk = StoreDisk(of: store, hasJournal: false)
        try disk.fill()
        let health = Mutex<[String]>([])
        var behind = WriteBehind.always
        behind.delay = .milliseconds(1)
        let committer = try GroupCommitter(store: store, behind: behind) { failure in
            health.withLock { $0.append(failure.map { "\($0.reason)" } ?? "well") }
        }
        let acknowledged = Mutex<[String]>([])
        #expect(
            committer.commit(batch: Self.calls.map { .call($0) }) { result in
                acknowledged.withLock { $0.append((try? result.get()) == nil ? "no" : "large") }
            })
        await eventually("the tables cannot be written") { committer.failure?.reason == .diskFull }
        #expect(acknowledged.withLock { $0 } == ["large"])
        #expect(
            committer.commit(batch: [.missedCleared(user: handle("bob"), upTo: at(1))]) { result in
                acknowledged.withLock { $0.append((try? result.get()) == nil ? "no" : "small") }
            })
        await eventually("it is tried again") { committer.statistics.failures >= 3 }
        #expect(acknowledged.withLock { $0 } == ["large"])
        #expect(try TemporaryFolder(copying: folder).recoveredCalls() == 200)

        try disk.free()
        await eventually("all are in the tables") { Self.calls(in: folder) == 200 && committer.waiting == 0 }
        await committer.flush()
        #expect(acknowledged.withLock { $0 } == ["large", "small"])
        #expect(health.withLock { $0 } == ["diskFull", "well"])
        await committer.close()
    }

    @Test func `pages that only the journal had are not written again when it is done with them`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let call = CallRecord.live()
        let sdp = RawJSON(bytes: Array("\"\(String(repeating: "a", count: 400_000))\"".utf8))
        let records = [
            StoreRecord.descriptions(DescriptionsRecord(call: call.id, offer: sdp, custom: nil)),
            .descriptionsDropped(call.id), .call(call),
        ]
        _ = try store.commitBehind(batches: [records])
        let wal = StoreFolder.journal(of: folder.database) + "-wal"
        func size() throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: wal)[.size] as? Int)
        }
        let before = try size()
        #expect(before > 400_000)
        #expect(try store.catchUp() == 2)
        // With this the entry goes.
        _ = try store.commitBehind(batches: [[.call(call)]])
        #expect(try size() - before < 100_000)
        store.close()
    }

    @Test func `load is a rate of records, or many at once`() {
        let start = ContinuousClock.now
        /// Whether each of them is load: how many records come, and when, in milliseconds.
        func loads(_ policy: WriteBehind, _ arrivals: [(records: Int, at: Int)]) -> [Bool] {
            var gauge = LoadGauge(policy)
            return arrivals.map { gauge.isLoad($0.records, at: start + .milliseconds($0.at)) }
        }
        let policy = WriteBehind(recordsPerSecond: 1000, burst: 100)
        #expect(loads(policy, (0..<5000).map { (1, $0) }) == Array(repeating: false, count: 5000))
        #expect(loads(policy, [(100, 0), (1, 0)]) == [false, true])
        #expect(loads(policy, (0..<5000).map { (2, $0) }).firstIndex(of: true) == 99)
        // What came beyond the rate is forgotten at the rate, and never more than twice the burst.
        #expect(loads(policy, [(100_000, 0), (1, 99), (1, 103)]) == [true, true, false])
        #expect(loads(.never, [(1_000_000, 0)]) == [false])
        #expect(loads(.always, [(0, 0), (1, 99_000)]) == [true, true])
    }
}

extension TemporaryFolder {
    fileprivate func recoveredCalls() throws -> Int { try StoreReader.open(folder: path).callCount() }
}
