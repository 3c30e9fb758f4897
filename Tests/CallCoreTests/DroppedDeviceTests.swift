import CallVocabulary
import Determinism
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Devices that are deleted, grow too old, or make room for newer ones.
@Suite struct DroppedDeviceTests {
    private static let day = Duration.seconds(86_400)

    private func delete(_ phone: Phone, in world: World) -> AdminRefusal.Code? {
        if case .failure(let refusal) = world.administer(.deleteDevice(phone.user, phone.id)) {
            refusal.code
        } else {
            nil
        }
    }

    private func isKnown(_ phone: Phone, in world: World) -> Bool { world.store.devices[phone.key] != nil }

    private func dropped(_ cause: DeviceDropCause, in world: World) -> UInt64 {
        zip(DeviceDropCause.allCases, world.core.counters.devicesDropped).first { $0.0 == cause }?.1 ?? 0
    }

    // MARK: Deleted

    @Test("a deleted device is gone with its tokens and its session, and is told so; no call reaches it")
    func deleted() {
        let (world, alice, bob) = World.pair()
        #expect(delete(bob, in: world) == nil)
        #expect(bob.closes == [.loggedOut] && !isKnown(bob, in: world))
        #expect(world.roster.sessions.count == 1 && dropped(.deleted, in: world) == 1)
        let call = alice.call(bob)
        // As before it registered: the user has no other device.
        #expect(world.store.calls[call]?.endReason == .unknownCallee)
        #expect(world.store.pushes.values.isEmpty)
        #expect(delete(bob, in: world) == .notFound)
        world.restart()
        #expect(delete(bob, in: world) == .notFound)
        // The app has a token that is still good.
        bob.resume()
        #expect(bob.session?.resumed == false && isKnown(bob, in: world))
    }

    @Test("a call whose party is deleted ends as after a logout", arguments: [CallState.ringing, .connected])
    func party(state: CallState) {
        let (world, alice, bob) = World.pair()
        let call = alice.call(bob)
        bob.ring(call)
        if state == .connected {
            bob.answer(call)
            alice.connect(call, with: bob)
        }
        #expect(delete(bob, in: world) == nil)
        #expect(world.store.calls[call]?.endReason == (state == .ringing ? .noDevices : .connectionLost))
        #expect(alice.endings(of: call).count == 1 && world.core.liveCalls == 0)
    }

    @Test("a party that has no session, after a restart, ends its call when it is deleted")
    func partyWithoutSession() {
        let (world, alice, bob) = World.pair()
        let call = alice.call(bob)
        bob.answer(call)
        world.restart()
        #expect(delete(alice, in: world) == nil)
        #expect(world.store.calls[call]?.endReason == .connectionLost)
        #expect(world.store.calls[call]?.endedBy == alice.party)
    }

    @Test("the other devices of the user go on ringing")
    func others() {
        let (world, alice, bob) = World.pair()
        let tablet = world.online("bob")
        let call = alice.call(bob)
        #expect(delete(bob, in: world) == nil)
        #expect(world.store.calls[call]?.state.isLive == true)
        tablet.answer(call)
        #expect(world.store.calls[call]?.answeredBy == tablet.party)
    }

    @Test("a push that has not left is cancelled", arguments: [false, true])
    func unsentPush(isCommitting: Bool) throws {
        let (world, alice, bob) = World.pair(bobIsAsleep: true)
        let (call, push) = try alice.call(bob, push: .queued)
        if isCommitting {
            world.holdsPushCommits = true
            world.makeReady(push)
            #expect(world.store.pushes[push]?.status == .sent)
        }
        #expect(delete(bob, in: world) == nil)
        world.commitPushes()
        #expect(world.store.pushes[push]?.status == .cancelled && world.provider.sent[push] == nil)
        #expect(world.store.calls[call]?.endReason == .noDevices)
    }

    @Test("a push that has left is settled and its report awaited; the device's row does not come back")
    func sentPush() throws {
        for outcome in [
            PushOutcome.accepted, .rejected(reason: "Unregistered", isTokenDead: true), .unknown(reason: "no answer"),
        ] {
            let (world, alice, bob) = World.pair(bobIsAsleep: true)
            let (_, push) = try alice.call(bob, push: .onWire)
            #expect(delete(bob, in: world) == nil)
            world.settle(push, outcome)
            world.advance(world.timers.report)
            let record = try #require(world.store.pushes[push])
            #expect(record.status != .sent && record.report != .awaited, "\(outcome)")
            #expect(!isKnown(bob, in: world), "\(outcome)")
        }
    }

