import AdminKit
import AdminProtocol
import CallCore
import CallMonitor
import CallStore
import CallVocabulary
import Dispatch
import EventLoop
import Foundation
import HTTP2
import PushCore
import PushTestServer
import PushVocabulary
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@testable import CallServer
@testable import PushClient

@Suite("The core's loop with a real store", .cleanup, .timeLimit(.minutes(5)))
struct CoreLoopTests {
    // The literals are handles.
    private static let (alice, bob) = (Handle("alice")!, Handle("bob")!)
    private static let token = PushToken(
        provider: .apns, kind: .voip, environment: .sandbox, topic: "org.example.phone.voip", token: "0011")
    private static let call = CallID(high: 5, low: 5)

    /// A server that pushes to a provider that never answers. Alice is on connection 1; Bob's phone is known and offline.
    private static func pushing() async throws -> (ServerHarness, PushTestServer) {
        let server = try await PushTestServer { _, _ in .silence }
        atEnd { await server.stop() }
        let endpoint = try await APNSEndpoint.test(port: server.port)
        let harness = try await ServerHarness {
            $0.push.apns = [endpoint]
            $0.push.stopGrace = .milliseconds(1)
        }
        try harness.parts.push.start()
        openAway(harness)
        await harness.settle()
        return (harness, server)
    }

    /// Alice is on connection 1; Bob's phone is known and offline.
    private static func openAway(_ harness: ServerHarness) {
        harness.open(bob, on: 2, push: [token])
        harness.request(.close, on: 2)
        harness.open(alice, on: 1)
    }

    private static func invite(_ harness: ServerHarness) {
        harness.request(.invite(Invite(call: call, to: .user(bob))), on: 1)
    }

    /// Alice and Bob are online. While the store is held, Alice calls Bob in the last batch that the core may decide.
    /// The call's ring time is zero, so its deadline passes in the next turn of the core's loop, and waits.
    /// - Returns: the semaphore releases the store.
    private static func callBehindTheStore() async throws -> (ServerHarness, DispatchSemaphore) {
        let harness = try await ServerHarness { $0.timers.ring = .zero }
        harness.open(alice, on: 1)
        harness.open(bob, on: 2)
        await harness.settle()
        let gate = await holdStore(harness, behind: CoreLoop.pendingCommits - 1)
        harness.request(.invite(Invite(call: call, to: .user(bob))), on: 1)
        // The loop's timers fire between the two.
        for _ in 0..<2 { await harness.parts.core.drain() }
        let snapshot = await harness.parts.core.snapshot()
        #expect(snapshot?.commitsPending == CoreLoop.pendingCommits)
        #expect(snapshot?.liveCalls == 1)
        #expect(try harness.reader.call(call) == nil)
        return (harness, gate)
    }

    /// Makes this many batches wait for the store.
    /// - Returns: a semaphore that releases the store.
    private static func holdStore(_ harness: ServerHarness, behind batches: Int) async -> DispatchSemaphore {
        let gate = await harness.holdStore()
        // The first batch has a row, so all others wait behind it.
        harness.open(alice, on: 3)
        await harness.parts.core.drain()
        for _ in 1..<batches {
            harness.request(.state(.foreground), on: 1)
            await harness.parts.core.drain()
        }
        return gate
    }

    @Test("push outcomes during a stop are stored, and no other input is accepted")
    func outcomeAtTheStop() async throws {
        let harness = try await ServerHarness()
        Self.openAway(harness)
        Self.invite(harness)
        await harness.settle()
        let push = try #require(try harness.reader.call(Self.call)?.pushes.first)
        #expect(harness.parts.core.inbox.post(.push(.ready(push.id))))
        await harness.settle()
        #expect(try harness.reader.push(push.id)?.status == .sent)

        await harness.parts.core.rest()
        #expect(harness.parts.core.inbox.post(.push(.ended(push.id, .accepted))))
        harness.request(.hangup(Self.call, .hangup), 9, on: 1)
        await harness.stop()
        let stored = try #require(try harness.reader.push(push.id))
        #expect(stored.status == .accepted && stored.answeredAt != nil && stored.report == .awaited)
        #expect(try harness.reader.call(Self.call)?.call.state.isLive == true, "the call waits for the next start")
    }

