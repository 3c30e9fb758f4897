import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import Foundation
import PhoneSimulator
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A restart", .world, .serialized)
struct RestartTests {
    @Test("after kill -9 finds the call still ringing, with its remaining time, and sends no second push")
    func killedWhileRinging() async throws {
        let simulator = try await world.startSimulator()
        let (first, address) = try await world.serve("--push-sim")
        let bob = try await world.sleepingPhone("bob", at: address)
        let alice = try await world.onlinePhone("alice", at: address)
        let call = try await alice.softphone.call(.user("bob"), ringTime: .seconds(40))
        #expect(try await bob.woken().call == call)
        _ = try await alice.state(.ringing, of: call)
        let before = try await world.push("is accepted and reported") {
            $0.status == .accepted && $0.report == .reported
        }
        let ringing = try #require(try world.reader().calls().first)

        let (aliceSaw, bobSaw) = (alice.events.count, bob.events.count)
        #expect(try await first.end(by: SIGKILL) == .signal(SIGKILL))
        #expect(try world.reader().calls() == [ringing])
        #expect(try world.reader().pushes() == [before])

        let (_, again) = try await world.serve(port: try World.port(of: address), "--push-sim")
        #expect(again == address)
        let back = [
            try await alice.events.first("alice is back", from: aliceSaw) { $0.opened },
            try await bob.events.first("bob is back", from: bobSaw) { $0.app?.opened },
        ]
        for opened in back {
            #expect(!opened.resumed)
            let view = try #require(opened.calls.first)
            #expect(opened.calls.count == 1)
            #expect(view.call == call)
            #expect(view.state == .ringing)
            // The remaining time is less than the whole ring time.
            let left = try #require(view.expiresAt) - Instant.now
            #expect(left < .seconds(40))
            #expect(left > .seconds(20))
        }
        #expect(try world.reader().calls().map(\.ringsUntil) == [ringing.ringsUntil])

        try await bob.softphone.answer(call)
        try await alice.talks(with: bob, in: call)
        #expect(try await alice.hangUp(call) == .hangup)
        #expect(try await bob.state(.ended, of: call).reason == .hangup)

        #expect(try world.reader().pushes() == [before])
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.received == 1)
        #expect(counts.delivered == 1)
        #expect(counts.contractViolations == 0)
    }

    @Test("after kill -9 between a push and its response makes the push unknown, and never repeats it")
    func killedBeforeTheAnswer() async throws {
        let simulator = try await world.startSimulator()
        let (first, address) = try await world.serve("--push-sim")
        let bob = try await world.sleepingPhone("bob", at: address)
        let alice = try await world.onlinePhone("alice", at: address)
        await simulator.inject(PushFault(.neverAnswer))
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await eventually("the simulator has the push and keeps silent") {
            await simulator.snapshot()?.counts.unanswered == 1 ? true : nil
        }
        #expect(try world.reader().pushes().map(\.status) == [.sent])
        try await first.end(by: SIGKILL)
        #expect(try world.reader().pushes().map(\.status) == [.sent])

        let mark = alice.events.count
        _ = try await world.serve(port: try World.port(of: address), "--push-sim")
        let push = try await world.push("is unknown") { $0.status == .unknown }
        #expect(push.report == .awaited)
        #expect(push.reason == "the server stopped before the answer")
        let opened = try await alice.events.first("alice is back", from: mark) { $0.opened }
        #expect(opened.calls.map(\.state) == [.waking])

        // The device connects by itself and reports the push: so it was delivered.
        try await bob.softphone.connect()
        _ = try await alice.state(.ringing, of: call)
        try await bob.softphone.report(PushReport(push: push.id, call: call, result: .reported))
        let proven = try #require(try world.reader().pushes().first)
        #expect(proven.status == .accepted)
        #expect(proven.report == .reported)
        try await bob.softphone.decline(call)
        #expect(try await alice.ended(call).reason == .declined)
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test("keeps the ring deadline: the call ends when it would have ended without the restart")
    func keepsTheDeadline() async throws {
        let simulator = try await world.startSimulator()
        let (first, address) = try await world.serve("--push-sim")
        let token = try await world.voipToken(on: simulator)
        _ = try await world.awayPhone("bob", at: address, push: [token])
        let alice = try await world.onlinePhone("alice", at: address)
        let call = try await alice.softphone.call(.user("bob"), ringTime: .seconds(10))
        let ringing = try #require(try world.reader().calls().first)
        try await first.end(by: SIGKILL)
        _ = try await eventually("half of the ring time is over") {
            Instant.now > ringing.createdAt + .seconds(5) ? true : nil
        }
        _ = try await world.serve(port: try World.port(of: address), "--push-sim")
        #expect(try await alice.ended(call).reason == .ringTimeout)
        let ended = try #require(try world.reader().calls().first)
        #expect(ended.ringsUntil == ringing.ringsUntil)
        let late = try #require(ended.endedAt) - ringing.ringsUntil
        #expect(late >= .zero)
        // With a ring time that begins anew it ends 5 s late, or later.
        #expect(late < .milliseconds(4500))
    }

    @Test("ends a call whose deadline has passed meanwhile, with its own reason")
    func deadlineWhileDown() async throws {
        let clocks = MovedClocks()
        let simulator = try await world.startSimulator()
        let server = try await world.startServer(clocks: clocks.sources)
        let token = try await world.voipToken(on: simulator)
        _ = try await world.awayPhone("bob", at: server.address, push: [token])
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        await server.stop()
        let left = try #require(try world.reader().calls(CallFilter(isLive: true)).first)
        #expect(left.id == call)
        // The clocks go on by more than the ring time.
        clocks.suspend(for: .seconds(60))
        _ = try await world.startServer(clocks: clocks.sources)
        let ended = try await eventually("the call is ended") {
            try world.reader().calls(CallFilter(isLive: false)).first
        }
        #expect(ended.endReason == .ringTimeout)
    }

    @Test("by SIGTERM: exit code 0, clients are told to reconnect, and live calls stay for the next start")
    func terminated() async throws {
        let (first, address) = try await world.serve()
        let (alice, bob, call) = try await world.liveCall(at: address)
        #expect(try await first.end(by: SIGTERM) == .exit(0))
        let files = try FileManager.default.contentsOfDirectory(atPath: world.folder)
        #expect(files.filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") } == [], "each database is one file")
        for phone in [alice, bob] {
            let code = try await phone.events.first("the close") { event -> UInt16? in
                if case .connection(.down(let code?, _, _)) = event { code } else { nil }
            }
            #expect(code == 3000)
        }
        #expect(try world.reader().calls().map(\.state) == [.connected])

        let marks = [alice.events.count, bob.events.count]
        let (second, _) = try await world.serve(port: try World.port(of: address))
        for (phone, mark) in zip([alice, bob], marks) {
            let opened = try await phone.events.first("it is back", from: mark) { $0.opened }
            #expect(opened.calls.map(\.state) == [.connected])
        }
        #expect(try await bob.hangUp(call, seenBy: alice) == .hangup)
        #expect(try await second.end(by: SIGTERM) == .exit(0))
        #expect(try world.reader().calls().map(\.endReason) == [.hangup])
    }
}
