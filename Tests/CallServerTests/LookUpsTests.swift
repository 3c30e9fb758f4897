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

@Suite("Lookups in the store", .cleanup, .timeLimit(.minutes(5)))
struct LookUpsTests {
    private static let bob = Handle("bob")!  // The literals are handles.
    private static let number = Handle("+1")!

    private static func token(_ start: String) -> PushToken {
        PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: "org.example.voip",
            token: start + "11223344556677889900112233445566778899")
    }

    private static let token = token("00")

    private static func device(_ user: Handle, _ number: UInt64, _ tokens: [PushToken]) -> DeviceRecord {
        DeviceRecord(
            key: DeviceKey(user: user, device: DeviceID(high: 3, low: number)), platform: .ios, app: nil, name: nil,
            tokens: tokens.map { DeviceRecord.Token(token: $0, registeredAt: Instant(milliseconds: 7)) },
            seenAt: Instant(milliseconds: 8), unreportedStreak: 0, suspendedAt: nil)
    }

    @Test("a call is found with its legs, pushes and parties, and a missing one is reported to the core")
    func found() async throws {
        let call = try Fixture.call(1)
        let device = Self.device(Self.bob, 1, [])
        let leg = LegRecord(
            call: call.id, device: device.key, push: PushID(high: 4, low: 1), state: .waking, createdAt: call.createdAt)
        let push = PushRecord(
            id: leg.push, call: call.id, device: device.key, token: Self.token, intendedAt: call.createdAt,
            expiresAt: call.ringsUntil)
        let fixture = try await Fixture([
            .device(device), .call(call), .leg(leg), .push(push), .call(try Fixture.call(2)),
        ])
        let queries = fixture.queries
        let lookUps = LookUps(search: { try await queries.found($0) }, core: fixture.core, log: .none)
        lookUps.find(1, Wanted(call: call.id))
        var bob = DirectoryEntry(name: Self.bob)
        bob.devices = [device]
        let stored = StoredCall(call: call, legs: [leg], pushes: [push])
        let expected = Found(call: stored, entries: [DirectoryEntry(name: call.caller.user), bob])
        #expect(try await fixture.next() == .store(.found(number: 1, expected)))
        lookUps.find(2, Wanted(call: CallID(high: 9, low: 9)))
        #expect(try await fixture.next() == .store(.found(number: 2, Found())))
    }

    @Test("a name leads to all that it stands for: the user behind an alias, the members of a group, a token's holder")
    func names() async throws {
        let (carol, desk) = (try #require(Handle("carol")), try #require(Handle("desk")))
        let device = Self.device(carol, 1, [Self.token])
        let other = Self.device(Self.bob, 2, [Self.token("99")])
        let group = CallGroup(name: "desk", strategy: .all, members: [Self.bob, Self.number])
        let fixture = try await Fixture([
            .device(device), .device(other), .alias(Alias(handle: Self.number, user: carol)), .group(group),
        ])
        let queries = fixture.queries
        let lookUps = LookUps(search: { try await queries.found($0) }, core: fixture.core, log: .none)
        lookUps.find(1, Wanted(groups: [desk]))
        guard case .store(.found(1, let found)) = try await fixture.next() else {
            Issue.record("an answer was due")
            return
        }
        #expect(found.entries.map(\.name) == [desk, Self.bob, Self.number, carol])
        #expect(found.entries[0].group == group && found.entries[2].aliasOf == carol)
        #expect(found.entries[1].memberships == [desk] && found.entries[2].memberships == [desk])
        #expect(found.entries[3].aliases == [Self.number] && found.entries[3].devices == [device])
        // The same ending, of which there is an index.
        lookUps.find(2, Wanted(tokens: [Self.token.address, Self.token("77").address]))
        guard case .store(.found(2, let holders)) = try await fixture.next() else {
            Issue.record("an answer was due")
            return
        }
        #expect(holders.entries.map(\.name) == [carol])
    }

    @Test("questions that come while the store is read are read together, and each is answered")
    func together() async throws {
        let fixture = try await Fixture([])
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (entries, entered) = AsyncStream.makeStream(of: Void.self)
        let sizes = Mutex<[Int]>([])
        let lookUps = LookUps(
            search: { wanted in
                sizes.withLock { $0.append(wanted.count) }
                if wanted.first?.names == [Self.bob] {
                    entered.yield()
                    for await _ in gate { break }
                }
                return wanted.map { Found(entries: $0.names.map { DirectoryEntry(name: $0) }) }
            }, core: fixture.core, log: .none)
        lookUps.find(1, Wanted(names: [Self.bob]))
        for await _ in entries { break }
        for number in UInt64(2)...101 { lookUps.find(number, Wanted(names: [Self.number])) }
        open.yield()
        for number in UInt64(1)...101 {
            let name = number == 1 ? Self.bob : Self.number
            let answer = Found(entries: [DirectoryEntry(name: name)])
            #expect(try await fixture.next() == .store(.found(number: number, answer)))
        }
        #expect(sizes.withLock { $0 } == [1, 64, 36])
    }

    @Test("an unreadable row fails its own question only, and the next question reads the store again")
    func unreadable() async throws {
        let fixture = try await Fixture([])
        let damaged = CallID(high: 1, low: 2)
        let lookUps = LookUps(
            search: { wanted in
                if wanted.contains(where: { $0.call == damaged }) { throw Fixture.Unreadable() }
                return wanted.map { _ in Found() }
            }, core: fixture.core, log: .none)
        lookUps.find(1, Wanted(call: damaged))
        #expect(try await fixture.next() == .store(.lookUpFailed(number: 1)))
        for number in UInt64(2)...9 { lookUps.find(number, Wanted(call: CallID(high: 1, low: number - 1))) }
        for number in UInt64(2)...9 {
            let answer: StoreAnswer = number == 3 ? .lookUpFailed(number: 3) : .found(number: number, Found())
            #expect(try await fixture.next() == .store(answer))
        }
    }

    @Test("users with a device that was not seen for long are told, from all slices, and no others")
    func unseen() async throws {
        var records: [StoreRecord] = []
        for number in 0..<9000 {
            var device = Self.device(try #require(Handle("u\(number)")), UInt64(number), [])
            device.seenAt = Instant(milliseconds: number.isMultiple(of: 3000) ? 1000 : 1001)
            records.append(.device(device))
        }
        let fixture = try await Fixture(records)
        let queries = fixture.queries
        let unseen = UnseenDevices(
            age: .seconds(1), core: fixture.core, now: { Instant(milliseconds: 2000) }, log: .none
        ) { try await queries.unseenUsers(since: $0, after: $1, limit: $2) }
        await unseen.pass(since: Instant(milliseconds: 1000))
        var told: [Handle] = []
        while told.count < 3, case .store(.unseen(let users)) = try await fixture.next() { told += users }
        #expect(told.map(\.text).sorted() == ["u0", "u3000", "u6000"])
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
