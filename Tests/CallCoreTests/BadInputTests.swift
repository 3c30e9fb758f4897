import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// What is too much, or not what it should be, is refused with a reason and changes nothing.
@Suite final class BadInputTests {
    private static let limits = {
        var limits = CoreLimits()
        limits.liveCallsPerUser = 2
        limits.devicesPerUser = 2
        limits.liveCalls = 3
        return limits
    }()
    let (world, alice, bob) = World.pair(limits: limits)

    private func refused(_ invite: Invite, by phone: Phone, as code: SignalError.Code, counted: Bool) {
        let counters = world.core.counters
        #expect(phone.ask(.invite(invite)).code == code)
        #expect(world.store.calls[invite.call] == nil)
        #expect(world.core.calls[invite.call] == nil)
        #expect(bob.offers(of: invite.call).isEmpty)
        #expect(world.core.counters.limitsHit == counters.limitsHit + (counted ? 1 : 0))
        #expect(world.core.counters.callsInvited == counters.callsInvited)
    }

    @Test(
        "a ring time outside 5 to 180 s is refused, its ends are not",
        arguments: [
            Duration.zero, .milliseconds(4_999), .seconds(5), .seconds(180), .milliseconds(180_001),
            .seconds(Int64.max / 2),
        ])
    func ringTime(_ ringTime: Duration) {
        let invite = Invite(call: world.newCall(), to: .user(bob.user), ringTime: ringTime)
        if (.seconds(5) ... .seconds(180)).contains(ringTime) {
            #expect(alice.ask(.invite(invite)).reply != nil)
            #expect(world.store.calls[invite.call]?.ringsUntil == world.now + ringTime)
        } else {
            refused(invite, by: alice, as: .invalidParams, counted: false)
        }
    }

    @Test("a longer ring time is taken where the server is configured for it", arguments: [600, 601])
    func longRing(seconds: Int) {
        var timers = CallTimers()
        timers.longestRing = .seconds(600)
        world.step(.reconfigured(CoreSettings(timers: timers)))
        let invite = Invite(call: world.newCall(), to: .user(bob.user), ringTime: .seconds(seconds))
        guard seconds > 600 else {
            #expect(alice.ask(.invite(invite)).reply != nil)
            return
        }
        refused(invite, by: alice, as: .invalidParams, counted: false)
    }

    @Test("what an invite carries is bounded as a whole, to the byte", arguments: [0, 1])
    func payload(over: Int) {
        // `to` takes its bytes, two quotes and a comma.
        let room = FrameLimits.content - CallTarget.user(bob.user).wireBytes
        let sdp = RawJSON(String(repeating: "1", count: room / 2))
        let custom = RawJSON(String(repeating: "2", count: room - room / 2 + over))
        let invite = Invite(call: world.newCall(), to: .user(bob.user), sdp: sdp, custom: custom)
        if over == 0 {
            #expect(alice.ask(.invite(invite)).reply != nil)
            #expect(bob.offers(of: invite.call).first?.sdp == sdp)
        } else {
            refused(invite, by: alice, as: .tooLarge(limit: FrameLimits.content), counted: true)
        }
    }

    @Test("one user has placed so many live calls, all have so many, and an end makes room")
    func liveCalls() {
        let calls = [alice.call(bob), alice.call(bob)]
        let third = Invite(call: world.newCall(), to: .user(bob.user))
        refused(third, by: alice, as: .limitReached(limit: 2), counted: true)
        // What others call takes nothing of a callee's own.
        let back = bob.call(.users([alice.user]))
        #expect(world.store.calls[back]?.state.isLive == true)
        bob.hangUp(back)
        alice.hangUp(calls[0])
        #expect(alice.ask(.invite(third)).reply != nil)
        let (carol, dave) = (world.online("carol"), world.online("dave"))
        #expect(world.core.liveCalls == 2)
        carol.call(dave)
        refused(
            Invite(call: world.newCall(), to: .user(dave.user)), by: carol, as: .overloaded(retryAfter: .seconds(1)),
            counted: true)
    }

    @Test("a server that drains takes no new call, repeats what it said of an old one, and lets it go on")
    func draining() {
        let call = alice.call(bob)
        world.step(.drainingBegan(within: .seconds(60)))
        refused(Invite(call: world.newCall(), to: .user(bob.user)), by: alice, as: .draining, counted: false)
        #expect(
            alice.ask(.invite(Invite(call: call, to: .user(bob.user)))).reply
                == .invited(call, .routing, expiresAt: world.now + world.timers.ring))
        #expect(bob.answer(call).reply == .won)
    }

    @Test("a device too many is refused and not made; the user's own come in still")
    func devices() {
        let (tablet, watch) = (world.phone("alice"), world.phone("alice"))
        tablet.open()
        #expect(watch.open().code == .limitReached(limit: 2))
        #expect(world.store.devices[watch.key] == nil)
        #expect(tablet.open().opened != nil)
    }

    @Test("an invite after another with the same id is repeated or a conflict, in every field of its body")
    func otherBody() {
        let call = world.newCall()
        let invite = Invite(
            call: call, to: .user(bob.user), ringTime: .seconds(30), sdp: RawJSON("1"), custom: RawJSON("2"))
        alice.ask(.invite(invite))
        var others = Array(repeating: invite, count: 6)
        others[0].to = .users([bob.user])
        others[1].ringTime = nil
        others[2].video = true
        others[3].sdp = nil
        others[4].custom = RawJSON("1")
        (others[5].sdp, others[5].custom) = (RawJSON("12"), nil)
        for other in others {
            #expect(alice.ask(.invite(other)).code == .conflict)
        }
        #expect(alice.ask(.invite(invite)).reply != nil)
        #expect(bob.offers(of: call).count == 1)
        #expect(world.core.counters.callsInvited == 1)
    }
}
