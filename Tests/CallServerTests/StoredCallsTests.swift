import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Foundation
import Logging
import Synchronization
import Testing

@testable import CallServer

/// A store with calls in it, and the history's thread with the test as the core.
private final class Fixture {
    struct Unreadable: Error {}

    let reader: StoreReader
    let loop: EventLoop
    let core: Mailbox<CoreInput>
    private let store: CallStore
    private let folder: String
    private var inputs: AsyncStream<CoreInput>.AsyncIterator

    init(_ records: [StoreRecord]) async throws {
        folder = NSTemporaryDirectory() + "stored-calls-\(UUID().uuidString)"
        store = try CallStore.open(folder: folder)
        try store.commit(records)
        reader = try StoreReader.open(folder: folder)
        let loop = try EventLoop(name: "history-test")
        loop.start()
        self.loop = loop
        let (inputs, input) = AsyncStream.makeStream(of: CoreInput.self)
        self.inputs = inputs.makeAsyncIterator()
        let core = await loop.run {
            // Full at all times: what is told the core here is never lost.
            Mailbox<CoreInput>(loop: loop, capacity: 0) { for fact in $0 { input.yield(fact) } }
        }
        self.core = try #require(core)
    }

    func close() async {
        await loop.stopAndWait()
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func next() async throws -> CoreInput {
        let input = await inputs.next()
        return try #require(input)
    }

    static func call(_ number: UInt64) throws -> CallRecord {
        let start = Instant(milliseconds: 1_790_000_000_000 + Int64(number))
        return CallRecord(
            id: CallID(high: 1, low: number),
            caller: Party(user: try #require(Handle("alice")), device: DeviceID(high: 2, low: number)),
            callerName: nil, to: .user(try #require(Handle("bob"))), video: false, inviteDigest: number,
            state: .ringing,
            createdAt: start, ringsUntil: start + .seconds(45))
    }
}

@Suite("Calls of the store", .timeLimit(.minutes(1)))
struct StoredCallsTests {
    private static let log = Logger(label: "stored-calls-test") { _ in SwiftLogNoOpLogHandler() }

    @Test("one is found with its legs and its pushes, and of one that is not there the core is told so")
    func found() async throws {
        let call = try Fixture.call(1)
        let bob = DeviceKey(user: try #require(Handle("bob")), device: DeviceID(high: 3, low: 1))
        let leg = LegRecord(
            call: call.id, device: bob, push: PushID(high: 4, low: 1), state: .waking, createdAt: call.createdAt)
        let push = PushRecord(
            id: leg.push, call: call.id, device: bob,
            token: PushToken(
                provider: .apns, kind: .voip, environment: .production, topic: "org.example.voip", token: "ab"),
            intendedAt: call.createdAt, expiresAt: call.ringsUntil)
        let fixture = try await Fixture([.call(call), .leg(leg), .push(push), .call(try Fixture.call(2))])
        let calls = StoredCalls(loop: fixture.loop, reader: fixture.reader, core: fixture.core, log: Self.log)
        calls.find(call.id)
        #expect(try await fixture.next() == .callFound(call.id, StoredCall(call: call, legs: [leg], pushes: [push])))
        let unknown = CallID(high: 9, low: 9)
        calls.find(unknown)
        #expect(try await fixture.next() == .callFound(unknown, nil))
        await fixture.close()
    }

    @Test("a store that cannot be read is told of call by call, and read again for the next one")
    func unreadable() async throws {
        let fixture = try await Fixture([])
        let failures = Mutex(2)
        let calls = StoredCalls(
            loop: fixture.loop,
            search: { _ in
                try failures.withLock { left in
                    guard left == 0 else {
                        left -= 1
                        throw Fixture.Unreadable()
                    }
                }
                return nil
            }, core: fixture.core, log: Self.log)
        let ids = (1...3).map { CallID(high: 1, low: $0) }
        for id in ids { calls.find(id) }
        #expect(try await fixture.next() == .callSearchFailed(ids[0]))
        #expect(try await fixture.next() == .callSearchFailed(ids[1]))
        #expect(try await fixture.next() == .callFound(ids[2], nil))
        await fixture.close()
    }

    @Test("all are listed in slices, others go first in between, and a read that fails is repeated where it was")
    func listing() async throws {
        let ids = (1...9_000).map { UInt64($0) }
        let fixture = try await Fixture(try ids.map { .call(try Fixture.call($0)) })
        let (loop, reader) = (fixture.loop, fixture.reader)
        let pages = Mutex<[UInt64?]>([])
        let served = Mutex<Int?>(nil)
        let source = CallListing.Source(
            count: { try reader.callCount() },
            page: { last, limit in
                let number = pages.withLock { pages in
                    pages.append(last?.low)
                    return pages.count
                }
                if number == 1 { loop.execute { served.withLock { $0 = pages.withLock { $0.count } } } }
                if number == 2 || number == 3 { throw Fixture.Unreadable() }
                return try reader.callIDs(after: last, limit: limit)
            })
        let listing = LoopBound(
            CallListing(
                loop: loop, source: source, core: fixture.core, retryPause: .milliseconds(1), log: Self.log), on: loop)
        loop.execute { listing.value.begin() }
        guard case .storedCallsListed(let filter) = try await fixture.next() else {
            Issue.record("the list was due")
            return
        }
        #expect(ids.allSatisfy { filter.mayContain(CallID(high: 1, low: $0)) })
        #expect(ids.count { filter.mayContain(CallID(high: 2, low: $0)) } < 100)
        #expect(pages.withLock { $0 } == [nil, 4096, 4096, 4096, 8192])
        // What was asked of the thread during the first slice was done before the second.
        #expect(served.withLock { $0 } == 1)
        _ = await loop.run { listing.value.stop() }
        await fixture.close()
    }

    @Test("none stored are listed as none, and the list is given once")
    func empty() async throws {
        let fixture = try await Fixture([])
        let (loop, core) = (fixture.loop, fixture.core)
        let listing = LoopBound(
            CallListing(loop: loop, source: .init(fixture.reader), core: core, log: Self.log), on: loop)
        loop.execute { listing.value.begin() }
        #expect(try await fixture.next() == .storedCallsListed(CallIDFilter(expecting: 0)))
        _ = await loop.run { listing.value.stop() }
        core.postAlways(.drainingBegan(within: .seconds(60)))
        #expect(try await fixture.next() == .drainingBegan(within: .seconds(60)))
        await fixture.close()
    }

    @Test("a listing that waits for a store to be readable ends with the thread")
    func stopped() async throws {
        let fixture = try await Fixture([])
        let (loop, core) = (fixture.loop, fixture.core)
        let reads = Atomic<Int>(0)
        let source = CallListing.Source(
            count: {
                reads.add(1, ordering: .relaxed)
                throw Fixture.Unreadable()
            }, page: { _, _ in [] })
        let listing = LoopBound(
            CallListing(loop: loop, source: source, core: core, retryPause: .seconds(600), log: Self.log), on: loop)
        loop.execute { listing.value.begin() }
        _ = await loop.run { listing.value.stop() }
        loop.execute { listing.value.begin() }
        core.postAlways(.drainingBegan(within: .seconds(60)))
        #expect(try await fixture.next() == .drainingBegan(within: .seconds(60)))
        #expect(reads.load(ordering: .relaxed) == 1)
        await fixture.close()
    }
}