    @Test("while the disk is full requests are refused with that reason, and the same invite succeeds once it is not")
    func fullDisk() async throws {
        let harness = try await ServerHarness()
        harness.open(Self.alice, on: 1)
        harness.open(Self.bob, on: 2)
        await harness.settle()
        let mark = harness.folder.path + "/reveille.mark"
        try Self.refer(openFile: mark, to: "/dev/full")
        harness.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), 7, on: 1)
        func error(_ number: Int64) async -> SignalError? {
            await harness.messages(to: 1).lazy.compactMap {
                if case .error(.number(number), let error) = $0 { error } else { nil }
            }.first
        }
        while await error(7) == nil { await Task.yield() }
        harness.request(.get(Self.call), 8, on: 1)
        while await error(8) == nil { await Task.yield() }
        for number: Int64 in [7, 8] {
            let error = try #require(await error(number))
            #expect(error.code == .overloaded(retryAfter: .seconds(5)))
            #expect(error.message.hasPrefix("The server's disk is full; try again shortly."), "\(error.message)")
        }
        try Self.refer(openFile: mark, to: mark)
        func isInvited() async -> Bool {
            harness.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), 9, on: 1)
            await harness.settle()
            return await harness.messages(to: 1).contains { if case .reply(_, .invited) = $0 { true } else { false } }
        }
        while await !isInvited() { await Task.yield() }
        #expect(StoreStall.refusal(after: nil).message.contains("store does not answer"))
        let unwritable = StoreFailure(.inputOutput, path: "", detail: "")
        #expect(StoreStall.refusal(after: unwritable).message.contains("store cannot be written"))
    }

    /// Lets the descriptors of a file that this process has open refer to another file.
    private static func refer(openFile path: String, to target: String) throws {
        let folder = "/proc/self/fd"
        let other = open(target, O_RDWR | O_CLOEXEC)
        try #require(other >= 0)
        defer { close(other) }
        if descriptors.withLock({ $0[path] == nil }) {
            let found = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
                return target == path ? Int32(name) : nil
            }
            try #require(!found.isEmpty)
            descriptors.withLock { $0[path] = found }
        }
        for descriptor in descriptors.withLock({ $0[path] ?? [] }) {
            try #require(dup2(other, descriptor) == descriptor)
        }
    }

    private static let descriptors = Mutex<[String: [Int32]]>([:])

    @Test("during a stalled commit requests, even reads, are refused after some seconds, and events wait")
    func stalledStore() async throws {
        let harness = try await ServerHarness()
        harness.open(Self.alice, on: 1)
        harness.open(Self.bob, on: 2)
        await harness.settle()
        let gate = await harness.holdStore()
        harness.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), 7, on: 1)
        harness.request(.get(Self.call), 8, on: 1)
        func refused(_ number: Int64) async -> Bool {
            await harness.messages(to: 1).contains {
                guard case .error(.number(number), let error) = $0, case .overloaded = error.code else { return false }
                return true
            }
        }
        while await !refused(7) { await Task.yield() }
        #expect(await refused(8), "a read may show what is not durable")
        // Further requests are refused at once.
        harness.request(.get(Self.call), 9, on: 1)
        while await !refused(9) { await Task.yield() }
        let client = try harness.client()
        guard case .failure(.notTaken(let error)) = await client.outcome(GetGroup(Self.bob)) else {
            Issue.record("an administrator is not told to ask again")
            return
        }
        #expect(error.name == "overloaded")
        await client.close()
        #expect(await !harness.messages(to: 2).contains { if case .event = $0 { true } else { false } })
        #expect(try harness.reader.call(Self.call) == nil)
        let since = try #require(harness.parts.store.recordLog.waitingSince)
        #expect(since.duration(to: .now) >= StoreStall.patience)
        let facts = ServerFacts(
            of: harness.parts, core: await harness.parts.core.snapshot(), start: harness.parts.clock.now())
        #expect(facts.problems.contains { $0.code == .storeHangs && $0.words.contains("the disk does not answer") })

        gate.signal()
        while try harness.reader.call(Self.call) == nil { await Task.yield() }
        await harness.settle()
        let answers = await harness.messages(to: 1).filter { message in
            switch message {
            case .reply(.number(let number), _), .error(.number(let number), _): (7...9).contains(number)
            case .welcome, .reply, .error, .event: false
            }
        }
        #expect(answers.count == 3, "each request is answered once")
        #expect(await harness.messages(to: 2).contains { if case .event(_, .incoming) = $0 { true } else { false } })
        // The next check ends the stall: the same invite finds its call.
        harness.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), 10, on: 1)
        func isInvited() async -> Bool {
            await harness.messages(to: 1).contains { if case .reply(_, .invited) = $0 { true } else { false } }
        }
        while await !isInvited() {
            harness.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), 11, on: 1)
            await harness.settle()
        }
    }

    @Test("a push is prepared in parallel with the commit of its call, and sent only once it is on disk as sent")
    func pushBesideTheCommit() async throws {
        let (harness, server) = try await Self.pushing()
        let gate = await harness.holdStore()
        Self.invite(harness)
        // The invite's batch waits for the store, and behind it the batch that permits the push.
        while await harness.parts.core.snapshot()?.commitsPending != 2 { await Task.yield() }
        #expect(harness.parts.push.statistics.pools.first?.counters.sent == 0)
        #expect(try harness.reader.call(Self.call) == nil)
        gate.signal()
        var requests = server.requests.makeAsyncIterator()
        let request = try #require(await requests.next()).request
        let pushes = try #require(try harness.reader.call(Self.call)?.pushes)
        #expect(pushes.map(\.id.description) == [request.first("apns-id")])
        #expect(pushes.map(\.status) == [.sent])
    }

    @Test("a push of a call cancelled during a stalled commit is never sent")
    func pushBehindTheStore() async throws {
        let (harness, _) = try await Self.pushing()
        let gate = await Self.holdStore(harness, behind: CoreLoop.commitsAhead)
        Self.invite(harness)
        await harness.parts.core.drain()
        // A few turns, so that the push client would have queued the push.
        for _ in 0..<10 { await harness.parts.push.loop?.run {} }
        #expect(harness.parts.push.statistics.pools.first?.counters.queued == 0)
        harness.request(.hangup(Self.call, .hangup), 2, on: 1)
        await harness.parts.core.drain()
        gate.signal()
        await harness.settle()
        let pushes = try #require(try harness.reader.call(Self.call)?.pushes)
        #expect(pushes.map(\.status) == [.cancelled])
        #expect(harness.parts.push.statistics.pools.first?.counters.sent == 0)
    }

    @Test("a push of a call cancelled before the disk has it as sent is never sent")
    func lastLookBehindTheStore() async throws {
        let (harness, _) = try await Self.pushing()
        let gate = await harness.holdStore()
        Self.invite(harness)
        // The invite's batch waits for the store, and behind it the batch that records the push as sent.
        while await harness.parts.core.snapshot()?.commitsPending != 2 { await Task.yield() }
        harness.request(.hangup(Self.call, .hangup), 2, on: 1)
        await harness.parts.core.drain()
        gate.signal()
        await harness.settle()
        // A few turns, so that a released push would be sent.
        for _ in 0..<10 {
            await harness.parts.core.drain()
            await harness.parts.push.loop?.run {}
        }
        await harness.settle()
        let pushes = try #require(try harness.reader.call(Self.call)?.pushes)
        #expect(pushes.map(\.status) == [.cancelled])
        #expect(pushes.map(\.sentAt) == [nil])
        #expect(harness.parts.push.statistics.pools.first?.counters.sent == 0)
    }

    @Test("a push in flight when the server stops ends as unknown in the store")
    func pushOnTheWireAtTheStop() async throws {
        let (harness, server) = try await Self.pushing()
        Self.invite(harness)
        var requests = server.requests.makeAsyncIterator()
        let request = try #require(await requests.next()).request
        await harness.stop()
        let pushes = try #require(try harness.reader.call(Self.call)?.pushes)
        #expect(pushes.map(\.id.description) == [request.first("apns-id")])
        #expect(pushes.map(\.status) == [.unknown])
    }

    @Test("a deadline that passes while the store lags waits for the inbox")
    func deadlineBehindTheStore() async throws {
        let (harness, gate) = try await Self.callBehindTheStore()
        harness.request(.answer(Self.call, sdp: nil), 7, on: 2)
        gate.signal()
        await harness.settle()
        let stored = try #require(try harness.reader.call(Self.call)).call
        #expect(stored.state == .answered && stored.answeredBy?.user == Self.bob && stored.endReason == nil)
        let replies = await harness.messages(to: 2).filter {
            if case .reply(.number(7), _) = $0 { true } else { false }
        }
        #expect(replies.count == 1)
    }

    @Test("a deadline that the store delayed takes effect after the inbox is processed")
    func deadlineAfterTheStore() async throws {
        let (harness, gate) = try await Self.callBehindTheStore()
        gate.signal()
        await harness.settle()
        #expect(try harness.reader.call(Self.call)?.call.endReason == .ringTimeout)
    }

    @Test("no deadline takes effect during a stop, even if the store lags")
    func deadlineAtTheStop() async throws {
        let (harness, gate) = try await Self.callBehindTheStore()
        await harness.parts.core.rest()
        gate.signal()
        await harness.settle()
        #expect(try harness.reader.call(Self.call)?.call.state.isLive == true)
        await harness.stop()
        #expect(try harness.reader.call(Self.call)?.call.state.isLive == true)
    }
}
