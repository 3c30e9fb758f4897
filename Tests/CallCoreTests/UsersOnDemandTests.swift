import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Users come into memory when they are needed, and leave it when they are not.
@Suite struct UsersOnDemandTests {
    /// One idle user stays in memory.
    private static func small(lookUps: Int = 10_000) -> World {
        var limits = CoreLimits()
        (limits.idleUsers, limits.lookUps) = (1, lookUps)
        return World(limits: limits)
    }

    private static func isInMemory(_ phone: Phone, _ world: World) -> Bool {
        world.core.directory.user(phone.user) != nil
    }

    // MARK: Coming

    @Test("a user is looked up once, and not again while in memory")
    func once() {
        let world = World()
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        let before = world.core.counters.usersLookedUp
        #expect(before == 2)
        for _ in 0..<3 {
            alice.hangUp(alice.call(bob))
            bob.open()
            bob.ask(.close)
        }
        #expect(world.core.counters.usersLookedUp == before)
    }

    @Test("a member of a group, an alias and the user behind it come into memory for a call, however small that is")
    func names() throws {
        let world = Self.small()
        let alice = world.online("alice")
        let members = (0..<5).map { world.asleep("m\($0)") }
        let number = try #require(Handle("+1"))
        world.administer(.setAlias(Alias(handle: number, user: members[4].user)))
        let names = members.prefix(4).map(\.user) + [number]
        world.administer(.setGroup(CallGroup(name: "desk", strategy: .all, members: names)))
        world.asleep("zoe")
        #expect(members.allSatisfy { !Self.isInMemory($0, world) })
        let call = alice.call(.group("desk"))
        #expect(members.allSatisfy { world.push(call, to: $0)?.status == .intended })
        #expect(world.core.census.users == 7 && world.core.census.idleUsers == 1)
        alice.hangUp(call)
        let one = alice.call(.user(number))
        #expect(world.push(one, to: members[4]) != nil)
    }

    @Test("a session that opens is told of its missed calls, its policy and its live calls after it was out of memory")
    func whole() throws {
        let world = Self.small()
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        world.administer(.setUser(bob.user, UserPolicyChange(callWaiting: false)))
        let missed = alice.call(bob)
        alice.hangUp(missed)
        world.advance(world.timers.tombstone)
        world.asleep("zoe")
        #expect(!Self.isInMemory(bob, world))
        let live = alice.call(bob)
        bob.open()
        #expect(bob.session?.missed.map(\.call) == [missed] && bob.session?.calls.map(\.call) == [live])
        #expect(bob.answer(live).reply == .won)
        let carol = world.online("carol")
        let second = carol.call(bob)
        #expect(world.store.calls[second]?.endReason == .busy)
    }

    @Test("what a client sends behind session.open is handled in its order once the user is looked up")
    func pipelined() {
        let world = Self.small()
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        world.asleep("zoe")
        world.holdsNextLookUp = true
        bob.sendOpen()
        let call = world.newCall()
        bob.send(.invite(Invite(call: call, to: .user(alice.user))), .get(call), .updateDevice(push: []))
        #expect(bob.unanswered == 4 && world.core.lookUpCount == 4)
        world.answerHeld()
        #expect(bob.unanswered == 0 && world.core.lookUpCount == 0)
        #expect(alice.offers(of: call).count == 1 && world.store.devices[bob.key]?.tokens == [])
    }

