import AdminKit
import AdminProtocol
import CallCore
import CallVocabulary
import Dispatch
import EventJournal
import EventLoop
import TestCleanup
import Testing

@testable import AdminServer
@testable import CallServer

/// The notifications of a watching administrator.
private final class Watch: Sendable {
    let frames = Journal<CallsChanged>()

    /// The calls that result from the notifications.
    static func picture(_ frames: [CallsChanged]) -> [CallID: CallView] {
        var calls: [CallID: CallView] = [:]
        for frame in frames {
            if frame.isReset { calls = [:] }
            for call in frame.calls { calls[call.callID] = call }
            for id in frame.gone { calls[id] = nil }
        }
        return calls
    }

    func begin(_ client: AdminClient, user: Handle? = nil) async throws -> Int {
        try await client.subscribe(SubscribeToCalls(user: user, intervalMilliseconds: 100)) { [frames] event in
            if case .notification(let frame) = event { frames.append(frame) }
        }
    }

    func wait(_ what: String, _ condition: @escaping @Sendable ([CallID: CallView]) -> Bool) async throws {
        try await frames.wait(for: what) { frames in
            frames.last?.isComplete == true && condition(Self.picture(frames))
        }
    }
}

@Suite("The live picture of a server", .cleanup, .timeLimit(.minutes(5)))
struct LivePictureTests {
    // The literals are handles.
    private static let (alice, bob) = (Handle("alice")!, Handle("bob")!)
    private static let call = CallID(high: 5, low: 5)

    /// Repeats the request until the list meets the condition.
    private static func live(_ client: AdminClient, _ condition: ([CallView]) -> Bool) async throws -> [CallView] {
        for _ in 0..<10_000 {
            let calls = try await client.perform(ListCalls(live: true)).items
            if condition(calls) { return calls }
        }
        Issue.record("the list never is as it should be")
        return []
    }