    @Test("a report of a push of a deleted device still counts, also after a restart", arguments: [false, true])
    func lateReport(restarts: Bool) throws {
        let (world, alice, bob) = World.pair(bobIsAsleep: true)
        let (call, push) = try alice.call(bob, push: .accepted)
        #expect(delete(bob, in: world) == nil)
        if restarts { world.restart() }
        let report = PushReport(push: push, call: call, result: .reported)
        #expect(world.ask(.report(report), as: bob.user, device: bob.id, scope: .call(call))?.reply != nil)
        #expect(world.store.pushes[push]?.report == .reported && !isKnown(bob, in: world))
        #expect(bob.wake(call).code == .forbidden)
    }

    @Test("a notice that waits is cancelled, one on its way settled; no row comes back", arguments: [false, true])
    func notices(isOnWire: Bool) throws {
        let (world, alice, bob) = World.pair(bobIsAsleep: true)
        world.administer(.setUser(bob.user, UserPolicyChange(missedCalls: .background)))
        bob.open(sending: [.alert("a")])
        bob.ask(.close)
        let call = alice.call(bob)
        alice.hangUp(call)
        let notice = try #require(world.store.pushes.values.first { $0.purpose == .sync })
        if isOnWire { world.makeReady(notice.id) }
        #expect(delete(bob, in: world) == nil)
        if isOnWire { world.settle(notice.id, .rejected(reason: "Unregistered", isTokenDead: true)) }
        #expect(world.store.pushes[notice.id]?.status == (isOnWire ? .rejected : .cancelled))
        #expect(!isKnown(bob, in: world) && world.core.census.notices == 0)
        world.restart()
        #expect(!isKnown(bob, in: world) && world.core.ledgerViolations == [])
    }

    @Test("a device that registers again while its call rings has its one leg and its one push, and rings")
    func again() throws {
        let (world, alice, bob) = World.pair()
        let tablet = world.online("bob")
        let call = alice.call(bob)
        let leg = try #require(world.store.leg(call, bob.key))
        #expect(delete(bob, in: world) == nil)
        bob.open()
        #expect(bob.offers(of: call).count == 2)
        #expect(world.store.leg(call, bob.key)?.push == leg.push)
        bob.answer(call)
        #expect(world.store.calls[call]?.answeredBy == bob.party)
        #expect(tablet.endings(of: call).map(\.reason) == [.answeredElsewhere])
    }

    @Test("a request over HTTP that names no device does not mean a deleted one")
    func overHTTP() {
        let (world, alice, bob) = World.pair()
        world.online("bob")
        let call = alice.call(bob)
        #expect(delete(bob, in: world) == nil)
        #expect(world.ask(.answer(call, sdp: nil), as: bob.user, device: nil, scope: .full)?.reply == .won)
        #expect(world.store.calls[call]?.answeredBy?.device != bob.id)
    }

    @Test("what calls in memory keep of a deleted device leaves with them")
    func memory() {
        let (world, alice, bob) = World.pair()
        let call = alice.call(bob)
        bob.answer(call)
        #expect(delete(bob, in: world) == nil && delete(alice, in: world) == nil)
        let users = [alice, bob].map { world.core.directory.user($0.user) }
        #expect(users.map { $0?.dropped.count } == [1, 1])
        world.advance(world.timers.tombstone)
        #expect(users.map { $0?.dropped.count } == [0, 0])
    }

    // MARK: Room for a new one

    @Test("the 17th installation takes the place of the one unseen longest, which may have tokens and ended calls")
    func replaced() {
        let world = World()
        let alice = world.online("alice")
        let phones = (0..<world.limits.devicesPerUser).map { _ in world.phone("eve") }
        for phone in phones {
            phone.open()
            world.advance(.seconds(1))
        }
        let (late, later) = (world.phone("eve"), world.phone("eve"))
        #expect(late.open().code == .limitReached(limit: world.limits.devicesPerUser))
        // Seen when its connection was lost, not when it opened.
        phones[5].lose()
        world.advance(.seconds(1))
        phones[3].ask(.close)
        alice.hangUp(alice.call(phones[3]))
        #expect(late.open().opened != nil)
        #expect(!isKnown(phones[5], in: world) && isKnown(phones[3], in: world))
        #expect(later.open().opened != nil)
        #expect(!isKnown(phones[3], in: world) && dropped(.replaced, in: world) == 2)
        #expect(phones[5].open().code == .limitReached(limit: world.limits.devicesPerUser))
    }

    @Test("a device with a part in a live call keeps its place, whether it is online or not")
    func inCall() throws {
        var limits = CoreLimits()
        limits.devicesPerUser = 1
        let (world, alice, bob) = World.pair(limits: limits, bobIsAsleep: true)
        let call = alice.call(bob)
        #expect(world.store.leg(call, bob.key)?.state == .waking)
        let late = world.phone("bob")
        #expect(late.open().code == .limitReached(limit: 1))
        alice.hangUp(call)
        #expect(late.open().opened != nil && !isKnown(bob, in: world))
    }

