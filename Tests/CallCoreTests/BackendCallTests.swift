import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Calls that a backend places by HTTP: their caller has no session. The callee's side is as in any other call.
@Suite struct BackendCallTests {
    let world = World()
    let bob: Phone
    let line = Handle("+49301234")!

    init() { bob = world.online("bob") }

    private func invite(
        _ call: CallID, from: Handle? = nil, to: CallTarget? = nil, name: String? = "Desk", sdp: String? = "offer"
    ) -> BackendRequest {
        .invite(
            BackendInvite(
                invite: Invite(call: call, to: to ?? .user(bob.user), sdp: sdp.map { RawJSON($0) }),
                from: from ?? line, name: name))
    }

    private func view(_ answer: Result<Reply, SignalError>?) throws -> BackendCall {
        guard case .success(.backendCall(let view)) = answer else {
            throw Wrong(text: "no view of a call: \(String(describing: answer))")
        }
        return view
    }

    private func get(_ call: CallID) throws -> BackendCall { try view(world.ask(.get(call))) }

    private struct Wrong: Error {
        let text: String
    }

    /// Follows the call from its present version, while `step` changes it.
    private func followed(_ call: CallID, _ step: () throws -> Void) throws -> BackendCall {
        let before = try get(call)
        let waiting = world.post(.follow(call, after: before.version))
        #expect(world.sessionlessAnswers[waiting] == nil, "nothing has changed yet")
        try step()
        let after = try view(world.sessionlessAnswers[waiting])
        #expect(after.version != before.version)
        #expect(world.core.followers.count == 0)
        return after
    }

    @Test("candidates and their end, however often they are said, are held once for a caller without a session")
    func heldOnce() throws {
        let call = world.newCall()
        _ = world.ask(invite(call))
        #expect(bob.answer(call, sdp: "answer").reply == .won)
        for candidates in [["1"], []] {
            for _ in 0..<100 { bob.send(candidates, of: call) }
            for _ in 0..<100 { bob.send(candidates, of: call, final: true) }
        }
        let caller = try #require(world.core.calls[call]?.callerDevice)
        #expect(caller.heldMedia.count == 2, "the candidate, and the end")
        let view = try get(call)
        #expect(view.candidates == [RawJSON("1")] && view.candidatesAreFinal && bob.refusals.isEmpty)
    }

    @Test("a caller that is no user wakes the phone, and follows the call to its end")
    func wholeCall() throws {
        bob.ask(.close)
        let call = world.newCall()
        guard case .success(.invited(call, .waking, _)) = world.ask(invite(call)) else {
            Issue.record("the call does not wake the phone")
            return
        }
        let push = try world.deliver(call, to: bob)
        let ringing = try followed(call) {
            bob.open()
            bob.report(push, call)
        }
        #expect(ringing.snapshot.state == .ringing)
        let offer = try #require(bob.offers(of: call).first)
        #expect(offer.from == line && offer.fromName == "Desk" && offer.sdp == RawJSON("offer"))

        bob.send(["1"], of: call)
        let answered = try followed(call) { bob.answer(call, sdp: "answer") }
        #expect(answered.snapshot.state == .answered && answered.snapshot.sdp == RawJSON("answer"))
        #expect(answered.candidates == [RawJSON("1")] && !answered.candidatesAreFinal)
        let more = try followed(call) { bob.send(["2"], of: call, final: true) }
        #expect(more.candidates == [RawJSON("1"), RawJSON("2")] && more.candidatesAreFinal)

        #expect(bob.connected(call) == .success(.callState(.answered, nil)))
        let connected = try followed(call) {
            #expect(world.ask(.connected(call)) == .success(.callState(.connected, nil)))
        }
        #expect(connected.snapshot.state == .connected)
        let away = try followed(call) { bob.lose() }
        #expect(away.snapshot.peerAwaySince != nil)
        let back = try followed(call) { bob.resume() }
        #expect(back.snapshot.peerAwaySince == nil)

        #expect(world.ask(.hangup(call, .hangup)) == .success(.callState(.ended, .hangup)))
        #expect(bob.endings(of: call).map(\.reason) == [.hangup])
        #expect(world.store.calls[call]?.endedBy == Party(user: line))
        let ended = try get(call)
        #expect(try view(world.ask(.follow(call, after: ended.version))) == ended, "an ended call is told at once")
        #expect(world.violations == [])
    }

