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

    /// How bob's first device leaves a call.
    enum Leaving: CaseIterable {
        case declines, declinesForAll, isBusy, hasDoNotDisturb, losesTheRace, isForwarded, logsOut
    }

    /// What others do then.
    enum Later: CaseIterable {
        case nothing, answer, talk, hangUp, decline, siblingDeclines, cancel, timeOut
    }

    @Test(arguments: Leaving.allCases, Later.allCases)
    func `a device that has left sees its own end, whatever others do`(_ leaving: Leaving, _ later: Later) {
        for pause in [Duration.zero, .seconds(1)] { HistoryTests().play(leaving, later, pause: pause) }
    }

    private func play(_ leaving: Leaving, _ later: Later, pause: Duration) {
        let (bob, carols) = (bobs[0].user, CallTarget.user(carol.user))
        if leaving == .declines { world.administer(.setUser(bob, UserPolicyChange(decline: .device))) }
        if leaving == .isForwarded { world.administer(.forward(bob, busy: nil, noAnswer: carols, after: nil)) }
        let call = alice.call(leaving == .isForwarded ? .user(bob) : .users([bob, carol.user]))
        world.advance(pause)
        switch leaving {
        case .declines, .declinesForAll: bobs[0].decline(call)
        case .isBusy: bobs[0].decline(call, .busy)
        case .hasDoNotDisturb: bobs[0].decline(call, .dnd)
        case .losesTheRace: bobs[1].answer(call)
        case .isForwarded: world.advance(world.timers.ring)
        case .logsOut: bobs[0].ask(.logout)
        }
        world.advance(pause)
        let other = leaving == .losesTheRace ? bobs[1] : carol
        if [.answer, .talk, .hangUp].contains(later) { other.answer(call) }
        world.advance(pause)
        if [.talk, .hangUp].contains(later) { alice.connect(call, with: other) }
        world.advance(pause)
        switch later {
        case .nothing, .answer, .talk: break
        case .hangUp: other.hangUp(call)
        case .decline: other.decline(call)
        case .siblingDeclines: bobs[1].decline(call)
        case .cancel: alice.hangUp(call)
        case .timeOut: world.advance(world.timers.ring)
        }
        if !bobs[0].isOnline { bobs[0].open() }
        checkViews(of: call, "\(leaving), \(later), \(pause)")
        world.advance(.seconds(300))
        checkViews(of: call, "\(leaving), \(later), \(pause), long after")
    }

    /// Times follow one another, and an end is as the event told it.
    private func checkViews(of call: CallID, _ comment: Comment) {
        for phone in [alice, carol] + bobs {
            let listed = phone.ask(.list(after: nil, limit: nil)).calls?.first { $0.call == call }
            for view in [listed, phone.ask(.get(call)).snapshot].compactMap({ $0 }) {
                let times = [view.createdAt, view.answeredAt, view.connectedAt, view.endedAt].compactMap { $0 }
                #expect(times == times.sorted(), comment)
                guard view.state == .ended, let told = phone.endings(of: call).last else { continue }
                #expect(view.reason == told.reason && view.by == told.by && view.endedAt == told.at, comment)
                #expect(view.isOwnAct == told.isOwnAct && view.mergedInto == told.mergedInto, comment)
            }
        }
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
