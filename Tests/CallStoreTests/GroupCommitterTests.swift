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

/// What completions have said, in order.
private final class Journal: Sendable {
    private let entries = Mutex<[String]>([])
    var all: [String] { entries.withLock { $0 } }
    func note(_ entry: String) { entries.withLock { $0.append(entry) } }
}

@Suite struct GroupCommitterTests {
    private static func call(_ number: Int64) -> CallRecord { .live(createdAt: at(number)) }

    @Test(arguments: StoreKind.allCases)
    func `of many batches each is completed once, in order, and all are readable after a flush`(
        _ kind: StoreKind
    ) async throws {
        for behind in [WriteBehind.never, .always, WriteBehind()] {
            let store = try await OpenStore.open(kind)
            let reader = try store.reader()
            let log = try store.log(behind: behind)
            let journal = Journal()
            let calls = (0..<300).map { Self.call($0) }
            for (index, call) in calls.enumerated() {
                var changed = call
                changed.state = .ringing
                let records: [StoreRecord] = [.call(call), .call(changed), .leg(.sample(of: call))]
                #expect(
                    log.commit(batch: index.isMultiple(of: 7) ? [] : records) { result in
                        journal.note((try? result.get()) == nil ? "failed" : "\(index)")
                    })
            }
            await log.flush()
            #expect(journal.all == calls.indices.map { "\($0)" })
            #expect(try reader.calls(CallFilter(limit: .max)).count == 257)
            #expect(try reader.history(of: handle("bob"), limit: 1000).entries.count == 257)
            #expect(try reader.audit().violations == [])
            #expect(log.statistics.records == 771 && log.statistics.failures == 0 && log.statistics.behind == 0)
            #expect(log.waiting == 0 && log.isHealthy)
            await log.close()
            #expect(log.commit(batch: []) { _ in journal.note("late") } == false)
            reader.close()
            withExtendedLifetime(store) {}
        }
    }

    @Test func `a batch is readable by others when its completion comes`() async throws {
        let folder = try TemporaryFolder()
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
        let (path, call) = (folder.path, Self.call(1))
        let seen = await withCheckedContinuation { continuation in
            let isTaken = committer.commit(batch: [.call(call)]) { result in
                let calls = try? StoreReader.open(folder: path).calls()
                continuation.resume(returning: (try? result.get()) == nil ? nil : calls)
            }
            #expect(isTaken)
        }
        #expect(seen == [call])
        #expect(committer.isHealthy)
        await committer.close()
    }

    @Test func `batches that wait are committed together and completed in the order they were given`() async throws {
        let folder = try TemporaryFolder()
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
        let journal = Journal()
        let gate = DispatchSemaphore(value: 0)
        let calls = (0...5).map { Self.call($0) }
        // The first completion holds the thread until the others are all in the mailbox.
        let first = committer.commit(batch: [.call(calls[0])]) { _ in
            journal.note("0")
            gate.wait()
        }
        #expect(first)
        await eventually("the first batch is completed") { journal.all == ["0"] }
        for index in 1...5 {
            var changed = calls[index]
            changed.state = .waking
            let isTaken = committer.commit(batch: [.call(calls[index]), .call(changed)]) { result in
                journal.note((try? result.get()) == nil ? "failed" : "\(index)")
            }
            #expect(isTaken)
        }
        #expect(committer.waiting == 5)
        gate.signal()
        await committer.close()
        #expect(journal.all == ["0", "1", "2", "3", "4", "5"])
        let statistics = committer.statistics
        #expect(statistics.commits == 2 && statistics.batches == 6 && statistics.largestGroup == 5)
        #expect(statistics.records == 11 && statistics.rows == 6 && statistics.failures == 0)
        #expect(statistics.latency.count == 2)
        #expect(try StoreReader.open(folder: folder.path).calls(CallFilter(isLive: true)).count == 6)
        #expect(committer.waiting == 0)
    }

    @Test func `a full disk holds every batch back, in order, and loses none`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let disk = StoreDisk(of: store)
        try disk.fill()
        let health = Journal()
        let committer = try GroupCommitter(store: store) { health.note($0.map { "\($0.reason)" } ?? "well") }
        let journal = Journal()
        let large = (0..<300).map { StoreRecord.call(Self.call($0)) }
        #expect(committer.commit(batch: large) { journal.note("large \($0.isSuccess)") })
        await eventually("the commit fails") { !committer.isHealthy }
        #expect(committer.failure?.reason == .diskFull)
        // This one alone would fit: it waits all the same.
        #expect(
            committer.commit(batch: [.missedCleared(user: handle("bob"), upTo: at(1))]) {
                journal.note("small \($0.isSuccess)")
            })
        // What comes while it pauses does not make it try sooner.
        let failures = committer.statistics.failures
        for _ in 1...50 {
            #expect(committer.commit(batch: []) { if !$0.isSuccess { journal.note("an empty one failed") } })
            await committer.loop.run {}
        }
        #expect(committer.statistics.failures < failures + 25)
        await eventually("it is tried again") { committer.statistics.failures >= 3 }
        #expect(journal.all == [])
        #expect(committer.waiting == 52)
        #expect(try StoreReader.open(folder: folder.path).calls().isEmpty)

        try disk.free()
        await eventually("all are durable") { committer.waiting == 0 }
        await committer.loop.run {}
        #expect(journal.all == ["large true", "small true"])
        #expect(committer.isHealthy && committer.waiting == 0)
        #expect(health.all == ["diskFull", "well"], "each once, however often it was tried")
        #expect(try StoreReader.open(folder: folder.path).calls(CallFilter(limit: 1000)).count == 300)
        await committer.close()
    }

    @Test func `closing while commits fail says so to every batch that is not durable`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let disk = StoreDisk(of: store)
        try disk.fill()
        let committer = try GroupCommitter(store: store)
        let journal = Journal()
        for name in ["a", "b"] {
            let large = (0..<300).map { StoreRecord.call(Self.call($0)) }
            #expect(
                committer.commit(batch: large) { result in
                    guard case .failure(let failure) = result else { return journal.note("\(name) durable") }
                    journal.note("\(name) \(failure.reason)")
                })
        }
        await eventually("the commit fails") { !committer.isHealthy }
        await committer.close()
        #expect(journal.all == ["a diskFull", "b diskFull"])
        #expect(committer.commit(batch: []) { _ in journal.note("late") } == false)
        #expect(committer.waiting == 0)
        // The folder is free for the next server, which finds the store whole.
        let next = try CallStore.open(folder: folder.path)
        #expect(try next.whole() == WholeState())
        next.close()
    }

    @Test func `a flush waits for what can be made durable, and not for a disk that fails`() async throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let disk = StoreDisk(of: store)
        let committer = try GroupCommitter(store: store)
        let journal = Journal()
        let durable = Self.call(1000)
        #expect(committer.commit(batch: [.call(durable)]) { journal.note("before \($0.isSuccess)") })
        await committer.flush()
        #expect(journal.all == ["before true"])

        try disk.fill()
        let large = (0..<300).map { StoreRecord.call(Self.call($0)) }
        #expect(committer.commit(batch: large) { journal.note("large \($0.isSuccess)") })
        let flushed = Task {
            await committer.flush()
            journal.note("flushed")
        }
        await eventually("the flush returns") { journal.all.contains("flushed") }
        #expect(journal.all == ["before true", "flushed"], "nothing is acknowledged that is not durable")
        #expect(committer.failure?.reason == .diskFull)
        #expect(committer.waiting == 1)

        // A stop goes on from here, and says of the batch that it is lost.
        await committer.close()
        await flushed.value
        #expect(journal.all == ["before true", "flushed", "large false"])
        #expect(try StoreReader.open(folder: folder.path).calls(CallFilter(limit: 1000)) == [durable])
    }

    @Test(arguments: StoreKind.allCases)
    func `a full mailbox takes nothing, and takes more when there is room`(_ kind: StoreKind) async throws {
        let store = try await OpenStore.open(kind)
        defer { withExtendedLifetime(store) {} }
        let committer = try store.log(capacity: 3)
        let journal = Journal()
        let gate = DispatchSemaphore(value: 0)
        #expect(
            committer.commit(batch: []) { _ in
                journal.note("first")
                gate.wait()
            })
        await eventually("the thread is held") { journal.all == ["first"] }
        for _ in 1...3 { #expect(committer.commit(batch: []) { _ in journal.note("taken") }) }
        #expect(!committer.commit(batch: []) { _ in journal.note("refused") })
        #expect(committer.waiting == 3)
        gate.signal()
        await eventually("those taken are completed") { journal.all.count == 4 }
        #expect(committer.commit(batch: []) { _ in journal.note("taken") })
        await committer.close()
        #expect(journal.all == ["first", "taken", "taken", "taken", "taken"])
    }

    @Test func `latencies are counted by powers of two`() {
        var counts = LatencyCounts()
        #expect(counts.percentile(0.5) == nil)
        for milliseconds in 1...100 { counts.add(.milliseconds(milliseconds)) }
        #expect(counts.count == 100 && counts.longest == .milliseconds(100))
        #expect(counts.total == .milliseconds(5050))
        #expect(counts.buckets.reduce(0, +) == 100)
        #expect(counts.percentile(0.5) == .microseconds(65536))
        #expect(counts.percentile(0.01) == .microseconds(1024))
        #expect(counts.percentile(1) == .milliseconds(100))
        counts.add(.seconds(60))
        #expect(counts.buckets.last == 1)
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
