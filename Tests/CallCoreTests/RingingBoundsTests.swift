import ByteMutation
import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// How many calls ring at one user at once, and how large they are: each new session of the user is offered all of them.
@Suite final class RingingBoundsTests {
    let (world, alice, bob) = World.pair()

    private func invite(_ caller: Phone, _ to: CallTarget, bytes: Int = 0) -> (call: CallID, refusal: SignalError?) {
        let call = world.newCall()
        let sdp = bytes == 0 ? nil : RawJSON("s".padded(to: bytes))
        return (call, caller.ask(.invite(Invite(call: call, to: to, sdp: sdp))).error)
    }

    /// Places so many calls, and returns those that were accepted.
    private func flood(_ caller: Phone, _ to: CallTarget, bytes: Int = 0, times: Int = 60) -> [CallID] {
        var calls: [CallID] = []
        for _ in 0..<times {
            let (call, refusal) = invite(caller, to, bytes: bytes)
            switch refusal?.code {
            case nil: calls.append(call)
            case .rateLimited(let wait)?: #expect(wait > .zero && wait <= world.timers.ring)
            case let code?: Issue.record("\(code)")
            }
        }
        return calls
    }

    private func ringing(at phone: Phone) -> Int {
        world.store.legs.values.count { $0.device == phone.key && $0.state != .ended }
    }

    private func hits(_ limit: CoreLimit) -> UInt64 { world.core.counters.hits(of: limit) }

    @Test("of sixty calls of 30 kB by one caller a few ring, and each new session is offered those")
    func large() throws {
        let calls = flood(alice, .user(bob.user), bytes: 30_000)
        #expect(calls.count == world.limits.ringingPairBytes / 30_005, "with the callee's name in quotation marks")
        #expect(hits(.ringingPairBytes) == UInt64(60 - calls.count))
        for _ in 0..<2 {
            let before = bob.events.count
            let opened = try #require(bob.open().opened)
            #expect(opened.calls.map(\.call) == calls.reversed())
            let offered = bob.events[before...].compactMap { event -> CallID? in
                if case .incoming(let offer) = event { offer.call } else { nil }
            }
            #expect(offered == calls)
        }
    }

    @Test("the calls of many callers are bounded together, in number and in bytes", arguments: [0, 20_000])
    func together(bytes: Int) {
        for number in 0..<20 { _ = flood(world.online("caller\(number)"), .user(bob.user), bytes: bytes, times: 10) }
        let most = bytes == 0 ? world.limits.ringingCallsPerCallee : world.limits.ringingCalleeBytes / (bytes + 5)
        #expect(ringing(at: bob) == most)
        #expect(hits(bytes == 0 ? .ringingCallsPerCallee : .ringingCalleeBytes) > 0)
        let carol = world.online("carol")
        #expect(invite(bob, .user(carol.user)).refusal == nil, "who is rung can place calls")
        #expect(invite(alice, .user(carol.user)).refusal == nil, "and others can be called")
    }

    @Test("who is refused may call again when one of the calls is over, at the latest after the time that was told")
    func again() throws {
        let calls = flood(alice, .user(bob.user), times: 10)
        #expect(calls.count == world.limits.ringingCallsPerPair)
        #expect(alice.ask(.invite(Invite(call: calls[0], to: .user(bob.user)))).reply != nil, "it is repeated")
        bob.ack()
        world.advance(.seconds(5))
        let refusal = try #require(invite(alice, .user(bob.user)).refusal)
        #expect(refusal.code == .rateLimited(retryAfter: world.timers.ring - .seconds(5)))
        #expect(refusal.message == "Too many calls ring there already (ringing_calls_per_pair); call again in 40 s.")
        bob.decline(calls[0])
        #expect(invite(alice, .user(bob.user)).refusal == nil)
        #expect(invite(alice, .user(bob.user)).refusal != nil)
        world.advance(world.timers.ring - .seconds(5))
        #expect(flood(alice, .user(bob.user), times: 20).count == 9, "one rings since the decline")
    }

    @Test("the candidates that wait with a call count, too")
    func candidates() {
        for _ in 0..<6 { alice.send(["c".padded(to: 44_000)], of: invite(alice, .user(bob.user)).call) }
        #expect(invite(alice, .user(bob.user)).refusal != nil)
        #expect(hits(.ringingPairBytes) == 1)
    }

