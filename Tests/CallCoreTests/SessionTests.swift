import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Sessions: opening, losing, resuming, replacing and leaving, and what that does to calls.
@Suite final class SessionTests {
    let (world, alice, bob) = World.pair()

    @Test("a resumed session gets exactly what it missed, once, and a new token")
    func resume() {
        let call = alice.call(bob)
        let token = bob.session!.resumeToken
        bob.lose()
        alice.send(["1"], of: call)
        alice.hangUp(call)
        world.advance(.seconds(29))
        #expect(bob.resume().opened?.resumed == true)
        #expect(bob.session?.resumeToken != token)
        #expect(bob.offers(of: call).count == 1)
        #expect(bob.candidates(of: call) == ["1"])
        #expect(bob.endings(of: call).map(\.reason) == [.cancelled])
        bob.lose()
        // A token is good for once.
        #expect(bob.resume(token: token).opened?.resumed == false)
    }

    @Test("too much unacknowledged: no resume, until everything has been acknowledged")
    func overflow() {
        let call = alice.call(bob)
        bob.answer(call)
        for _ in 0..<300 { alice.ask(.update(CallUpdate(call: call, kind: .info))) }
        #expect(world.core.counters.replayOverflows == 1)
        bob.ack()
        alice.ask(.update(CallUpdate(call: call, kind: .hold)))
        bob.lose()
        #expect(bob.resume().opened?.resumed == true)
        // Events that are no words of the other side's are not refused.
        alice.lose()
        alice.resume()
        for _ in 0..<300 { alice.ask(.update(CallUpdate(call: call, kind: .info))) }
        bob.lose()
        #expect(bob.resume().opened?.resumed == false)
        #expect(bob.snapshot(of: call)?.state == .answered)
    }

