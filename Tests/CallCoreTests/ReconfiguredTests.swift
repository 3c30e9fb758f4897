import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Settings that change while calls are live.
@Suite final class ReconfiguredTests {
    let (world, alice, bob, carol) = World.trio("carol")

    @Test("lower limits turn away what comes and end nothing that is there; higher ones let it in again")
    func limits() {
        let (first, second) = (alice.call(bob), carol.call(bob))
        world.step(.reconfigured(CoreSettings(limits: .tightest)))
        #expect(world.core.limits == .tightest)
        let refused = Invite(call: world.newCall(), to: .user(bob.user))
        let before = world.core.counters.limitsHit
        #expect(alice.ask(.invite(refused)).code == .overloaded(retryAfter: .seconds(1)))
        #expect(world.core.counters.limitsHit == before + 1)
        #expect(world.core.liveCalls == 2)
        #expect(world.core.onlineSessions == 3)
        for (phone, call) in [(alice, first), (carol, second)] {
            #expect(bob.answer(call).error == nil)
            #expect(phone.connected(call).error == nil && bob.connected(call).error == nil)
            #expect(world.store.calls[call]?.state == .connected)
        }
        world.step(.reconfigured(CoreSettings(limits: CoreLimits())))
        #expect(alice.ask(.invite(refused)).error == nil)
        #expect(world.core.liveCalls == 3)
    }

    @Test("times count from then on; a deadline that is set stays, whichever way they change")
    func timers() {
        let old = alice.call(bob)
        var timers = CallTimers()
        timers.ring = .seconds(10)
        timers.connect = .seconds(5)
        world.step(.reconfigured(CoreSettings(timers: timers)))
        let new = carol.call(bob)
        world.advance(.seconds(9))
        #expect(world.store.calls[new]?.state.isLive == true)
        world.advance(.seconds(1))
        #expect(world.store.calls[new]?.endReason == .ringTimeout)
        world.advance(.seconds(34))
        #expect(world.store.calls[old]?.state.isLive == true)
        bob.answer(old)
        world.advance(.seconds(5))
        #expect(world.store.calls[old]?.endReason == .connectTimeout)
    }

    @Test("with a shorter time in memory, a call that ends later leaves it earlier, each at its own time")
    func tombstones() {
        func end() {
            let call = alice.call(bob)
            alice.hangUp(call)
        }
        end()
        world.advance(.seconds(10))
        end()
        var timers = CallTimers()
        timers.tombstone = .seconds(5)
        world.step(.reconfigured(CoreSettings(timers: timers)))
        end()
        #expect(world.core.census.calls == 3 && world.core.census.deadlines == 3)
        world.advance(.milliseconds(4999))
        #expect(world.core.census.calls == 3)
        world.advance(.milliseconds(1))
        #expect(world.core.census.calls == 2 && world.core.census.deadlines == 2)
        world.advance(.milliseconds(104_999))
        #expect(world.core.census.calls == 2)
        world.advance(.milliseconds(1))
        #expect(world.core.census.calls == 1)
        world.advance(.seconds(10))
        #expect(world.core.census.calls == 0 && world.core.census.legs == 0 && world.core.nextDeadline() == nil)
    }

    @Test("the policy of all reaches users who are there and who come, and none who has one of his own")
    func policy() {
        #expect(world.administer(.setUser(bob.user, UserPolicyChange(callWaiting: false))) == .success(.done))
        var policy = UserPolicy()
        policy.doNotDisturb = true
        world.step(.reconfigured(CoreSettings(policy: policy)))
        let dave = world.online("dave")
        for phone in [carol, dave] {
            let call = alice.call(phone)
            #expect(phone.offers(of: call).isEmpty)
            #expect(world.store.calls[call]?.state == .ended)
        }
        #expect(bob.offers(of: alice.call(bob)).count == 1)
        // It is no policy of theirs: none was stored, and the next one holds for them as well.
        #expect(world.store.users.values.map(\.handle) == [bob.user])
        world.step(.reconfigured(CoreSettings(policy: UserPolicy())))
        #expect(carol.offers(of: bob.call(carol)).count == 1)
    }

    @Test("a policy of one's own is still that after a restart")
    func policyAfterRestart() {
        #expect(world.administer(.setUser(bob.user, UserPolicyChange(callWaiting: false))) == .success(.done))
        world.restart()
        for phone in [alice, bob, carol] { phone.open() }
        var policy = UserPolicy()
        policy.doNotDisturb = true
        world.step(.reconfigured(CoreSettings(policy: policy)))
        #expect(bob.offers(of: alice.call(bob)).count == 1)
        let call = bob.call(carol)
        #expect(carol.offers(of: call).isEmpty && world.store.calls[call]?.state == .ended)
    }

    @Test("what is not given stays as it is")
    func nothing() {
        var (timers, limits) = (CallTimers(), CoreLimits())
        timers.ring = .seconds(20)
        limits.notices = 7
        world.step(.reconfigured(CoreSettings(timers: timers, limits: limits)))
        world.step(.reconfigured(CoreSettings()))
        #expect(world.core.timers == timers && world.core.limits == limits)
    }

    @Test("what no core can work with is told in words")
    func problems() {
        #expect(CallTimers().problem == nil && CoreLimits().problem == nil && CoreLimits.tightest.problem == nil)
        var timers = CallTimers()
        timers.ring = .seconds(601)
        #expect(timers.problem == "ring is 5 to 600 s")
        timers.ring = .seconds(600)
        timers.longestRing = .seconds(4)
        #expect(timers.problem == "longest_ring is 5 to 600 s")
        timers.delivery = .zero
        #expect(timers.problem == "delivery has to be longer than 0")
        var limits = CoreLimits()
        limits.backgroundPushes = 0
        #expect(limits.problem == "background_pushes is at least 1")
    }
}

extension CoreLimits {
    /// One of everything.
    static var tightest: CoreLimits {
        var limits = CoreLimits()
        let all: [WritableKeyPath<CoreLimits, Int>] = [
            \.liveCalls, \.liveCallsPerUser, \.legsPerCall, \.devicesPerUser, \.tokensPerDevice, \.sessions,
            \.replayEvents, \.replayBytes, \.bufferedCandidates, \.bufferedCandidateBytes, \.unreportedStreak,
            \.missedPerUser, \.notices, \.noticesPerDevice, \.backgroundPushes,
            \.awaitedHandles, \.lookUps, \.idleUsers, \.endedCalls, \.archivedLegs, \.pushesPerDevice,
            \.pushingCallsPerPair, \.pushingCallsPerCaller, \.pushesPerCaller, \.deviceUpdatesPerUser,
            \.ringingCallsPerPair, \.ringingCallsPerCallee, \.ringingPairBytes,
            \.ringingCalleeBytes, \.candidateEventsPerCaller,
        ]
        for limit in all { limits[keyPath: limit] = 1 }
        // The least that can be set.
        (limits.callBytesPerUser, limits.storedBytesPerUser) = (1 << 20, 1 << 16)
        return limits
    }
}

extension CoreSettings {
    /// The least of everything.
    static var tightest: CoreSettings {
        var timers = CallTimers()
        timers.ring = .seconds(5)
        timers.connect = .seconds(1)
        timers.resume = .seconds(1)
        return CoreSettings(timers: timers, limits: .tightest)
    }
}