    @Test("the caller is never away: the call goes on after a restart, for longer than the resume window")
    func restart() throws {
        let call = world.newCall()
        _ = world.ask(invite(call))
        bob.answer(call, sdp: "answer")
        bob.send(["1"], of: call)
        let before = try get(call)
        world.restart()
        #expect(try get(call).snapshot.peerAwaySince != nil, "the phone has to come back")
        bob.open()
        #expect(try get(call) == before, "the same version, with SDP and candidates")
        bob.connected(call)
        #expect(world.ask(.connected(call)) == .success(.callState(.connected, nil)))
        world.advance(world.timers.resume + .seconds(5))
        #expect(try get(call).snapshot.state == .connected)
        #expect(bob.presences(of: call) == [], "nobody tells the phone that the caller is away")
    }

    @Test("a repeated request has the same result, and another body or caller is a conflict")
    func repeated() throws {
        let call = world.newCall()
        let first = world.ask(invite(call))
        #expect(world.ask(invite(call)) == first)
        #expect(bob.offers(of: call).count == 1)
        for other in [
            invite(call, sdp: "another"), invite(call, name: "Another"), invite(call, from: Handle("+4930999")!),
        ] {
            #expect(world.ask(other)?.code == .conflict)
        }
        _ = world.ask(.hangup(call, .hangup))
        world.advance(world.timers.tombstone + .seconds(1))
        #expect(world.core.calls.isEmpty)
        #expect(world.ask(invite(call)) == .success(.inviteEnded(call, .cancelled)), "from the store")
        #expect(world.ask(invite(call, sdp: "another"))?.code == .conflict)
    }

    @Test("callers that are no users stay in memory with their calls, and may leave after that")
    func strangers() throws {
        var limits = CoreLimits()
        limits.idleUsers = 1
        let world = World(limits: limits)
        world.online("bob")
        let calls = [world.newCall(), world.newCall(), world.newCall()]
        for call in calls { _ = world.ask(invite(call)) }
        _ = world.ask(invite(world.newCall(), from: Handle("x")!, to: .user(Handle("nobody")!)))
        // Nobody has the name that the call to it has waited for.
        #expect(world.core.census.users == 4 && world.core.census.idleUsers == 1)
        for call in calls { _ = world.ask(.hangup(call, .hangup)) }
        world.advance(world.timers.tombstone + .seconds(1))
        #expect(world.core.calls.isEmpty)
        // Bob is online, and one may stay.
        #expect(world.core.census.users == 2 && world.core.census.idleUsers == 1)
        let live = world.newCall()
        _ = world.ask(invite(live))
        world.restart()
        #expect(world.core.directory.user(line) != nil)
        _ = world.ask(.hangup(live, .hangup))
        world.advance(world.timers.tombstone + .seconds(60))
        #expect(world.core.calls.isEmpty && world.core.census.users == 1)
    }

    @Test("an invite that is refused holds no caller in memory, and the limits of users hold")
    func limits() throws {
        var limits = CoreLimits()
        limits.liveCallsPerUser = 1
        let world = World(limits: limits)
        world.online("bob")
        #expect(world.ask(invite(world.newCall())) != nil)
        #expect(world.ask(invite(world.newCall()))?.code == .limitReached(limit: 1))
        #expect(world.core.census.idleUsers == 0)
        world.step(.drainingBegan(within: .seconds(10)))
        #expect(world.ask(invite(world.newCall(), from: Handle("other")!))?.code == .draining)
        #expect(world.core.census.idleUsers == 1)
    }

