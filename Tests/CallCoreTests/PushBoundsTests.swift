import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// How often calls push: bounds of a pair, a device and a caller that people do not reach.
@Suite final class PushBoundsTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    private func invite(_ caller: Phone, _ to: CallTarget) -> Result<Reply, SignalError> {
        caller.ask(.invite(Invite(call: world.newCall(), to: to)))
    }

    /// As often as it goes in ten seconds: invite, hang up, and again. Returns how often the phone was pushed.
    private func spam(_ caller: Phone, _ to: CallTarget, times: Int = 250) -> Int {
        var refusals = 0
        for _ in 0..<times {
            let call = world.newCall()
            let answer = caller.ask(.invite(Invite(call: call, to: to)))
            if case .rateLimited(let wait)? = answer.code {
                refusals += 1
                #expect(wait > .zero && wait <= world.timers.pushWindow)
            }
            for push in world.store.pushes.values where push.call == call && push.status == .intended {
                world.makeReady(push.id)
                world.settle(push.id, .accepted)
            }
            if answer.code == nil { caller.hangUp(call) }
            world.advance(.milliseconds(40))
        }
        #expect(refusals > 0)
        return world.provider.sent.count
    }

    @Test(
        "invite, hang up, and again: a phone is pushed seven times in eight seconds, and the caller is told when to go on"
    )
    func pair() throws {
        #expect(spam(alice, .user(bob.user), times: 200) == 7)
        let wait = try #require(invite(alice, .user(bob.user)).error)
        guard case .rateLimited(let retryAfter) = wait.code else { return #expect(Bool(false), "\(wait)") }
        world.advance(retryAfter)
        #expect(invite(alice, .user(bob.user)).code == nil)
        #expect(world.core.counters.hits(of: .pushingCallsPerPair) > 0)
    }

    @Test("six calls in a row are nobody's business, and one each five seconds from then on")
    func people() {
        for _ in 0..<6 {
            let call = alice.call(bob)
            #expect(world.push(call, to: bob)?.status == .intended)
            alice.hangUp(call)
        }
        for _ in 0..<20 {
            world.advance(.seconds(5))
            let call = alice.call(bob)
            #expect(world.push(call, to: bob)?.status == .intended)
            alice.hangUp(call)
        }
        #expect(world.core.counters.limitsHit == 0)
    }

    @Test("many callers, lists and aliases: the phone's own bound holds", arguments: ["callers", "list", "alias"])
    func device(way: String) {
        switch way {
        case "callers":
            var pushes = 0
            for number in 0..<30 {
                let caller = world.online("caller\(number)")
                let call = caller.call(bob)
                if world.push(call, to: bob) != nil { pushes += 1 }
                caller.hangUp(call)
            }
            #expect(pushes == 10)
        case "list": #expect(spam(alice, .users([bob.user, Handle("nobody")!])) <= 14)
        default:
            world.administer(.setAlias(Alias(handle: Handle("robert")!, user: bob.user)))
            #expect(spam(alice, .user(Handle("robert")!)) == 7)
        }
    }

    @Test("a token that goes from device to device takes along how often it was pushed")
    func movedToken() {
        var pushes = 0
        for number in 0..<30 {
            let phone = world.asleep("callee\(number % 3)", tokens: bob.tokens)
            let caller = world.online("caller\(number)")
            let call = caller.call(phone)
            if world.push(call, to: phone) != nil { pushes += 1 }
            caller.hangUp(call)
        }
        #expect(pushes == 10)
    }

    @Test("a caller who goes from phone to phone is stopped after sixty")
    func caller() {
        var refused = 0
        for number in 0..<100 {
            let phone = world.asleep("phone\(number)")
            if invite(alice, .user(phone.user)).error != nil { refused += 1 }
        }
        #expect(refused == 40)
        #expect(world.core.counters.hits(of: .pushingCallsPerCaller) == 40)
    }

    private func pushes(of call: CallID) -> Int {
        world.store.pushes.values.count { $0.call == call && $0.purpose == .call }
    }

    @Test("a call to a group of a thousand is one call of its caller, and counts once for each phone")
    func group() throws {
        let members = (0..<300).map { world.asleep("member\($0)") }
        world.administer(.setGroup(CallGroup(name: "all", strategy: .all, members: members.map(\.user))))
        for expected in [300, 300, 300, 100] {
            let call = alice.call(.group("all"))
            #expect(pushes(of: call) == expected)
            alice.hangUp(call)
        }
        #expect(world.core.counters.hits(of: .pushingCallsPerCaller) == 0)
        #expect(world.core.counters.hits(of: .pushesPerCaller) == 200)
        guard case .rateLimited(let wait)? = invite(alice, .group("all")).code else {
            Issue.record("the caller's pushes are not bounded")
            return
        }
        #expect(wait > .zero && wait <= world.timers.pushWindow)
        // Another caller's go on at once.
        let carol = world.online("carol")
        #expect(pushes(of: carol.call(.group("all"))) == 300)
    }

    @Test("a list is a call to each of its users: three hundred strangers are not pushed faster than one by one")
    func strangers() {
        let strangers = (0..<300).map { world.asleep("stranger\($0)") }
        let first = alice.call(.users(strangers.map(\.user)))
        #expect(pushes(of: first) == 60)
        alice.hangUp(first)
        for _ in 0..<9 {
            guard case .rateLimited(let wait)? = invite(alice, .users(strangers.map(\.user))).code else {
                Issue.record("a list evades the bound")
                return
            }
            #expect(wait > .zero && wait <= world.timers.pushWindow)
        }
        #expect(world.store.pushes.values.count == 60)
        let carol = world.online("carol")
        #expect(world.push(carol.call(strangers[0]), to: strangers[0])?.status == .intended)
    }

    @Test(
        "whatever way a call names somebody, a pair is bounded as if it named that user alone",
        arguments: ["alone", "list", "long list", "group", "alias", "forwarding"])
    func everyWay(way: String) {
        let carol = world.asleep("carol")
        let crowd = (0..<20).map { Handle("nobody\($0)")! }
        let target: CallTarget
        switch way {
        case "alone": target = .user(carol.user)
        case "list": target = .users([carol.user, Handle("nobody")!])
        case "long list": target = .users(crowd + [carol.user])
        case "group":
            world.administer(.setGroup(CallGroup(name: "two", strategy: .all, members: [carol.user, crowd[0]])))
            target = .group("two")
        case "alias":
            world.administer(.setAlias(Alias(handle: Handle("al")!, user: carol.user)))
            target = .users([Handle("al")!, crowd[0]])
        default:
            let dave = world.asleep("dave", pushable: false)
            world.administer(.forward(dave.user, busy: nil, noAnswer: .user(carol.user), after: nil))
            target = .user(dave.user)
        }
        for _ in 0..<10 {
            let call = world.newCall()
            if alice.ask(.invite(Invite(call: call, to: target))).error == nil { alice.hangUp(call) }
        }
        #expect(world.store.pushes.values.count { $0.device == carol.key } == 6)
        // Those of another caller are another pair.
        let erin = world.online("erin")
        #expect(world.push(erin.call(target), to: carol)?.status == .intended)
    }

    @Test("pushes about missed calls are bounded by their caller as well")
    func missed() {
        var (limits, policy) = (CoreLimits(), UserPolicy())
        limits.pushesPerCaller = 5
        policy.missedCalls = .alert
        let world = World(limits: limits, policy: policy)
        let (alice, carol) = (world.online("alice"), world.online("carol"))
        let phones = (0..<20).map { world.asleep("user\($0)", tokens: [.alert("a\($0)")]) }
        func notices() -> Int { world.store.pushes.values.count { $0.purpose == .missedCall } }
        alice.hangUp(alice.call(.users(phones.map(\.user))))
        #expect(world.store.pushes.values.count { $0.purpose == .call } == 5 && notices() == 5)
        #expect(world.store.missed.count == 20)
        carol.hangUp(carol.call(phones[19]))
        #expect(notices() == 6)
    }

    @Test("calls to phones that are online are not bounded, and are told without a push beyond the bound")
    func online() {
        for _ in 0..<10 { alice.hangUp(alice.call(bob)) }
        bob.open()
        for _ in 0..<50 {
            let call = alice.call(bob)
            #expect(bob.offers(of: call).count == 1)
            alice.hangUp(call)
        }
        bob.ask(.state(.background))
        let call = alice.call(bob)
        #expect(bob.offers(of: call).count == 1)
        #expect(world.push(call, to: bob) == nil, "the bound of the pair is spent")
        #expect(bob.answer(call).reply == .won)
    }

    @Test("of a group only the members are skipped who were pushed too often")
    func skipped() {
        let carol = world.asleep("carol")
        for number in 0..<10 {
            let caller = world.online("caller\(number)")
            caller.hangUp(caller.call(bob))
        }
        world.administer(.setGroup(CallGroup(name: "two", strategy: .all, members: [bob.user, carol.user])))
        let call = alice.call(.group("two"))
        #expect(world.push(call, to: bob) == nil)
        #expect(world.push(call, to: carol)?.status == .intended)
    }

    @Test("a repeated invite is answered as before, whatever is spent")
    func repeated() {
        let call = alice.call(bob)
        for _ in 0..<10 { alice.call(bob) }
        #expect(alice.ask(.invite(Invite(call: call, to: .user(bob.user)))).reply != nil)
    }

    @Test("what is kept of pairs is gone after the window")
    func memory() {
        var bounds = PairBounds()
        for number in 0..<1000 {
            bounds.spend(Handle("u\(number)")!, at: Instant(milliseconds: Int64(number)), 6, in: .seconds(30))
        }
        #expect(bounds.count == 1000 && !bounds.isFull(at: Instant(milliseconds: 30_000), in: .seconds(30)))
        bounds.spend(bob.user, at: Instant(milliseconds: 31_000), 6, in: .seconds(30))
        #expect(bounds.count == 1 && bounds.isFull(at: Instant(milliseconds: 61_000), in: .seconds(30)))
        for number in 0..<20_000 {
            bounds.spend(Handle("u\(number)")!, at: Instant(milliseconds: 31_001), 6, in: .seconds(30))
        }
        #expect(bounds.count <= 10_000)
    }

    @Test("many small amounts are as much as the whole burst", arguments: [7, 4 << 20, 100 << 20, 1 << 40])
    func smallAmounts(burst: Int) throws {
        let (now, window) = (Instant(milliseconds: 1000), Duration.seconds(60))
        var bound = RateBound()
        let part = max(1, burst / 100_000)
        var spent = 0
        while spent < burst, bound.nextAllowed(part, at: now, burst, in: window) == nil {
            bound.spend(part, at: now, burst, in: window)
            spent += part
        }
        // All of it, but for a part that is rounded.
        #expect(spent >= burst - 2 * part || burst == 7 && spent == 7)
        let next = try #require(bound.nextAllowed(part, at: now, burst, in: window))
        #expect(next > now && next <= now + window / burst * part + .milliseconds(1))
        #expect(bound.nextAllowed(part, at: next, burst, in: window) == nil)
    }

    @Test("a clock that is set back refuses nobody for long")
    func clock() {
        var bound = RateBound()
        for _ in 0..<6 { bound.spend(at: Instant(milliseconds: 7_200_000), 6, in: .seconds(30)) }
        #expect(bound.nextAllowed(at: Instant(milliseconds: 7_200_000), 6, in: .seconds(30)) != nil)
        #expect(bound.nextAllowed(at: Instant(milliseconds: 0), 6, in: .seconds(30)) == nil)
    }
}
