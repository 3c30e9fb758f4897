import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Rule 18: a restart ends no call, in whatever state it is; what fell due meanwhile ends with its own reason.
@Suite final class RestartTests {
    let (world, alice, bob) = World.pair()

    enum Stage: CaseIterable { case told, queued, onWire, accepted, ringing, answered, halfConnected, connected }

    private func call(upTo stage: Stage) throws -> CallID {
        if stage == .queued || stage == .onWire || stage == .accepted { bob.ask(.close) }
        let call = alice.call(.user(bob.user), sdp: "1", custom: "2")
        switch stage {
        case .told, .queued: break
        case .onWire: try world.transmit(call, to: bob)
        case .accepted: try world.deliver(call, to: bob)
        case .ringing: bob.ring(call)
        case .answered: bob.answer(call)
        case .halfConnected, .connected:
            bob.answer(call)
            alice.connected(call)
            if stage == .connected { bob.connected(call) }
        }
        return call
    }

    @Test("the call goes on after a restart, with what it had", arguments: Stage.allCases)
    func goesOn(stage: Stage) throws {
        let call = try call(upTo: stage)
        let before = try #require(world.store.calls[call])
        world.restart(downFor: .seconds(3))
        #expect(world.core.liveCalls == 1)
        alice.open()
        #expect(alice.session?.resumed == false)
        #expect(alice.snapshot(of: call)?.state == before.state)
        #expect(
            alice.snapshot(of: call)?.expiresAt
                == (stage == .connected ? nil : before.connectsUntil ?? before.ringsUntil))
        let invite = Invite(call: call, to: .user(bob.user), sdp: RawJSON("1"), custom: RawJSON("2"))
        #expect(alice.ask(.invite(invite)).error == nil)
        bob.open()
        switch stage {
        case .told, .queued, .onWire, .accepted, .ringing:
            #expect(bob.offers(of: call).last?.sdp == RawJSON("1"))
            #expect(bob.offers(of: call).last?.custom == RawJSON("2"))
            #expect(bob.answer(call).reply == .won)
        case .answered, .halfConnected, .connected:
            #expect(bob.snapshot(of: call)?.state == before.state)
            #expect(bob.answer(call).reply == .won)
        }
        bob.connect(call, with: alice)
        #expect(world.store.calls[call]?.state == .connected)
        world.advance(.seconds(60))
        alice.hangUp(call)
        #expect(bob.endings(of: call).map(\.reason) == [.hangup])
    }

    @Test("a deadline that passed while the server was down fires with its own reason", arguments: Stage.allCases)
    func deadlinePassed(stage: Stage) throws {
        let call = try call(upTo: stage)
        world.restart(downFor: .seconds(45))
        switch stage {
        case .told, .queued, .onWire, .accepted, .ringing: #expect(world.store.calls[call]?.endReason == .ringTimeout)
        case .answered, .halfConnected: #expect(world.store.calls[call]?.endReason == .connectTimeout)
        case .connected:
            #expect(world.store.calls[call]?.state == .connected)
            world.advance(.seconds(30))
            #expect(world.store.calls[call]?.endReason == .connectionLost)
        }
        #expect(world.core.liveCalls == 0)
        bob.open()
        let isMissed = stage != .answered && stage != .halfConnected && stage != .connected
        #expect(bob.session?.missed.map(\.call) == (isMissed ? [call] : []))
        world.restart()
        bob.open()
        #expect(bob.session?.missed.count == (isMissed ? 1 : 0))
    }

    @Test("a push on the wire becomes unknown and is never sent again; its report is awaited")
    func sentBecomesUnknown() throws {
        let call = try call(upTo: .onWire)
        let id = try #require(world.push(call, to: bob)?.id)
        world.restart()
        #expect(world.store.pushes[id]?.status == .unknown)
        #expect(world.store.pushes[id]?.report == .awaited)
        world.makeReady(id)
        #expect(world.provider.waiting.isEmpty && world.provider.sent.isEmpty)
        bob.open()
        bob.report(id, call)
        #expect(world.store.pushes[id]?.status == .accepted)
        world.restart()
        #expect(world.store.pushes[id]?.report == .reported)
    }

    @Test("a push that was reported before the answer and the restart is known to have arrived")
    func reportedThenRestarted() throws {
        let call = try call(upTo: .onWire)
        let id = try #require(world.push(call, to: bob)?.id)
        bob.wake(call)
        bob.report(id, call)
        world.restart()
        #expect(world.store.pushes[id]?.status == .accepted)
        #expect(world.store.pushes[id]?.report == .reported)
        #expect(world.store.calls[call]?.state == .ringing)
    }

    @Test("a push only intended is queued again if ring time is left, else it has expired", arguments: [10, 50])
    func intended(down: Int) throws {
        let call = try call(upTo: .queued)
        let id = try #require(world.push(call, to: bob)?.id)
        world.restart(downFor: .seconds(down))
        if down < 45 {
            #expect(world.provider.waiting == [id])
            #expect(world.provider.orders[id]?.expiresAt == world.store.calls[call]?.ringsUntil)
            world.makeReady(id)
            #expect(world.store.pushes[id]?.status == .sent)
        } else {
            #expect(world.provider.waiting.isEmpty)
            #expect(world.store.pushes[id]?.status == .expired)
        }
    }

    @Test("a report that fell due while the server was down is given up, and the streak grows once")
    func reportOverdue() throws {
        let call = try call(upTo: .accepted)
        let id = try #require(world.push(call, to: bob)?.id)
        world.restart(downFor: .seconds(20))
        #expect(world.store.pushes[id]?.report == .unreported)
        #expect(world.store.devices[bob.key]?.unreportedStreak == 1)
        world.restart()
        #expect(world.store.devices[bob.key]?.unreportedStreak == 1)
    }

    @Test("a device that was told over its socket has its delivery time to come back, and is pushed then")
    func toldIsAwaited() throws {
        let call = try call(upTo: .told)
        world.restart(downFor: .seconds(3))
        world.advance(.milliseconds(1999))
        #expect(world.push(call, to: bob) == nil)
        world.advance(.milliseconds(1))
        #expect(world.push(call, to: bob)?.status == .intended)
    }

    @Test("a device that was told over its socket and is back in time is not pushed")
    func toldIsBack() throws {
        let call = try call(upTo: .told)
        world.restart(downFor: .seconds(3))
        world.advance(.milliseconds(1500))
        bob.open()
        bob.ring(call)
        world.advance(.seconds(5))
        #expect(world.push(call, to: bob) == nil)
        #expect(bob.offers(of: call).count == 2)
    }

    @Test("a new call waits for a device without a token that may come back after a start", arguments: [true, false])
    func comeback(isBack: Bool) throws {
        let desk = world.online("carol", pushable: false)
        world.restart()
        alice.open()
        world.advance(.seconds(1))
        let call = alice.call(desk)
        #expect(alice.endings(of: call).isEmpty)
        world.advance(.milliseconds(8999))
        #expect(alice.endings(of: call).isEmpty)
        if isBack {
            desk.open()
            #expect(desk.offers(of: call).count == 1)
            world.advance(.seconds(10))
            #expect(alice.endings(of: call).isEmpty)
            #expect(desk.answer(call).reply == .won)
        } else {
            world.advance(.milliseconds(1))
            #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
        }
    }

    @Test("of the devices without a token, those that were seen since the start are not waited for")
    func seenSince() {
        let desk = world.online("carol", pushable: false)
        world.restart()
        alice.open()
        desk.open()
        desk.ask(.close)
        let call = alice.call(desk)
        #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
    }

    @Test("a device without a token that does not come back is not rung for")
    func neverBack() {
        let desk = world.online("carol", pushable: false)
        let call = alice.call(desk)
        world.restart()
        alice.open()
        world.advance(.milliseconds(29_999))
        #expect(alice.endings(of: call).isEmpty)
        world.advance(.milliseconds(1))
        #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
    }

    @Test(
        "both parties have the resume window to come back after a restart",
        arguments: [(true, true), (true, false), (false, true)])
    func absence(callerIsBack: Bool, calleeIsBack: Bool) throws {
        let call = try call(upTo: .connected)
        world.restart()
        if callerIsBack { alice.open() }
        if calleeIsBack { bob.open() }
        world.advance(.milliseconds(29_999))
        #expect(world.core.liveCalls == 1)
        world.advance(.milliseconds(1))
        let isOver = !(callerIsBack && calleeIsBack)
        #expect(world.store.calls[call]?.endReason == (isOver ? .connectionLost : nil))
        #expect(alice.endings(of: call).count == (isOver && callerIsBack ? 1 : 0))
        #expect(bob.endings(of: call).count == (isOver && calleeIsBack ? 1 : 0))
    }

    @Test("a second restart on top of the first changes nothing more")
    func twice() throws {
        let call = try call(upTo: .onWire)
        world.restart(downFor: .zero)
        let store = world.store
        world.restart(downFor: .zero)
        #expect(world.store.calls[call] == store.calls[call])
        #expect(world.store.pushes.values == store.pushes.values)
        #expect(world.store.legs.values == store.legs.values)
    }

    @Test(
        "a call ends when it has lasted as long as the server or its invite allows, also across a restart",
        arguments: [false, true], [(60, nil), (nil, 60), (60, 90), (90, 60)] as [(Int?, Int?)])
    func longestCall(restarts: Bool, limits: (server: Int?, invite: Int?)) {
        var timers = CallTimers()
        timers.longestCall = limits.server.map { .seconds($0) }
        let world = World(timers: timers)
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        let call = world.newCall()
        let longest = limits.invite.map { Duration.seconds($0) }
        alice.ask(.invite(Invite(call: call, to: .user(bob.user), maxDuration: longest)))
        bob.answer(call)
        world.advance(.seconds(5))
        for phone in [alice, bob] { phone.ask(.connected(call)) }
        world.advance(.seconds(20))
        if restarts {
            world.restart()
            for phone in [alice, bob] { phone.open() }
        } else {
            timers.longestCall = nil
            world.step(.reconfigured(CoreSettings(timers: timers)))
        }
        world.advance(.seconds(30))
        #expect(world.store.calls[call]?.state == .connected)
        world.advance(.seconds(10))
        #expect(world.store.calls[call]?.endReason == .maxDuration && world.store.calls[call]?.endedBy == nil)
        #expect(alice.endings(of: call).map(\.reason) == [.maxDuration])
        #expect(bob.endings(of: call).map(\.reason) == [.maxDuration])
    }
}
