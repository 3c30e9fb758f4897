import CallCore
import CallVocabulary
import EventLoop
import Foundation
import Glibc
import RecordTables
import StoreInterface
import Synchronization
import Testing

@testable import CallStore

/// A file that this process has open. The test can make its descriptors fail.
private struct OpenFile {
    private let path: String
    private let descriptors: [Int32]

    init(_ path: String) throws {
        self.path = path
        let folder = "/proc/self/fd"
        descriptors = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return target == path ? Int32(name) : nil
        }
        try #require(!descriptors.isEmpty)
    }

    /// Makes writes fail with ENOSPC, and reads return zeros.
    func fill() throws { try refer(to: "/dev/full", O_RDWR) }
    /// Makes writes fail, while reads succeed.
    func refuseWrites() throws { try refer(to: path, O_RDONLY) }
    func repair() throws { try refer(to: path, O_RDWR) }

    private func refer(to target: String, _ flags: Int32) throws {
        let other = open(target, flags | O_CLOEXEC)
        try #require(other >= 0)
        for descriptor in descriptors { try #require(dup2(other, descriptor) == descriptor) }
        close(other)
    }
}

/// One file of the store cannot be written; the others can.
@Suite("A disk that fails under one file") struct DiskFaultTests {
    @Test("a start on a full disk is told as such, whichever file cannot grow")
    func full() {
        // SQLITE_FULL, SQLITE_IOERR_SHMSIZE
        for code: Int32 in [13, 4874] {
            let failure = StoreFailure(code: code, path: "/data", detail: "disk I/O error")
            #expect(failure.reason == .diskFull && failure.description.contains("Free some space"), "\(failure)")
        }
        #expect(StoreFailure(code: 10, path: "/data", detail: "disk I/O error").reason == .inputOutput)
    }

    @Test(
        "while the mark cannot be written, nothing is acknowledged, and no row is written twice",
        arguments: [false, true])
    func mark(isLoad: Bool) async throws {
        let folder = try TemporaryFolder()
        let committer = try GroupCommitter(
            store: try CallStore.open(folder: folder.path), behind: isLoad ? .always : .never)
        let mark = try OpenFile(StoreFolder.mark(of: folder.database))
        try mark.fill()
        var call = CallRecord.live()
        call.eventCount = 1
        let event = EventRecord(
            id: EventID(high: 9, low: 1), at: at(1), subject: .call(call, number: 1, .invited(custom: nil)))
        let completed = Atomic<Int>(0)
        let batches: [[StoreRecord]] = [
            [.call(call), .candidates(.sample(["1"], of: call)), .event(event)],
            [.candidates(.sample(["2"], of: call))],
        ]
        for (number, batch) in batches.enumerated() {
            let isTaken = committer.commit(batch: batch) { result in
                if (try? result.get()) != nil { completed.add(1, ordering: .sequentiallyConsistent) }
            }
            #expect(isTaken)
            await eventually("it is tried again") { committer.statistics.failures >= UInt64(2 + number) }
        }
        #expect(
            committer.failure?.reason == .diskFull && committer.failure?.path == StoreFolder.mark(of: folder.database))
        #expect(completed.load(ordering: .sequentiallyConsistent) == 0)
        try mark.repair()
        await eventually("both are durable") { completed.load(ordering: .sequentiallyConsistent) == 2 }
        #expect(committer.failure == nil)
        await committer.close()
        let reader = try StoreReader.open(folder: folder.path)
        #expect(try reader.events(after: 0, limit: 10, bytes: .max).count == 1)
        reader.close()
        let store = try CallStore.open(folder: folder.path)
        #expect(try store.whole().candidates.count == 2)
        store.close()
    }

    @Test("a store that is closed while a commit has failed makes a last attempt")
    func closing() async throws {
        let folder = try TemporaryFolder()
        let committer = try GroupCommitter(store: try CallStore.open(folder: folder.path))
        let mark = try OpenFile(StoreFolder.mark(of: folder.database))
        try mark.fill()
        let call = CallRecord.live()
        let isDurable = Atomic(false)
        #expect(
            committer.commit(batch: [.call(call)]) { result in
                isDurable.store((try? result.get()) != nil, ordering: .sequentiallyConsistent)
            })
        await eventually("it has failed") { committer.statistics.failures > 0 }
        try mark.repair()
        await committer.close()
        #expect(isDurable.load(ordering: .sequentiallyConsistent) == true)
    }

    @Test("failed checkpoints are reported, and commits continue", arguments: [false, true])
    func checkpoints(isLoad: Bool) async throws {
        let folder = try TemporaryFolder()
        let told = Mutex<[StoreFailure?]>([])
        let committer = try GroupCommitter(
            store: try CallStore.open(folder: folder.path), behind: isLoad ? .always : .never,
            onCheckpoint: { failure in told.withLock { $0.append(failure) } })
        let path = isLoad ? StoreFolder.journal(of: folder.database) : folder.database
        let file = try OpenFile(path)
        try file.refuseWrites()
        // More than the 1000 pages at which each commit is followed by a checkpoint.
        func fill(until isDone: @Sendable () -> Bool) async {
            for number in 0..<200 where !isDone() {
                let calls = (0..<500).map { StoreRecord.call(.live(createdAt: at(Int64(number * 500 + $0)))) }
                #expect(committer.commit(batch: calls) { _ in })
                await committer.loop.run {}
            }
        }
        await fill { told.withLock { !$0.isEmpty } }
        let failure = try #require(told.withLock { $0.first } ?? nil)
        #expect(failure.path == path && failure.reason == .inputOutput)
        #expect(failure.description.contains("checkpoint: disk I/O error, a write failed (SQLite 778)"))
        #expect(committer.statistics.checkpointFailure == failure)
        #expect(committer.failure == nil && committer.statistics.failures == 0)
        try file.repair()
        await fill { told.withLock { $0.count > 1 } }
        #expect(told.withLock { $0 } == [failure, nil])
        #expect(committer.statistics.checkpointFailure == nil)
        await committer.close()
    }
}
