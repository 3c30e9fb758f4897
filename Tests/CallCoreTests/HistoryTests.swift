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
