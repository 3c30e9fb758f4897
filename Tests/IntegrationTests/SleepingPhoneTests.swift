import CallCore
import CallServer
import CallStore
import CallVocabulary
import PhoneSimulator
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A sleeping phone", .world)
struct SleepingPhoneTests {
    @Test(
        "that never reports and never connects lets the call end with ring_timeout and its push unreported",
        .timeLimit(.minutes(5)))
    func neverWakes() async throws {
        let (simulator, server) = try await world.startPushing {
            $0.timers.ring = .seconds(1)
            $0.timers.report = .milliseconds(200)
        }
        let token = try await world.voipToken(on: simulator)
        let bob = try await world.awayPhone("bob", at: server.address, push: [token])
        let alice = try await world.onlinePhone("alice", at: server.address)

        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.waking, of: call)
        let ended = try await alice.ended(call)
        #expect(ended.reason == .ringTimeout)
        #expect(ended.ringing == 0)
        #expect(!alice.events.entries.contains { $0.call(call, in: .ringing) != nil })

        let push = try await world.push("is unreported") { $0.report == .unreported }
        #expect(push.status == .accepted)
        #expect(try world.reader().devices(user: "bob").map(\.unreportedStreak) == [1])

        // When the device connects later, it gets its missed calls and the end of the call it was pushed for.
        let opened = try await bob.softphone.connect()
        #expect(opened.missed.map(\.call) == [call])
        #expect(opened.missed.map(\.reason) == [.ringTimeout])
        #expect(opened.calls.map(\.state) == [.ended])
        #expect(opened.calls.map(\.reason) == [.ringTimeout])
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test("whose app does not report the push is killed by the system, and the push ends as unreported")
    func doesNotReport() async throws {
        let (simulator, server) = try await world.startPushing { $0.timers.report = .milliseconds(200) }
        let bob = try await world.sleepingPhone("bob", at: server.address) {
            $0.reportsPushes = false
            $0.softphone.session.automaticRinging = false
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.woken().call == call)
        let push = try await world.push("is unreported") { $0.report == .unreported }
        #expect(push.call == call)
        #expect(push.status == .accepted)
        #expect(try await alice.hangUp(call) == .cancelled)
        #expect(await simulator.snapshot()?.counts.reported == 0)
    }

    @Test("that gets a push after the end of the call learns so at once, and reports the push")
    func lateDelivery() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.deliverLate(.milliseconds(700)), count: 1))
        let call = try await alice.softphone.call(.user("bob"))
        try await world.push("is accepted") { $0.status == .accepted }
        #expect(try await alice.hangUp(call) == .cancelled)

        #expect(try await bob.woken().call == call)
        let reason = try await bob.events.first("the end") { event -> EndReason? in
            switch event {
            case .app(.latePush(let push, let reason)) where push.call == call: reason
            case .app(.ended(let ended)) where ended.id == call: ended.reason
            default: nil
            }
        }
        #expect(reason == .cancelled)
        try await world.push("is reported") { $0.report == .reported }
        #expect(await simulator.snapshot()?.counts.contractViolations == 0)
    }

    @Test("gets no push for a call that was cancelled while the push waited for a connection")
    func cancelledBeforeThePush() async throws {
        let (simulator, server) = try await world.startPushing()
        _ = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.stop()
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.hangUp(call) == .cancelled)
        let push = try #require(try world.reader().pushes().first)
        #expect(push.status == .cancelled)
        #expect(push.report == nil)
    }

    @Test("opens a session with the push's wake token, for that call only")
    func wakeToken() async throws {
        let (_, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let push = try await bob.woken()
        let wakeToken = try #require(push.wakeToken)
        bob.softphone.abandon()

        let woken = try await world.phone("bob", at: server.address) {
            $0.token = .fixed(wakeToken)
            $0.session.device = bob.softphone.configuration.session.device
        }
        let opened = try await woken.softphone.connect()
        #expect(opened.user == "bob")
        #expect(opened.calls.map(\.call) == [call])
        await #expect(throws: SoftphoneError.self) { try await woken.softphone.call(.user("alice")) }
        try await woken.softphone.answer(call)
        #expect(
            try await alice.state(.answered, of: call).by?.device == woken.softphone.configuration.session.device.id
        )
        #expect(try await alice.hangUp(call, seenBy: woken) == .hangup)
    }
}
