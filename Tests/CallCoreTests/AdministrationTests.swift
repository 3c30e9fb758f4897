import CallVocabulary
import Testing

@testable import CallCore

@Suite struct AdministrationTests {
    let world = World()

    private func code(_ command: AdminCommand) -> AdminRefusal.Code? {
        if case .failure(let refusal) = world.administer(command) { refusal.code } else { nil }
    }

    private func handle(_ text: String) -> Handle { Handle(text)! }

    @Test("groups are set, listed by name, replaced and deleted, and survive a restart")
    func groups() {
        let desk = CallGroup(name: "desk", strategy: .hunt, members: [handle("bob")])
        let all = CallGroup(name: "all", strategy: .all, members: [handle("bob"), handle("carol")])
        #expect(world.administer(.setGroup(desk)) == .success(.done))
        #expect(world.administer(.setGroup(all)) == .success(.done))
        world.restart()
        #expect(world.administer(.listGroups) == .success(.groups([all, desk])))
        #expect(world.administer(.showGroup("desk")) == .success(.group(desk)))
        #expect(world.administer(.deleteGroup("desk")) == .success(.done))
        world.restart()
        #expect(world.administer(.listGroups) == .success(.groups([all])))
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
        #expect(world.administer(.listGroups) == .success(.groups([])))
    }

    @Test("aliases are one step deep, hide no user, and survive a restart")
    func aliases() {
        let phone = world.phone("alice")
        phone.open()
        let number = Alias(handle: handle("+1"), user: handle("alice"))
        #expect(world.administer(.setAlias(number)) == .success(.done))
        world.restart()
        #expect(world.administer(.listAliases) == .success(.aliases([number])))
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
        let alice = world.phone("alice")
        let tablet = world.phone("alice")
        let bob = world.phone("bob")
        for phone in [alice, tablet, bob] { phone.open() }
        tablet.ask(.close)
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
                        UserView(
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
        guard case .success(.groups(let groups)) = world.administer(.listGroups) else { return }
        #expect(groups.map { Array($0.name.utf8) } == [Array(composed.utf8)])
    }
}
