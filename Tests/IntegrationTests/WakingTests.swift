import CallCore
import CallServer
import CallStore
import CallVocabulary
import PhoneSimulator
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Synchronization
import Testing

@Suite("A woken phone", .world)
struct WakingTests {
    @Test("answers by the call's id from the push alone, with the wake token, without ringing")
    func answersFromThePush() async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        let (alice, bob) = try await pair(server, handset, isCutOff: true)
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        _ = try await alice.state(.waking, of: call)
        let push = try await handset.push(of: call)

        // The answer comes before a session and before any event of the call.
        try await bob.softphone.answer(push, sdp: .text("answer"))
        let answered = try await alice.state(.answered, of: call)
        #expect(answered.by?.device == bob.softphone.configuration.session.device.id)
        #expect(answered.sdp == .text("answer"))
        #expect(!alice.events.entries.contains { $0.call(call, in: .ringing) != nil })
        #expect(try await bob.offer(of: call) == .text("offer"))
        try await bob.softphone.report(PushReport(push: push.push, call: call, result: .reported))
        try await bob.softphone.connected(call)
        try await alice.softphone.connected(call)
        _ = try await bob.state(.connected, of: call)
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)

        #expect(bob.timesRung == 1)
        #expect(try world.reader().calls().map(\.ringingAt) == [nil])
        #expect(try world.reader().pushes().map(\.report) == [.reported])
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test("for a call that another device of the user has answered meanwhile learns who, and reports its push")
    func answeredMeanwhile() async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        let (alice, sleeping) = try await pair(server, handset, isCutOff: true)
        let awake = try await world.onlinePhone("bob", at: server.address)
        await simulator.inject(PushFault(.deliverLate(.milliseconds(300)), count: 1))
        let call = try await alice.softphone.call(.user("bob"))
        try await world.push("is accepted") { $0.status == .accepted }
        _ = try await awake.incoming()
        try await awake.softphone.answer(call)
        let winner = awake.softphone.configuration.session.device.id
        #expect(try await alice.state(.answered, of: call).by?.device == winner)

        let push = try await handset.push(of: call)
        await #expect(throws: SoftphoneError.callEnded(.answeredElsewhere)) {
            try await sleeping.softphone.answer(push)
        }
        let ended = try await sleeping.ended(call)
        #expect(ended.reason == .answeredElsewhere)
        #expect(ended.callKitReason == "answeredElsewhere")
        try await sleeping.softphone.report(PushReport(push: push.push, call: call, result: .reported))
        #expect(try world.reader().pushes().map(\.report) == [.reported])
        let legs = try #require(try world.reader().call(call)?.legs)
        #expect(legs.filter { $0.device.device != winner }.map(\.endReason) == [.answeredElsewhere])
        // The answered call is unaffected.
        #expect(try world.reader().calls().map(\.answeredBy?.device) == [winner])
        #expect(try await alice.hangUp(call, seenBy: awake) == .hangup)
    }

    @Test(
        "with a second incoming call is offered both, with a push for each, and answers one and declines the other")
    func secondCallDuringWakeUp() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        let carol = try await world.onlinePhone("carol", at: server.address)
        // The first push takes until the second call is made, on a busy machine too.
        await simulator.inject(PushFault(.deliverLate(.seconds(2)), count: 1))
        let first = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.waking, of: first)
        let second = try await carol.softphone.call(.user("bob"))
        for call in [first, second] { try await bob.rings(call) }
        _ = try await alice.state(.ringing, of: first)
        _ = try await carol.state(.ringing, of: second)
        try await bob.softphone.answer(first)
        try await bob.softphone.decline(second)
        #expect(try await carol.ended(second).reason == .declined)
        _ = try await alice.state(.answered, of: first)
        try await alice.hangUp(first, seenBy: bob)

        let pushes = try await eventually("both pushes are reported") {
            let pushes = try world.reader().pushes()
            return pushes.allSatisfy { $0.report == .reported } ? pushes : nil
        }
        #expect(Set(pushes.map(\.call)) == [first, second])
        #expect(pushes.count == 2)
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.received == 2)
        #expect(counts.contractViolations == 0)
    }

    @Test("around the ring deadline always learns either that it rings or how the call ended")
    func aroundTheDeadline() async throws {
        let (simulator, server) = try await world.startPushing {
            $0.timers.ring = .milliseconds(1500)
            $0.timers.report = .seconds(5)
        }
        // A phone for each push: before, at and after the deadline.
        var calls: [(alice: Phone, bob: IPhone, call: CallID)] = []
        for (number, late) in [1300, 1470, 1490, 1500, 1520].enumerated() {
            let user = "bob\(number)"
            let bob = try await world.sleepingPhone(user, at: server.address)
            let alice = try await world.onlinePhone("alice\(number)", at: server.address)
            await simulator.inject(PushFault(.deliverLate(.milliseconds(late)), deviceToken: bob.token, count: 1))
            calls.append((alice, bob, try await alice.softphone.call(.user(Handle(stringLiteral: user)))))
        }
        for (alice, bob, call) in calls {
            #expect(try await bob.woken().call == call)
            let reason = try await bob.events.first("the end of the call") { event -> EndReason? in
                switch event {
                case .app(.ended(let ended)) where ended.id == call: ended.reason
                case .app(.latePush(let push, let reason)) where push.call == call: reason
                default: nil
                }
            }
            #expect(reason == .ringTimeout)
            #expect(try await alice.ended(call).reason == .ringTimeout)
            let push = try await world.push("is reported", of: call) { $0.report == .reported }
            #expect(push.status == .accepted)
            let stored = try #require(try world.reader().call(call))
            #expect(stored.legs.map(\.endReason) == [.ringTimeout])
        }
        #expect(await simulator.snapshot()?.counts.received == 5)
    }

    @Test("with two sessions has one leg and one push: the newer session gets events, the older is closed")
    func doubleOpen() async throws {
        let (simulator, server) = try await world.startPushing()
        let handset = try await world.handset(on: simulator)
        let (alice, first) = try await pair(server, handset)
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await handset.push(of: call)
        try await first.softphone.connect()
        #expect(try await first.incoming().id == call)
        let second = try await world.phone("bob", at: server.address) {
            $0.session.device = first.softphone.configuration.session.device
        }
        let opened = try await second.softphone.connect()
        #expect(!opened.resumed)
        #expect(opened.calls.map(\.call) == [call])
        #expect(try await second.incoming().id == call)
        try await first.events.first("the older session is replaced") { event -> Bool? in
            if case .connection(.gone(.closed(code: 3503))) = event { true } else { nil }
        }
        try await second.softphone.answer(call)
        _ = try await alice.state(.answered, of: call)
        try await alice.hangUp(call, seenBy: second)

        for phone in [first, second] { #expect(phone.timesRung == 1) }
        #expect(try world.reader().call(call)?.legs.count == 1)
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    /// An online caller, and an offline callee with the token of `handset`.
    /// - Parameter isCutOff: whether the callee's app cannot reach its own account: the push's token is all it has.
    private func pair(
        _ server: CallServer, _ handset: Handset, isCutOff: Bool = false
    ) async throws -> (Phone, Phone) {
        let token = try await world.token("bob")
        let wasAsked = Mutex(false)
        let bob = try await world.phone("bob", at: server.address, push: [handset.token]) {
            $0.session.automaticRinging = false
            $0.token = .provider {
                let isLater = wasAsked.withLock { wasAsked in
                    defer { wasAsked = true }
                    return wasAsked
                }
                if isLater, isCutOff { throw InVain(what: "the app's account") }
                return token
            }
        }
        try await bob.softphone.connect()
        await bob.softphone.disconnect()
        let alice = try await world.onlinePhone("alice", at: server.address)
        return (alice, bob)
    }
}

extension Softphone {
    /// An app whose user answers on the lock screen: the answer precedes the session.
    fileprivate func answer(_ push: CallPush, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        received(push)
        try await answer(push.call, sdp: sdp)
    }
}
