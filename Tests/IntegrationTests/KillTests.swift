import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import Foundation
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// `kill -9` in the states that ``RestartTests`` does not cover.
@Suite("kill -9", .world, .serialized)
struct KillTests {
    @Test("while a push waits for the push service: the next start sends it, once", arguments: WorldStore.allCases)
    func pushWaiting(_ store: WorldStore) async throws {
        try await world.use(store)
        let simulator = try await world.startSimulator()
        let manifest = try PushSimulatorManifest.load(folder: world.simulatorFolder)
        let (first, address) = try await world.serve("--push-sim")
        let (alice, _, _) = try await pair(simulator, at: address)
        await simulator.stop()
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.waking, of: call)
        let waiting = try #require(try world.reader().pushes().first)
        #expect(waiting.status == .intended)
        #expect(try await first.end(by: SIGKILL) == .signal(SIGKILL))

        let again = try await world.startSimulator {
            $0.productionPort = manifest.endpoint("production")?.port ?? 0
            $0.acceptsUnknownTokens = true
        }
        let mark = alice.events.count
        _ = try await world.serve(port: try World.port(of: address), "--push-sim")
        let sent = try await world.push("is accepted") { $0.status == .accepted }
        #expect(sent.id == waiting.id)
        #expect(sent.expiresAt == waiting.expiresAt)
        let back = try await alice.events.first("alice is back", from: mark) { $0.opened }
        #expect(back.calls.map(\.state) == [.waking])
        #expect(try await alice.hangUp(call) == .cancelled)
        #expect(await again.snapshot()?.counts.received == 1)
    }

    @Test(
        "while the push is in flight: the phone connects to the next server, is offered the call and answers",
        arguments: WorldStore.allCases)
    func waking(_ store: WorldStore) async throws {
        try await world.use(store)
        let simulator = try await world.startSimulator()
        let (first, address) = try await world.serve("--push-sim")
        let (alice, bob, handset) = try await pair(simulator, at: address)
        await simulator.inject(PushFault(.deliverLate(.seconds(3)), count: 1))
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        let accepted = try await world.push("is accepted") { $0.status == .accepted }
        #expect(try await first.end(by: SIGKILL) == .signal(SIGKILL))
        #expect(handset.pushes.count == 0)
        _ = try await world.serve(port: try World.port(of: address), "--push-sim")

        let push = try await handset.push(of: call)
        #expect(push.push == accepted.id)
        bob.softphone.received(push)
        #expect(try await bob.offer(of: call) == .text("offer"))
        _ = try await alice.state(.ringing, of: call)
        try await bob.softphone.report(PushReport(push: push.push, call: call, result: .reported))
        try await bob.softphone.answer(call, sdp: .text("answer"))
        #expect(try await alice.state(.answered, of: call).sdp == .text("answer"))
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
        #expect(try world.reader().pushes().map(\.report) == [.reported])
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test(
        "after the answer, and again during media: both sides reconnect, and the call continues each time",
        arguments: WorldStore.allCases)
    func answeredAndConnected(_ store: WorldStore) async throws {
        try await world.use(store)
        let (first, address) = try await world.serve()
        let alice = try await world.onlinePhone("alice", at: address)
        let bob = try await world.onlinePhone("bob", at: address)
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        try await bob.rings(call)
        try await bob.softphone.answer(call, sdp: .text("answer"))
        _ = try await alice.state(.answered, of: call)
        try await bob.softphone.connected(call)
        let answered = try #require(try world.reader().calls().first)

        var marks = (alice.events.count, bob.events.count)
        try await first.end(by: SIGKILL)
        let (second, _) = try await world.serve(port: try World.port(of: address))
        for (phone, mark) in [(alice, marks.0), (bob, marks.1)] {
            let opened = try await phone.events.first("the phone is back", from: mark) { $0.opened }
            #expect(!opened.resumed)
            #expect(opened.calls.map(\.state) == [.answered])
            // The deadline for media is unchanged.
            let left = try #require(opened.calls.first?.expiresAt) - Instant.now
            #expect(left < .seconds(20))
        }
        #expect(try world.reader().calls().map(\.connectsUntil) == [answered.connectsUntil])
        // The callee's earlier `connected` still counts.
        try await alice.softphone.connected(call)
        for phone in [alice, bob] { _ = try await phone.state(.connected, of: call) }
        let connected = try #require(try world.reader().calls().first)
        #expect(connected.state == .connected)

        marks = (alice.events.count, bob.events.count)
        try await second.end(by: SIGKILL)
        _ = try await world.serve(port: try World.port(of: address))
        for (phone, mark) in [(alice, marks.0), (bob, marks.1)] {
            let opened = try await phone.events.first("the phone is back", from: mark) { $0.opened }
            #expect(opened.calls.map(\.state) == [.connected])
        }
        #expect(try world.reader().calls() == [connected])
        try await bob.softphone.update(CallUpdate(call: call, kind: .hold))
        try await alice.events.first("the hold") { $0 == .update(CallUpdate(call: call, kind: .hold)) ? true : nil }
        #expect(try await bob.hangUp(call, seenBy: alice) == .hangup)
    }

    /// An online caller, and an offline callee with a registered token.
    private func pair(
        _ simulator: PushSimulator, at address: String
    ) async throws -> (Phone, Phone, Handset) {
        let handset = try await world.handset(on: simulator)
        let bob = try await world.awayPhone("bob", at: address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: address)
        return (alice, bob, handset)
    }
}