    @Test("what waited behind session.open may have to wait again, and keeps its order")
    func pipelinedTwice() {
        let world = Self.small()
        world.listsCalls = false
        world.restart()
        let (bob, carol) = (world.asleep("bob"), world.asleep("carol"))
        world.asleep("zoe")
        world.asleep("yan")
        world.answersUserLookUps = false
        world.answersSearches = false
        bob.sendOpen()
        let call = world.newCall()
        let invite = ClientRequest.invite(Invite(call: call, to: .user(carol.user)))
        let unknown = world.newCall()
        bob.send(invite, invite, .get(unknown), .get(unknown))
        bob.send(["c1"], of: call)
        bob.send(.updateDevice(push: [.voip("t1")]), .updateDevice(push: [.voip("t2")]))
        #expect(bob.unanswered == 7)
        while !world.lookUps.isEmpty { world.answerLookUps() }
        #expect(bob.unanswered == 0 && world.core.lookUpCount == 0)
        #expect(world.store.calls.values.map(\.id) == [call])
        #expect(world.store.candidates.flatMap(\.candidates) == [RawJSON("c1")])
        #expect(world.store.devices[bob.key]?.tokens.map(\.token) == [.voip("t2")])
    }

    @Test("of two sessions that one device opens the newer one counts, also when the older one waits for the store")
    func reopened() {
        let world = Self.small()
        let bob = world.asleep("bob")
        world.asleep("zoe")
        world.asleep("yan")
        world.holdsNextLookUp = true
        bob.sendOpen()
        bob.open()
        world.answerHeld()
        #expect(bob.closes == [.normal, .replaced] && world.core.onlineSessions == 1 && world.core.lookUpCount == 0)
    }

    @Test("who is turned away gets no answer to what was sent behind the session.open, as the socket closes")
    func turnedAway() {
        let world = Self.small()
        let bob = world.asleep("bob")
        world.administer(.revokeTokens(bob.user, before: nil))
        world.asleep("zoe")
        world.asleep("yan")
        bob.issuedAt = world.now + .seconds(-1)
        world.holdsNextLookUp = true
        bob.sendOpen()
        bob.send(.list(after: nil, limit: nil))
        world.answerHeld()
        #expect(bob.closes == [.normal, .badToken] && bob.unanswered == 1 && world.core.lookUpCount == 0)
    }

    @Test("a connection that is lost while its user is looked up leaves nothing behind")
    func lost() {
        let world = Self.small()
        let bob = world.asleep("bob")
        world.asleep("zoe")
        world.holdsNextLookUp = true
        bob.sendOpen()
        bob.send(.list(after: nil, limit: nil))
        bob.lose()
        #expect(world.core.lookUpCount == 0 && world.core.nextDeadline() == nil)
        world.answerHeld()
        #expect(world.core.onlineSessions == 0 && !Self.isInMemory(bob, world))
    }

    // MARK: Answers

    @Test("a store that does not answer, or cannot be read, puts the request off; a late answer changes nothing")
    func putOff() {
        let world = Self.small()
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        world.asleep("zoe")
        for isFailing in [false, true] {
            world.holdsNextLookUp = true
            alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
            if isFailing { world.answerHeld(failing: true) } else { world.advance(CallCore.lookUpPatience) }
            #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)))
            world.answerHeld()
            #expect(world.core.liveCalls == 0 && world.core.lookUpCount == 0)
        }
        #expect(world.store.calls.values.isEmpty)
        #expect(world.push(alice.call(bob), to: bob) != nil)
    }

    @Test("the target of a forwarding is looked up three times; then the call ends as if there was no forwarding")
    func forwardedInVain() {
        let world = Self.small()
        let (alice, bob, carol) = (world.online("alice"), world.online("bob"), world.asleep("carol"))
        world.administer(.forward(bob.user, busy: nil, noAnswer: .user(carol.user), after: .seconds(5)))
        let call = alice.call(bob)
        world.asleep("zoe")
        world.asleep("yan")
        #expect(!Self.isInMemory(carol, world))
        world.answersUserLookUps = false
        world.advance(.seconds(5))
        for attempt in 1...3 {
            #expect(world.lookUps.count == attempt && world.store.calls[call]?.state.isLive == true)
            world.advance(CallCore.lookUpPatience)
        }
        #expect(world.lookUps.count == 3 && world.store.calls[call]?.endReason == .ringTimeout)
        world.answerLookUps()
        #expect(world.store.calls[call]?.forwards.isEmpty == true)
    }