    @Test("block lists and forwarding hold as for any caller")
    func rules() throws {
        let carol = world.online("carol")
        _ = world.administer(.block(bob.user, [line]))
        let blocked = world.newCall()
        #expect(world.ask(invite(blocked)) == .success(.inviteEnded(blocked, .declined)))
        #expect(bob.offers(of: blocked).isEmpty)
        _ = world.administer(.unblock(bob.user, [line]))
        _ = world.administer(.forward(bob.user, busy: nil, noAnswer: .user(carol.user), after: .seconds(5)))
        let call = world.newCall()
        _ = world.ask(invite(call))
        let forwarded = try followed(call) { world.advance(.seconds(6)) }
        #expect(forwarded.snapshot.state.isLive)
        #expect(carol.offers(of: call).map(\.from) == [line])
    }

    @Test("on behalf of a user: her phones ring when she is called, and cannot act as the caller")
    func onBehalf() throws {
        let alice = world.online("alice")
        let call = world.newCall()
        _ = world.ask(invite(call, from: alice.user))
        #expect(bob.offers(of: call).map(\.from) == [alice.user])
        #expect(alice.hangUp(call).code == .forbidden)
        #expect(world.ask(.hangup(call, .hangup), as: alice.user, device: nil, scope: .full)?.code == .forbidden)
        let own = world.newCall()
        _ = world.ask(invite(own, from: alice.user, to: .user(alice.user)))
        #expect(alice.offers(of: own).count == 1)
        world.advance(world.timers.tombstone + .seconds(60))
        #expect(world.core.directory.user(alice.user)?.devices.count == 1, "the backend is no device of hers")
        _ = world.administer(.setAlias(Alias(handle: Handle("desk")!, user: alice.user)))
        #expect(world.ask(invite(world.newCall(), from: Handle("desk")!))?.code == .conflict)
    }

    @Test("a token acts for the users of its scope alone, and is told so of other calls, in memory or not")
    func scope() throws {
        let scope = BackendScope(users: ["+4930*", "carol"])
        let call = world.newCall()
        #expect(world.ask(invite(call, from: Handle("alice")!), scope: scope)?.code == .forbidden)
        _ = world.ask(invite(call, from: Handle("alice")!))
        for isInMemory in [true, false] {
            for request in [.get(call), .follow(call, after: 0), .hangup(call, .hangup)] as [BackendRequest] {
                #expect(world.ask(request, scope: scope)?.code == .forbidden)
            }
            #expect(world.ask(invite(call), scope: scope)?.code == .conflict, "its id is taken")
            #expect(world.ask(.get(world.newCall()), scope: scope)?.code == .notFound)
            guard isInMemory else { break }
            _ = world.ask(.hangup(call, .hangup))
            world.advance(world.timers.tombstone + .seconds(1))
        }
        let own = world.newCall()
        #expect(world.ask(invite(own), scope: scope) != nil)
        #expect(try view(world.ask(.get(own), scope: scope)).snapshot.from == line)
    }

    @Test("a call that a device placed can be followed without its content, and not ended as its caller")
    func devicesCall() throws {
        let alice = world.online("alice")
        let call = alice.call(.user(bob.user), sdp: "offer")
        let answered = try followed(call) { bob.answer(call, sdp: "secret") }
        #expect(answered.snapshot.state == .answered && answered.snapshot.sdp == nil)
        #expect(world.ask(.hangup(call, .hangup))?.code == .conflict)
        #expect(world.ask(invite(call, from: alice.user))?.code == .conflict)
    }

    @Test("the phone is told that a backend takes no updates")
    func update() throws {
        let call = world.newCall()
        _ = world.ask(invite(call))
        bob.answer(call)
        #expect(bob.ask(.update(CallUpdate(call: call, kind: .hold))).code == .badState(.answered))
    }

    @Test("a request that waits and is given up is told nothing")
    func givenUp() throws {
        let call = world.newCall()
        _ = world.ask(invite(call))
        let version = try get(call).version
        var waiting: [ConnectionID] = []
        for _ in 0..<10 { waiting.append(world.post(.follow(call, after: version))) }
        world.step(.client(.backend(waiting[5], .number(0), .unfollow(call), BackendScope())))
        #expect(world.core.followers.count == 9)
        bob.ring(call)
        #expect(world.core.followers.count == 0)
        #expect(world.sessionlessAnswers[waiting[9]] != nil && world.sessionlessAnswers[waiting[5]] == nil)
    }
}