    @Test(
        "however long the lists are that ring at a device, the calls that it is a party of are told first",
        arguments: [true, false])
    func partiesFirst(resumes: Bool) {
        let stranger = world.online("stranger")
        // As long as a list may be: three of them fill a frame.
        let crowd = (0..<800).map { Handle("\($0)".padded(to: 26))! }
        let connected = alice.call(bob)
        bob.answer(connected)
        alice.connect(connected, with: bob)
        let placed = bob.call(alice)
        let ringing = (0..<3).map { _ in stranger.call(.users([bob.user] + crowd)) }
        bob.lose()
        let opened = (resumes ? bob.resume() : bob.open()).opened
        #expect(opened?.resumed == resumes)
        #expect(opened?.calls.map(\.call) == [placed, connected] + ringing.reversed())
        #expect(opened?.calls.last?.to == .users([bob.user]) && opened?.calls.last?.toCount == 801)
        for call in ringing { #expect(bob.offers(of: call).last?.to == .users([bob.user] + crowd)) }
    }

    @Test("what is acknowledged makes room for as much, and no more", arguments: [(0, 0), (50, 0), (56, 0), (100, 44)])
    func room(left: Int, refused: Int) {
        let call = alice.call(bob)
        bob.answer(call)
        bob.ack()
        for _ in 0..<200 { alice.ask(.update(CallUpdate(call: call, kind: .info))) }
        bob.notify(.ack(seq: bob.lastSeq - UInt64(left)))
        let codes = (0..<200).map { _ in alice.ask(.update(CallUpdate(call: call, kind: .info))).code }
        #expect(codes.count { $0 == .overloaded(retryAfter: .seconds(1)) } == refused, "256 are kept")
        #expect(codes.count { $0 == nil } == 200 - refused)
        bob.lose()
        #expect(bob.resume().opened?.resumed == true)
    }

    enum Stage: CaseIterable { case unanswered, ringing, answered, connected }

    private func call(upTo stage: Stage) -> CallID {
        let call = alice.call(bob)
        if stage != .unanswered { bob.ring(call) }
        if stage == .answered || stage == .connected { bob.answer(call) }
        if stage == .connected {
            alice.connect(call, with: bob)
        }
        return call
    }

    @Test(
        "a callee away for the whole resume window loses the call it answered, not one that can wake it",
        arguments: Stage.allCases)
    func calleeGone(stage: Stage) throws {
        let call = call(upTo: stage)
        bob.lose()
        if stage == .unanswered { try world.deliver(call, to: bob) }
        world.advance(.seconds(31))
        switch stage {
        case .unanswered: #expect(world.core.liveCalls == 1)
        case .ringing: #expect(world.core.liveCalls == 1 && world.push(call, to: bob)?.status == .intended)
        case .answered: #expect(alice.endings(of: call).map(\.reason) == [.connectTimeout])
        case .connected: #expect(alice.endings(of: call).map(\.reason) == [.connectionLost])
        }
    }

    @Test("both away and both back in time: the call goes on")
    func bothBack() {
        let call = call(upTo: .connected)
        alice.lose()
        bob.lose()
        world.advance(.seconds(25))
        alice.resume()
        bob.open()
        world.advance(.seconds(60))
        #expect(alice.hangUp(call).reply == .callState(.ended, .hangup))
        #expect(bob.endings(of: call).map(\.reason) == [.hangup])
    }

    @Test("rule 12: a new session replaces the old one, and takes its calls over")
    func replaced() {
        let call = call(upTo: .ringing)
        bob.open()
        #expect(bob.closes == [.replaced])
        #expect(bob.offers(of: call).count == 2)
        world.advance(.seconds(31))
        #expect(bob.answer(call).reply == .won)
        world.advance(.seconds(5))
        alice.open()
        #expect(alice.closes == [.replaced])
        #expect(alice.snapshot(of: call)?.state == .answered)
        world.advance(.seconds(5))
        #expect(world.core.liveCalls == 1)
    }

    @Test("rule 3: a device that registers while it rings is offered the call, once per session")
    func lateRegistration() {
        let call = alice.call(bob)
        let tablet = world.online("bob")
        #expect(tablet.offers(of: call).count == 1)
        #expect(tablet.snapshot(of: call)?.state == .routing)
        tablet.lose()
        tablet.resume()
        #expect(tablet.offers(of: call).count == 1)
        tablet.open()
        #expect(tablet.offers(of: call).count == 2)
        #expect(tablet.answer(call).reply == .won)
        let desk = world.online("bob")
        #expect(desk.offers(of: call).isEmpty)
        #expect(desk.snapshot(of: call) == nil)
    }

    @Test("a resume before the push went out: the device is told again and has its time again")
    func resumeHoldsPush() throws {
        let call = alice.call(bob)
        bob.lose()
        let id = try #require(world.push(call, to: bob)?.id)
        bob.resume(lastSeq: 0)
        world.makeReady(id)
        #expect(world.provider.sent[id] == nil)
        world.advance(.seconds(2))
        world.makeReady(id)
        #expect(world.provider.sent[id] == 1)
    }

    @Test("a resume that had seen the offer holds the push until the socket breaks again")
    func resumeKnows() throws {
        let call = alice.call(bob)
        bob.lose()
        let id = try #require(world.push(call, to: bob)?.id)
        bob.resume()
        world.makeReady(id)
        world.advance(.seconds(5))
        #expect(world.provider.waiting.isEmpty && world.provider.sent[id] == nil)
        bob.lose()
        world.makeReady(id)
        #expect(world.provider.sent[id] == 1)
    }

    @Test("a wake session sees and does only its own call, and never displaces a full one")
    func wakeScope() throws {
        bob.ask(.close)
        let call = try alice.call(bob, push: .accepted).call
        let carol = world.online("carol")
        bob.wake(call)
        let other = carol.call(bob)
        #expect(bob.offers(of: other).isEmpty)
        #expect(world.push(other, to: bob)?.status == .intended)
        try world.deliver(other, to: bob)
        #expect(bob.ring(other).code == .forbidden)
        for command in [
            ClientRequest.logout, .updateDevice(push: []), .list(after: nil, limit: nil),
            .invite(Invite(call: world.newCall(), to: .user(alice.user))), .clearMissed(upTo: world.now),
        ] {
            #expect(bob.ask(command).code == .forbidden)
        }
        carol.hangUp(other)
        #expect(bob.endings(of: other).isEmpty)
        #expect(bob.answer(call).reply == .won)
        bob.open()
        #expect(bob.closes.last == .replaced)
        #expect(bob.wake(call).code == .conflict)
        #expect(alice.wake(call).code == .forbidden)
    }

    @Test("a wake session that closes takes its own call with it, and no other")
    func wakeCloses() throws {
        let call = call(upTo: .connected)
        bob.lose()
        let carol = world.online("carol")
        let second = try carol.call(bob, push: .accepted).call
        bob.wake(second)
        bob.ask(.close)
        #expect(alice.endings(of: call).isEmpty)
        world.advance(.seconds(10))
        bob.open()
        #expect(bob.snapshot(of: call)?.state == .connected)
        #expect(bob.offers(of: second).count == 2)
        world.advance(.seconds(30))
        #expect(alice.endings(of: call).isEmpty)
    }

    @Test("a wake session that stays does not keep another call alive")
    func wakeStays() throws {
        let call = call(upTo: .connected)
        bob.lose()
        let carol = world.online("carol")
        let second = try carol.call(bob, push: .accepted).call
        bob.wake(second)
        bob.answer(second)
        bob.connect(second, with: carol)
        world.advance(.milliseconds(29_999))
        #expect(alice.endings(of: call).isEmpty)
        world.advance(.milliseconds(1))
        #expect(alice.endings(of: call).map(\.reason) == [.connectionLost])
        #expect(bob.endings(of: call).isEmpty)
        #expect(world.store.calls[second]?.state == .connected)
    }

    @Test("rule 12: logging out forgets the tokens and leaves no leg behind")
    func logout() {
        let call = alice.call(bob)
        bob.ask(.logout)
        #expect(bob.closes == [.loggedOut])
        #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
        #expect(world.store.devices[bob.key]?.tokens.isEmpty == true)
        let second = alice.call(bob)
        #expect(alice.endings(of: second).map(\.reason) == [.noDevices])
        #expect(world.provider.waiting.isEmpty)
        bob.open()
        #expect(bob.session?.missed.map(\.reason) == [.noDevices, .noDevices])
        #expect(bob.session?.missed.map(\.call) == [call, second], "the oldest first")
        bob.ask(.clearMissed(upTo: world.now))
        bob.open()
        #expect(bob.session?.missed.isEmpty == true)
    }

    @Test("a token belongs to who registered it last: two devices, a user switch, a reinstall")
    func tokenOwner() {
        let token = bob.tokens
        let switched = Phone(world: world, user: Handle("carol")!, id: bob.id, tokens: token)
        bob.ask(.close)
        switched.open()
        switched.ask(.close)
        #expect(world.store.devices[bob.key]?.tokens.isEmpty == true)
        let reinstalled = world.phone("carol", pushable: false)
        reinstalled.open(sending: token)
        reinstalled.ask(.close)
        let call = alice.call(switched)
        #expect(world.push(call, to: switched) == nil)
        #expect(world.push(call, to: reinstalled)?.token == token[0])
        world.restart()
        alice.open()
        let second = alice.call(switched)
        #expect(world.push(second, to: switched) == nil)
        #expect(world.push(second, to: reinstalled) != nil)
    }

    @Test("of several VoIP tokens the one registered last is pushed to")
    func newestToken() {
        let (first, second) = (PushToken.voip("first"), PushToken.voip("second"))
        bob.ask(.updateDevice(push: [first]))
        bob.ask(.updateDevice(push: [second, first]))
        bob.ask(.close)
        let call = alice.call(bob)
        #expect(world.push(call, to: bob)?.token == second)
    }

    @Test("limits are answered, not ignored")
    func limits() {
        var limits = CoreLimits()
        limits.devicesPerUser = 2
        limits.liveCallsPerUser = 1
        limits.sessions = 3
        let world = World(limits: limits)
        let phones = (0..<3).map { _ in world.phone("alice") }
        phones[0].open()
        phones[1].open()
        #expect(phones[2].open().code == .limitReached(limit: 2))
        let bob = world.online("bob")
        #expect(world.phone("carol").open().code == .overloaded(retryAfter: .seconds(5)))
        phones[0].call(bob)
        let invite = Invite(call: world.newCall(), to: .user(bob.user))
        #expect(phones[0].ask(.invite(invite)).code == .limitReached(limit: 1))
        #expect(world.core.counters.limitsHit == 3)
        for limit in [CoreLimit.devicesPerUser, .sessions, .liveCallsPerUser] {
            #expect(world.core.counters.hits(of: limit) == 1, "\(limit)")
        }
    }

    @Test("a wake session that takes another's place leaves that one's call the whole time to come back")
    func wakeAfterWake() throws {
        let (carol, dave, eve) = (world.online("carol"), world.online("dave"), world.asleep("eve"))
        let first = try carol.call(eve, push: .accepted).call
        eve.wake(first)
        eve.answer(first)
        carol.connected(first)
        eve.connected(first)
        world.advance(.seconds(29))
        let second = try dave.call(eve, push: .accepted).call
        eve.wake(second)
        world.advance(.milliseconds(29_999))
        #expect(world.store.calls[first]?.state == .connected)
        world.advance(.milliseconds(1))
        #expect(world.store.calls[first]?.endReason == .connectionLost)
    }

    @Test("nobody registers under an alias, which would never ring")
    func aliasOpens() {
        let number = Handle("+81312345678")!
        world.administer(.setAlias(Alias(handle: number, user: Handle("eve")!)))
        let phone = world.phone(number.text)
        #expect(phone.open().code == .conflict)
        #expect(world.core.onlineSessions == 2)
    }
}