    @Test(
        "a stop of the process, however short or long, takes half of the store's time at most",
        arguments: [0, 499, 5000])
    func stopped(late: Int) {
        let world = Self.small()
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        world.asleep("zoe")
        world.holdsNextLookUp = true
        alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
        world.stall(CallCore.lookUpPatience + .milliseconds(late))
        world.advance(.zero)
        world.advance(CallCore.halfPatience - .milliseconds(1))
        #expect(world.core.lookUpCount == 1)
        world.answerHeld()
        #expect(world.core.liveCalls == 1)
    }

    @Test("only so many requests wait, and administrators' commands wait in their order")
    func bound() {
        let world = Self.small(lookUps: 3)
        let alice = world.online("alice")
        world.holdsNextLookUp = true
        alice.send(.invite(Invite(call: world.newCall(), to: .user(Handle("x1")!))))
        for number in 1...2 {
            world.step(
                .administered(
                    AdminRequestID(serial: UInt64(number)),
                    .setUser(Handle("x2")!, UserPolicyChange(doNotDisturb: number == 2))))
        }
        #expect(world.store.users[Handle("x2")!]?.policy.doNotDisturb == true)
        alice.send(.invite(Invite(call: world.newCall(), to: .user(Handle("x3")!))))
        #expect(world.core.counters.hits(of: .lookUps) == 0)
        world.answersUserLookUps = false
        for name in ["x4", "x5", "x6"] { alice.send(.invite(Invite(call: world.newCall(), to: .user(Handle(name)!)))) }
        #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)))
        #expect(world.core.counters.hits(of: .lookUps) == 1 && world.core.lookUpCount == 3)
        let refused = world.administer(.setUser(Handle("x7")!, UserPolicyChange(doNotDisturb: true)))
        guard case .failure(let refusal) = refused else {
            Issue.record("an administrator waits as well")
            return
        }
        #expect(refusal.code == .overloaded)
    }

    @Test("an answer from before a user changed and left memory again is asked once more")
    func stale() {
        let world = Self.small()
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        world.asleep("zoe")
        world.holdsNextLookUp = true
        alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
        let early = world.store.found(world.held!.wanted)
        // Bob gets a policy, and makes room for two others.
        world.administer(.setUser(bob.user, UserPolicyChange(doNotDisturb: true)))
        world.asleep("yan")
        world.asleep("xia")
        #expect(!Self.isInMemory(bob, world))
        world.answerHeld(with: early)
        #expect(world.store.calls.values.last?.endReason == .declined)
    }

    // MARK: Push tokens

    @Test("a token moves from a device that is not in memory", arguments: [false, true])
    func theft(byUpdate: Bool) {
        let world = Self.small()
        let token = PushToken.voip("one phone")
        let bob = world.asleep("bob", tokens: [token])
        world.asleep("zoe")
        #expect(!Self.isInMemory(bob, world))
        let carol = world.phone("carol", tokens: byUpdate ? [] : [token])
        carol.open()
        if byUpdate { carol.ask(.updateDevice(push: [token])) }
        #expect(world.store.devices[carol.key]?.tokens.map(\.token) == [token])
        #expect(world.store.devices[bob.key]?.tokens == [])
        // And it stays so.
        world.restart()
        let call = world.online("alice").call(.users([bob.user, carol.user]))
        #expect(world.push(call, to: bob) == nil && world.push(call, to: carol) != nil)
    }

    @Test("changes of tokens keep their order while the store is asked, and nothing else waits for them")
    func updates() {
        let world = Self.small()
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        world.holdsNextLookUp = true
        bob.send(.updateDevice(push: [.voip("first")]), .updateDevice(push: [.voip("second")]))
        let call = alice.call(bob)
        #expect(bob.answer(call).reply == .won && bob.unanswered == 2)
        world.answerHeld()
        #expect(bob.unanswered == 0)
        #expect(world.store.devices[bob.key]?.tokens.map(\.token) == [.voip("second")])
    }