    // MARK: Age

    private static func aging(_ age: Duration?) -> World {
        var timers = CallTimers()
        timers.deviceAge = age
        return World(timers: timers)
    }

    @Test("a device that was not seen for as long as devices are kept is dropped, to the day")
    func age() {
        let world = Self.aging(Self.day * 180)
        let bob = world.asleep("bob")
        world.advance(Self.day * 180 - .milliseconds(1))
        #expect(isKnown(bob, in: world))
        world.advance(.milliseconds(1))
        #expect(!isKnown(bob, in: world) && dropped(.unseen, in: world) == 1)
        #expect(world.core.nextDeadline() == nil)
    }

    @Test("without a setting for it a device is kept for ever")
    func noAge() {
        let world = Self.aging(nil)
        let bob = world.asleep("bob")
        world.advance(Self.day * 5000)
        #expect(isKnown(bob, in: world) && world.core.nextDeadline() == nil)
    }

    @Test("any sign of life counts: a session, its end, and a push reported with a wake token")
    func signsOfLife() throws {
        let world = Self.aging(Self.day * 10)
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        world.advance(Self.day * 9)
        let (call, push) = try alice.call(bob, push: .accepted)
        let report = PushReport(push: push, call: call, result: .reported)
        _ = world.ask(.report(report), as: bob.user, device: bob.id, scope: .call(call))
        world.advance(Self.day * 9)
        #expect(isKnown(bob, in: world))
        // Alice has been online all the time, without a word.
        world.advance(Self.day * 9)
        #expect(!isKnown(bob, in: world) && isKnown(alice, in: world))
        alice.ask(.close)
        world.advance(Self.day * 10 - .milliseconds(1))
        #expect(isKnown(alice, in: world))
        world.advance(.milliseconds(1))
        #expect(!isKnown(alice, in: world))
    }

    @Test("a server that dies does not take the devices with it that were online")
    func crash() {
        let world = Self.aging(Self.day * 10)
        let alice = world.online("alice")
        world.advance(Self.day * 14)
        world.restart()
        world.advance(Self.day)
        #expect(isKnown(alice, in: world))
        world.advance(Self.day * 10)
        // She is not in memory, so the store has to tell.
        #expect(isKnown(alice, in: world))
        world.readUnseen()
        world.advance(.milliseconds(10))
        #expect(!isKnown(alice, in: world))
    }

    @Test("devices that are too old at the start, or by a new setting, are dropped one after the other")
    func overdue() {
        let world = Self.aging(nil)
        let phones = (0..<3).map { world.asleep("user\($0)") }
        world.advance(Self.day * 2)
        var timers = world.timers
        timers.deviceAge = Self.day
        world.step(.reconfigured(CoreSettings(timers: timers)))
        for left in (0..<3).reversed() {
            world.advance(.milliseconds(10))
            #expect(phones.count { isKnown($0, in: world) } == left)
        }
        phones[0].open()
        timers.deviceAge = nil
        world.step(.reconfigured(CoreSettings(timers: timers)))
        phones[0].ask(.close)
        world.advance(Self.day * 2)
        #expect(isKnown(phones[0], in: world))
    }

    @Test("a deadline takes the place of the one before")
    func oneDeadline() {
        let core = CallCore(random: SeededGenerator(seed: 1))
        var token: DeadlineQueue<Deadline>.Token?
        for time in [30, 10] as [Int64] {
            core.schedule(.drainingNotice, at: Instant(milliseconds: time), in: &token)
        }
        #expect(core.deadlines.count == 1 && core.nextDeadline() == Instant(milliseconds: 10))
    }

    @Test("a call that rings an old device is not cut short")
    func ageInCall() throws {
        let world = Self.aging(Self.day)
        let (alice, bob) = (world.online("alice"), world.asleep("bob"))
        world.advance(Self.day - .seconds(10))
        let (call, _) = try alice.call(bob, push: .accepted)
        world.advance(.seconds(20))
        #expect(world.store.calls[call]?.state.isLive == true && isKnown(bob, in: world))
        // As when its user comes into memory. Another deadline would fall due after the user has left.
        let deadlines = world.core.deadlines.count
        world.core.dropTooOld(bob.user)
        #expect(world.core.deadlines.count == deadlines)
        world.advance(world.timers.longestRing)
        #expect(world.store.calls[call]?.endReason == .ringTimeout && !isKnown(bob, in: world))
    }
}