    @Test("a call appears as it rings, is answered and ends, with its sessions")
    func oneCall() async throws {
        let harness = try await ServerHarness()
        let client = try harness.client()
        let (all, bobs, others) = (Watch(), Watch(), Watch())
        #expect(try await all.begin(client) == 1)
        #expect(try await bobs.begin(client, user: Self.bob) == 2)
        _ = try await others.begin(client, user: Handle("carol"))
        harness.open(Self.alice, on: 1)
        harness.open(Self.bob, on: 2)
        await harness.settle()
        harness.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), on: 1)
        harness.request(.ringing(Self.call), 2, on: 2)
        try await bobs.wait("the call rings") { $0[Self.call]?.state == .ringing }
        let views = try await client.perform(ListCalls(live: true, user: Self.alice, state: .ringing)).items
        #expect(views.map(\.callID) == [Self.call] && views.first?.counts == CallCounts(devices: 1, ringing: 1))
        #expect(try await client.perform(ListCalls(live: true, state: .answered)).items.isEmpty)
        let sessions = try await client.all(ListSessions(limit: 1))
        #expect(sessions.map(\.user) == [Self.alice, Self.bob] && sessions.allSatisfy { $0.state == .online })
        let stats = try await client.perform(GetStats())
        #expect(stats.calls.live == [.ringing: 1] && stats.server.sessions == 2)

        harness.request(.answer(Self.call, sdp: nil), 3, on: 2)
        try await all.wait("the answer") { $0[Self.call]?.answeredBy == Self.bob }
        #expect(try await client.perform(EndCall(Self.call)) == Done())
        // An acknowledged change is visible in the live calls.
        #expect(try await client.perform(ListCalls(live: true)).items.isEmpty)
        for watch in [all, bobs] {
            try await watch.wait("the end") { $0.isEmpty }
            let ends = watch.frames.entries.flatMap(\.calls).filter { $0.state == .ended }
            #expect(ends.map(\.reason) == [.admin])
        }
        #expect(others.frames.entries.flatMap(\.calls).isEmpty)
    }

    @Test("a restarted server shows the recovered calls")
    func restart() async throws {
        let first = try await ServerHarness()
        first.open(Self.alice, on: 1)
        first.open(Self.bob, on: 2)
        await first.settle()
        first.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), on: 1)
        await first.settle()
        await first.stop()
        let second = try await ServerHarness(first.folder)
        let client = try second.client()
        let watch = Watch()
        _ = try await watch.begin(client)
        try await watch.wait("the call is there") { $0[Self.call]?.from == Self.alice }
        #expect(try await client.perform(GetServerInfo()).liveCalls == 1)
    }

    @Test("a feed that loses nearly every batch still shows all current calls and sessions")
    func overflow() async throws {
        // Each batch of more than one record exceeds the capacity.
        let harness = try await ServerHarness { $0.monitorCapacity = 1 }
        let client = try harness.client()
        let watch = Watch()
        _ = try await watch.begin(client)
        harness.open(Self.alice, on: 1)
        harness.open(Self.bob, on: 2)
        await harness.settle()
        harness.request(.invite(Invite(call: Self.call, to: .user(Self.bob))), on: 1)
        harness.request(.ringing(Self.call), 2, on: 2)
        try await watch.wait("the call rings") { $0[Self.call]?.state == .ringing }
        harness.request(.close, 3, on: 2)
        harness.request(.hangup(Self.call, .hangup), 4, on: 1)
        await harness.settle()
        try await watch.wait("the end") { $0.isEmpty }
        #expect(try await Self.live(client) { $0.isEmpty } == [])
        #expect(watch.frames.entries.contains { $0.isReset })
        let stats = try await client.perform(GetStats())
        #expect(stats.limits.first { $0.name == "monitor" }?.hits ?? 0 > 0)
        var sessions: [SessionView] = []
        for _ in 0..<10_000 where sessions.map(\.user) != [Self.alice] {
            sessions = try await client.perform(ListSessions()).items
        }
        #expect(sessions.map(\.user) == [Self.alice])
    }

    @Test("a watcher that does not read delays nothing, and has the complete state in the end")
    func slowReader() async throws {
        let harness = try await ServerHarness()
        let (slow, quick) = (try harness.client(), try harness.client())
        let gate = DispatchSemaphore(value: 0)
        let watch = Watch()
        // The client's thread does not read until the gate opens.
        _ = try await slow.subscribe(SubscribeToCalls(intervalMilliseconds: 100)) { [frames = watch.frames] event in
            guard case .notification(let frame) = event else { return }
            if frames.entries.isEmpty { gate.wait() }
            frames.append(frame)
        }
        let calls = 12_000
        for round in 0..<4 {
            for number in 0..<calls where round == 0 || number.isMultiple(of: 3) == (round == 3) {
                harness.feed([.call(Self.record(number, round))])
            }
            // Meanwhile the other client gets its answers.
            let live = try await quick.perform(GetServerInfo()).liveCalls
            #expect(live <= calls)
        }
        gate.signal()
        let expected = calls - calls / 3
        try await watch.wait("the whole picture") {
            $0.count == expected && $0.values.allSatisfy { $0.state == .ringing }
        }
        #expect(try await quick.perform(GetServerInfo()).liveCalls == expected)
        let told = watch.frames.entries.reduce(0) { $0 + $1.calls.count }
        #expect(told < 3 * calls, "what has changed several times is told once")
    }

    /// A call that is created, woken and rings; every third one ends.
    private static func record(_ number: Int, _ round: Int) -> CallRecord {
        let at = Instant(milliseconds: 1_800_000_000_000)
        var call = CallRecord(
            id: CallID(high: 9, low: UInt64(number)), caller: Party(user: alice, device: DeviceID(high: 1, low: 1)),
            callerName: "Alice", to: .user(bob), video: false, inviteDigest: 0,
            state: [.routing, .waking, .ringing, .ended][round], createdAt: at, ringsUntil: at)
        if round == 3 { call.endReason = .hangup }
        return call
    }

    @Test("statistics arrive at once and then at each interval, until the unsubscription")
    func figures() async throws {
        let harness = try await ServerHarness()
        let client = try harness.client()
        let frames = Journal<StatsChanged>()
        let began = ContinuousClock.now
        let number = try await client.subscribe(SubscribeToStats(intervalMilliseconds: 200)) { event in
            if case .notification(let frame) = event { frames.append(frame) }
        }
        try await frames.wait(for: "three of them") { $0.count >= 3 }
        #expect(ContinuousClock.now - began >= .milliseconds(400))
        #expect(try await client.perform(Unsubscribe(subscription: number)) == Done())
        #expect(try await client.perform(Unsubscribe(subscription: 99)) == Done())
    }

    @Test("intervals out of range and too many subscriptions are refused with a clear message")
    func refusals() async throws {
        let harness = try await ServerHarness()
        let client = try harness.client()
        for milliseconds in [99, 60_001, -1] {
            await #expect(throws: AdminFailure.self) {
                try await client.subscribe(SubscribeToCalls(intervalMilliseconds: milliseconds)) { _ in }
            }
        }
        for _ in 0..<SubscriptionDriver.mostPerConnection {
            try await client.subscribe(SubscribeToCalls()) { _ in }
        }
        let refusal = AdminRefusal(.limitReached, "A connection has at most 16 subscriptions.")
        await #expect(throws: AdminFailure.refused(refusal)) { try await client.subscribe(SubscribeToStats()) { _ in } }
    }
}