    // MARK: Leaving

    @Test("a user leaves memory only once the store's tables contain what was written")
    func settled() {
        let world = Self.small()
        world.settles = false
        let phones = (0..<4).map { world.asleep("u\($0)") }
        #expect(phones.allSatisfy { Self.isInMemory($0, world) })
        world.settle()
        // The first settling began with the second user.
        #expect(phones.map { Self.isInMemory($0, world) } == [false, false, true, true])
        world.settle()
        #expect(world.core.census.users == 1)
    }

    @Test("a call leaves memory only once the store's tables contain it")
    func settledCalls() {
        let (world, alice, bob) = World.pair()
        world.settles = false
        let call = alice.call(bob)
        alice.hangUp(call)
        world.advance(world.timers.tombstone + .seconds(60))
        #expect(world.core.calls[call] != nil && world.unsettled != nil)
        world.settle()
        #expect(world.core.calls[call] == nil)
        #expect(alice.ask(.get(call)).snapshot?.state == .ended)
    }

    @Test("a store that cannot settle is asked again after a while")
    func unsettled() {
        let world = Self.small()
        world.settles = false
        for number in 0..<4 { world.asleep("u\(number)") }
        let first = world.unsettled
        world.advance(CallCore.settlePatience)
        world.asleep("u4")
        #expect(first == 1 && world.unsettled == 2)
        world.settle()
        #expect(world.core.census.idleUsers <= 2)
    }

    @Test("devices that are too old are dropped as they are read, however many there are")
    func tooOld() {
        var (timers, limits) = (CallTimers(), CoreLimits())
        timers.deviceAge = .seconds(86_400)
        limits.idleUsers = 1
        let world = World(timers: timers, limits: limits)
        let phones = (0..<50).map { world.asleep("u\($0)") }
        world.advance(.seconds(3600))
        world.restart()
        world.stall(.seconds(86_400))
        let fresh = world.asleep("u0")
        world.readUnseen()
        // Of a user in memory the deadline drops it, and else the next pass.
        world.advance(.seconds(1))
        world.readUnseen()
        #expect(phones.allSatisfy { world.store.devices[$0.key] == nil })
        #expect(world.store.devices[fresh.key] != nil && world.core.census.idleUsers <= 1)
    }

    @Test("thousands come and go, and those with a session, a call, or a notice stay")
    func many() throws {
        let world = Self.small()
        let alice = world.online("alice")
        let (bob, carol) = (world.asleep("bob"), world.asleep("carol"))
        let call = alice.call(bob)
        world.administer(.setUser(carol.user, UserPolicyChange(missedCalls: .alert)))
        alice.hangUp(alice.call(.user(carol.user)))
        for number in 0..<1000 { world.asleep("u\(number)") }
        #expect(Self.isInMemory(bob, world) && world.core.census.users <= 4)
        bob.open()
        #expect(bob.answer(call).reply == .won)
    }

    @Test("rate limits that are spent keep their user in memory until they are full again")
    func bounds() throws {
        var limits = CoreLimits()
        (limits.idleUsers, limits.pushesPerDevice, limits.endedCalls) = (1, 2, 1)
        limits.pushingCallsPerPair = 100
        let world = World(limits: limits)
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        for _ in 0..<2 { alice.hangUp(alice.call(bob)) }
        for number in 0..<40 { world.asleep("u\(number)") }
        alice.hangUp(alice.call(.user(Handle("nobody")!)))
        alice.hangUp(alice.call(.user(Handle("nobody")!)))
        #expect(Self.isInMemory(bob, world))
        alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
        guard case .rateLimited = alice.lastAnswer?.code else {
            Issue.record("the limit was forgotten: \(String(describing: alice.lastAnswer))")
            return
        }
        world.advance(world.timers.pushWindow)
        for number in 0..<40 { world.asleep("v\(number)") }
        #expect(!Self.isInMemory(bob, world))
    }
}
