import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

@Suite struct AdministrationTests {
    let world = World()

    private func code(_ command: AdminCommand) -> AdminRefusal.Code? {
        if case .failure(let refusal) = world.administer(command) { refusal.code } else { nil }
    }

    private func handle(_ text: String) -> Handle { Handle(text)! }

    @Test("groups are set, shown, replaced and deleted, and survive a restart")
    func groups() {
        let desk = CallGroup(name: "desk", strategy: .hunt, members: [handle("bob")])
        let all = CallGroup(name: "all", strategy: .all, members: [handle("bob"), handle("carol")])
        #expect(world.administer(.setGroup(desk)) == .success(.done))
        #expect(world.administer(.setGroup(all)) == .success(.done))
        world.restart()
        #expect(world.administer(.showGroup("all")) == .success(.group(all)))
        #expect(world.administer(.showGroup("desk")) == .success(.group(desk)))
        #expect(world.administer(.deleteGroup("desk")) == .success(.done))
        world.restart()
        #expect(world.administer(.showGroup("all")) == .success(.group(all)))
        #expect(code(.showGroup("desk")) == .notFound)
        #expect(code(.deleteGroup("desk")) == .notFound)
    }

    @Test("a group that makes no sense is refused and changes nothing")
    func badGroups() {
        let many = (0...1000).map { handle("m\($0)") }
        for (name, members) in [
            ("no members", []), ("desk", []), ("desk", many), ("desk", [handle("bob"), handle("bob")]), ("", many),
        ] {
            #expect(code(.setGroup(CallGroup(name: name, strategy: .all, members: members))) == .invalidParams)
        }
        #expect(world.store.groups.values.isEmpty)
    }

    @Test("aliases are one step deep, hide no user, and survive a restart")
    func aliases() {
        world.online("alice")
        let number = Alias(handle: handle("+1"), user: handle("alice"))
        #expect(world.administer(.setAlias(number)) == .success(.done))
        world.restart()
        #expect(world.store.aliases.values == [number])
        #expect(code(.setAlias(Alias(handle: handle("+2"), user: handle("+1")))) == .conflict)
        #expect(code(.setAlias(Alias(handle: handle("alice"), user: handle("bob")))) == .conflict)
        #expect(code(.setAlias(Alias(handle: handle("bob"), user: handle("bob")))) == .invalidParams)
        #expect(code(.setUser(handle("+1"), UserPolicyChange(doNotDisturb: true))) == .conflict)
        #expect(code(.showUser(handle("+1"))) == .notFound)
        #expect(world.administer(.setAlias(Alias(handle: handle("+1"), user: handle("bob")))) == .success(.done))
        #expect(world.administer(.setAlias(Alias(handle: handle("+0"), user: handle("+2")))) == .success(.done))
        #expect(code(.setAlias(Alias(handle: handle("+2"), user: handle("bob")))) == .conflict)
        #expect(world.administer(.deleteAlias(handle("+0"))) == .success(.done))
        #expect(world.administer(.setAlias(Alias(handle: handle("+2"), user: handle("bob")))) == .success(.done))
        #expect(code(.deleteAlias(handle("+0"))) == .notFound)
    }

    @Test("a user is shown with policy, aliases, groups, devices and live calls")
    func user() {
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        world.asleep("alice")
        world.administer(.setAlias(Alias(handle: handle("+1"), user: handle("alice"))))
        world.administer(.setGroup(CallGroup(name: "desk", strategy: .all, members: [handle("+1")])))
        world.administer(.setUser(handle("alice"), UserPolicyChange(callWaiting: false)))
        world.administer(.setUser(handle("alice"), UserPolicyChange(decline: .device)))
        alice.call(bob)
        var policy = UserPolicy()
        policy.callWaiting = false
        policy.decline = .device
        #expect(
            world.administer(.showUser(handle("alice")))
                == .success(
                    .user(
                        UserSummary(
                            handle: handle("alice"), policy: policy, aliases: [handle("+1")], groups: ["desk"],
                            devices: 2, devicesOnline: 1, liveCalls: 1))))
        #expect(code(.showUser(handle("nobody"))) == .notFound)
    }

    @Test("names that look alike and differ in their bytes are two groups")
    func lookalikes() {
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        for name in [composed, decomposed] {
            world.administer(.setGroup(CallGroup(name: name, strategy: .all, members: [handle("bob")])))
        }
        world.administer(.deleteGroup(decomposed))
        world.restart()
        #expect(world.store.groups.values.map { Array($0.name.utf8) } == [Array(composed.utf8)])
        #expect(code(.showGroup(decomposed)) == .notFound && code(.showGroup(composed)) == nil)
    }

    @Test(
        "an administrator ends a call in any state, for everybody, once",
        arguments: [CallState.waking, .ringing, .answered, .connected])
    func endCall(state: CallState) throws {
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        if state == .waking { bob.ask(.close) }
        let call = alice.call(bob)
        if state != .waking { bob.ring(call) }
        if state == .answered || state == .connected { bob.answer(call) }
        if state == .connected {
            alice.connect(call, with: bob)
        }
        #expect(world.store.calls[call]?.state == state)
        #expect(world.administer(.endCall(call)) == .success(.done))
        let record = try #require(world.store.calls[call])
        #expect(record.state == .ended && record.endReason == .admin && record.endedBy == nil)
        #expect(alice.endings(of: call).map(\.reason) == [.admin])
        #expect(bob.endings(of: call).map(\.reason) == (state == .waking ? [] : [.admin]))
        #expect(world.core.liveCalls == 0)
        #expect(code(.endCall(call)) == .conflict)
        #expect(code(.endCall(world.newCall())) == .notFound)
        #expect(alice.endings(of: call).count == 1)
    }

    @Test("a session that is dropped is gone for good: its socket is closed, it cannot be resumed, its calls go on")
    func dropSession() {
        let (alice, bob) = (world.online("alice"), world.online("bob"))
        let call = alice.call(bob)
        #expect(world.administer(.dropSession(bob.user, bob.id)) == .success(.done))
        #expect(bob.closes == [.dropped])
        #expect(world.roster.sessions.count == 1)
        // As when the device goes away for good: the call wakes it.
        #expect(world.store.pushes.values.map(\.call) == [call])
        #expect(code(.dropSession(bob.user, bob.id)) == .notFound)
        bob.resume()
        #expect(bob.session?.resumed == false)
        #expect(bob.answer(call).reply == .won)
        bob.lose()
        // Also one that is only away; with it goes a call that is up.
        #expect(world.administer(.dropSession(bob.user, bob.id)) == .success(.done))
        #expect(world.store.calls[call]?.endReason == .connectionLost)
    }
}
