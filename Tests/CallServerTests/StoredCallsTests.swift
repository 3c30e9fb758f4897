import CallCore
import CallStore
import CallVocabulary
import EventLoop
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@testable import CallServer

/// A store with calls, with the test as the core.
private final class Fixture {
    struct Unreadable: Error {}

    let queries: any StoreQueries
    let loop: EventLoop
    let core: Mailbox<CoreInput>
    private var inputs: AsyncStream<CoreInput>.AsyncIterator

    init(_ records: [StoreRecord]) async throws {
        let folder = try DataFolder.temporary().path
        let store = try CallStore.open(folder: folder)
        try store.commit(records)
        store.close()
        let queries = try SQLiteQueries.open(folder: folder, thread: "test")
        atEnd { await queries.close() }
        self.queries = queries
        let loop = try EventLoop.started("core-test")
        self.loop = loop
        let (inputs, input) = AsyncStream.makeStream(of: CoreInput.self)
        self.inputs = inputs.makeAsyncIterator()
        let core = await loop.run {
            // Always full: input to the core must use the unbounded path.
            Mailbox<CoreInput>(loop: loop, capacity: 0) { for fact in $0 { input.yield(fact) } }
        }
        self.core = try #require(core)
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

@Suite("Calls from the store", .cleanup, .timeLimit(.minutes(1)))
struct StoredCallsTests {
    @Test("a call is found with its legs and pushes, and a missing one is reported to the core")
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
        let queries = fixture.queries
        let calls = StoredCalls(search: { try await queries.call($0) }, core: fixture.core, log: .none)
        calls.find(call.id)
        #expect(
            try await fixture.next() == .store(.callFound(call.id, StoredCall(call: call, legs: [leg], pushes: [push])))
        )
        let unknown = CallID(high: 9, low: 9)
        calls.find(unknown)
        #expect(try await fixture.next() == .store(.callFound(unknown, nil)))
    }

    @Test("an unreadable store is reported for each call, and the next call reads it again")
    func unreadable() async throws {
        let fixture = try await Fixture([])
        let failures = Mutex(2)
        let calls = StoredCalls(
            search: { _ in
                try failures.withLock { left in
                    guard left == 0 else {
                        left -= 1
                        throw Fixture.Unreadable()
                    }
                }
                return nil
            }, core: fixture.core, log: .none)
        let ids = (1...3).map { CallID(high: 1, low: $0) }
        let expected: [CoreInput] = [
            .store(.callSearchFailed(ids[0])), .store(.callSearchFailed(ids[1])), .store(.callFound(ids[2], nil)),
        ]
        for (id, answer) in zip(ids, expected) {
            calls.find(id)
            #expect(try await fixture.next() == answer)
        }
    }

    @Test("all calls are listed in slices, and a failed query is repeated at its position")
    func listing() async throws {
        let ids = (1...9_000).map { UInt64($0) }
        let fixture = try await Fixture(try ids.map { .call(try Fixture.call($0)) })
        let queries = fixture.queries
        let pages = Mutex<[UInt64?]>([])
        let source = CallListing.Source(
            count: { try await queries.callCount() },
            page: { last, limit in
                let number = pages.withLock { pages in
                    pages.append(last?.low)
                    return pages.count
                }
                if number == 2 || number == 3 { throw Fixture.Unreadable() }
                return try await queries.callIDs(after: last, limit: limit)
            })
        let listing = CallListing(
            source: source, core: fixture.core, retryPause: .milliseconds(1), log: .none)
        await listing.run()
        guard case .store(.callsListed(let filter)) = try await fixture.next() else {
            Issue.record("the list was due")
            return
        }
        #expect(ids.allSatisfy { filter.mayContain(CallID(high: 1, low: $0)) })
        #expect(ids.count { filter.mayContain(CallID(high: 2, low: $0)) } < 100)
        #expect(pages.withLock { $0 } == [nil, 4096, 4096, 4096, 8192])
    }

    @Test("an empty store is listed as empty, and the list is delivered once")
    func empty() async throws {
        let fixture = try await Fixture([])
        let (queries, core) = (fixture.queries, fixture.core)
        let source = CallListing.Source(
            count: { try await queries.callCount() }, page: { try await queries.callIDs(after: $0, limit: $1) })
        await CallListing(source: source, core: core, log: .none).run()
        #expect(try await fixture.next() == .store(.callsListed(CallIDFilter(expecting: 0))))
        core.postAlways(.drainingBegan(within: .seconds(60)))
        #expect(try await fixture.next() == .drainingBegan(within: .seconds(60)))
    }

    @Test("a listing that waits for a readable store ends when it is cancelled")
    func stopped() async throws {
        let fixture = try await Fixture([])
        let core = fixture.core
        let (reads, read) = AsyncStream.makeStream(of: Void.self)
        let source = CallListing.Source(
            count: {
                read.yield()
                throw Fixture.Unreadable()
            }, page: { _, _ in [] })
        let listing = CallListing(source: source, core: core, retryPause: .seconds(600), log: .none)
        let task = Task { await listing.run() }
        for await _ in reads { break }
        task.cancel()
        await task.value
        core.postAlways(.drainingBegan(within: .seconds(60)))
        #expect(try await fixture.next() == .drainingBegan(within: .seconds(60)))
    }
}
