import CallVocabulary
import Testing

@testable import CallCore

/// `call.list` shows calls as `call.get` does.
@Suite struct HistoryTests {
    let world = World()
    let alice: Phone
    /// Two devices of one user.
    let bobs: [Phone]
    let carol: Phone

    init() {
        alice = world.online("alice")
        bobs = [world.online("bob"), world.online("bob")]
        carol = world.online("carol")
    }

    /// Every party sees the same in both; a call that is out of memory is listed first, as `call.get` brings it back.
    private func compare(_ call: CallID, _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
        for phone in [alice] + bobs {
            let listed = phone.ask(.list(after: nil, limit: nil)).calls?.first { $0.call == call }
            let got = phone.ask(.get(call)).snapshot
            #expect(listed != nil && listed == got, comment, sourceLocation: sourceLocation)
        }
    }

    @Test func `while it rings, talks, has lost a party, and is over, in memory and long after`() throws {
        let custom = RawJSON(#"{"room":1}"#)
        let call = world.newCall()
        alice.ask(
            .invite(Invite(call: call, to: .user(bobs[0].user), video: true, sdp: RawJSON(#""o""#), custom: custom)))
        compare(call, "offered")
        let live = try #require(bobs[0].ask(.list(after: nil, limit: nil)).calls?.first)
        #expect(live.expiresAt != nil && live.push != nil && live.sdp != nil && live.custom == custom)
        bobs[0].ring(call)
        compare(call, "ringing")
        bobs[0].answer(call, sdp: #""a""#)
        compare(call, "answered")
        let lost = try #require(bobs[1].ask(.list(after: nil, limit: nil)).calls?.first)
        #expect(lost.state == .ended && lost.reason == .answeredElsewhere && lost.by == bobs[0].party)
        alice.connected(call)
        bobs[0].connected(call)
        compare(call, "connected")
        bobs[0].lose()
        let away = try #require(alice.ask(.list(after: nil, limit: nil)).calls?.first)
        #expect(away.peerAwaySince != nil)
        bobs[0].open()
        alice.hangUp(call, .mediaFailed)
        compare(call, "over")
        world.advance(.seconds(300))
        #expect(world.core.calls.isEmpty)
        compare(call, "long over")
        let old = try #require(bobs[1].ask(.list(after: nil, limit: nil)).calls?.first)
        #expect(old.reason == .answeredElsewhere && old.endedAt == lost.endedAt && old.connectedAt == nil)
    }

    @Test(arguments: [DeclineReason.declined, .busy])
    func `one device says no`(_ reason: DeclineReason) {
        let call = alice.call(bobs[0])
        bobs[0].decline(call, reason)
        compare(call, "one has said no")
        alice.hangUp(call)
        compare(call, "over")
        world.advance(.seconds(300))
        compare(call, "long over")
    }

    @Test func `calls that end unanswered, and those that nobody was rung for`() {
        // A literal that is a handle.
        let nobody = Handle("nobody")!
        let cancelled = alice.call(bobs[0])
        alice.hangUp(cancelled)
        let unknown = alice.call(.user(nobody))
        let missed = alice.call(bobs[0])
        world.advance(.seconds(61))
        for call in [cancelled, unknown, missed] {
            for phone in call == unknown ? [alice] : [alice] + bobs {
                let listed = phone.ask(.list(after: nil, limit: nil)).calls?.first { $0.call == call }
                #expect(listed != nil && listed == phone.ask(.get(call)).snapshot)
            }
        }
        #expect(carol.ask(.list(after: nil, limit: nil)).calls == [])
    }

    @Test func `a page has the calls that it may have, where a frame holds them`() {
        for _ in 0..<120 { alice.hangUp(alice.call(bobs[0])) }
        #expect(bobs[0].ask(.list(after: nil, limit: nil)).calls?.count == 50)
        #expect(bobs[0].ask(.list(after: nil, limit: 100)).calls?.count == 100)
    }

    @Test func `only the device that has hung up or declined has ended the call itself`() throws {
        // A device of each user without a part in the call.
        let others = [world.online("alice"), carol]
        func own(_ phone: Phone, _ call: CallID) -> Bool? {
            // Listed first: `call.get` brings back for a moment what has left memory.
            let listed = phone.ask(.list(after: nil, limit: nil)).calls?.first { $0.call == call }
            let got = phone.ask(.get(call)).snapshot
            #expect(got == listed)
            world.advance(.seconds(10))
            return got?.isOwnAct
        }
        for end in ["caller", "callee", "decline", "lost"] {
            let call = alice.call(bobs[0])
            if end != "decline" {
                bobs[0].answer(call)
                bobs[0].connect(call, with: alice)
            }
            switch end {
            case "caller": alice.hangUp(call)
            case "callee": bobs[0].hangUp(call)
            case "decline": bobs[0].decline(call)
            default:
                bobs[0].lose()
                world.advance(world.timers.resume)
                bobs[0].open()
            }
            let late = world.online("bob")
            for isInMemory in [true, false] {
                #expect(own(alice, call) == (end == "caller"), "\(end)")
                #expect(own(bobs[0], call) == (end == "callee" || end == "decline"), "\(end)")
                for phone in [others[0], bobs[1], late] { #expect(own(phone, call) == false, "\(end)") }
                #expect(others[1].ask(.get(call)).code == .forbidden)
                if isInMemory { world.advance(.seconds(300)) }
            }
            let other = world.ask(.get(call), as: alice.user, device: others[0].id, scope: .full)
            #expect(other?.snapshot?.isOwnAct == false, "by HTTP")
            late.ask(.logout)
        }
    }

    @Test func `what cannot be read, is refused, and may be asked for again`() {
        world.failsHistory = true
        #expect(alice.ask(.list(after: nil, limit: nil)).code == .overloaded(retryAfter: .seconds(1)))
        world.failsHistory = false
        var limits = world.core.limits
        limits.lookUps = 1
        world.step(.reconfigured(CoreSettings(limits: limits)))
        for _ in 0..<3 { #expect(alice.ask(.list(after: nil, limit: nil)).calls == []) }
    }
}