    @Test("calls that were hung up count until the callee has acknowledged them, or for half a minute")
    func unread() {
        func rung(_ times: Int) -> Int {
            (0..<times).count { _ in
                let (call, refusal) = invite(alice, .user(bob.user), bytes: 30_000)
                if refusal == nil { alice.hangUp(call) }
                return refusal == nil
            }
        }
        let most = world.limits.ringingPairBytes / 30_005
        #expect(rung(60) == most)
        #expect(invite(alice, .user(bob.user), bytes: 30_000).refusal?.code == .rateLimited(retryAfter: .seconds(1)))
        let carol = world.online("carol")
        #expect(bob.offers(of: invite(carol, .user(bob.user), bytes: 30_000).call).count == 1)
        bob.ack()
        #expect(rung(60) == most)
        world.advance(world.timers.pushWindow)
        #expect(rung(60) == most)
    }

    @Test("candidates that followed an offer count with a call that was hung up, too")
    func unreadCandidates() {
        func rung(_ times: Int) -> Int {
            (0..<times).count { _ in
                let (call, refusal) = invite(alice, .user(bob.user))
                guard refusal == nil else { return false }
                alice.send(["c".padded(to: 44_000)], of: call)
                alice.hangUp(call)
                return true
            }
        }
        #expect(rung(20) == 6)
        bob.ack()
        #expect(rung(20) == 6)
    }

    enum Way: CaseIterable { case alias, list, group, hunt, forwarded }

    @Test("an alias, lists, groups and forwarding lead around no bound", arguments: Way.allCases)
    func ways(_ way: Way) {
        world.administer(.setAlias(Alias(handle: Handle("robert")!, user: bob.user)))
        for number in 0..<30 {
            let other = Handle("other\(number)")!
            if way != .forwarded { world.online(other.text) }
            switch way {
            case .alias: _ = invite(alice, .user(Handle("robert")!))
            case .list: _ = invite(alice, .users([bob.user, other]))
            case .group, .hunt:
                let group = CallGroup(
                    name: "group\(number)", strategy: way == .hunt ? .hunt : .all, members: [bob.user, other])
                world.administer(.setGroup(group))
                _ = invite(alice, .group(group.name))
            case .forwarded:
                world.administer(.forward(other, busy: nil, noAnswer: .user(bob.user), after: nil))
                _ = invite(alice, .user(other))
            }
        }
        #expect(ringing(at: bob) == world.limits.ringingCallsPerPair)
        guard way == .list || way == .group else { return }
        #expect(world.core.liveCalls == 30, "the others ring")
    }

    @Test("a user who comes late to many calls is offered the oldest within the bounds, on each device")
    func late() {
        let zoe = world.phone("zoe")
        let calls = (0..<30).map { number in
            alice.call(.users([zoe.user, world.online("other\(number)").user]))
        }
        let tablet = world.phone("zoe")
        for device in [zoe, tablet] {
            device.open()
            let offered = calls.filter { !device.offers(of: $0).isEmpty }
            #expect(offered == Array(calls.prefix(world.limits.ringingCallsPerPair)))
        }
    }

    /// A user who is a callee of so many calls, of which most may not ring there.
    private static func callee(amid count: Int) -> (world: World, zoe: Phone) {
        var limits = CoreLimits()
        limits.liveCallsPerUser = count
        let world = World(limits: limits)
        let (alice, zoe) = (world.online("alice"), world.phone("zoe"))
        for number in 0..<count {
            // Ten ring at each of the others.
            if number % 10 == 0 { world.online("other\(number / 10)") }
            alice.call(.users([zoe.user, Handle("other\(number / 10)")!]))  // A handle.
        }
        #expect(world.core.liveCalls == count)
        zoe.open()
        #expect(world.core.counters.hits(of: .ringingCallsPerPair) == UInt64(count - 10))
        return (world, zoe)
    }

    @Test("a session opens in twice the time amid twice as many calls that may not ring there")
    func linear() {
        let growth = WorstInput.growth(at: 400, of: Self.callee) { $0.zoe.open() }
        #expect(growth <= WorstInput.mostGrowth)
    }

    @Test("each bound lets the largest call through")
    func relations() {
        let limits = CoreLimits()
        #expect(limits.ringingPairBytes >= FrameLimits.content)
        #expect(limits.ringingPairBytes <= limits.ringingCalleeBytes)
        #expect(limits.legsPerCall <= limits.candidateEventsPerCaller)
        #expect(limits.ringingCallsPerPair < limits.ringingCallsPerCallee)
    }
}
