import CallVocabulary
import Determinism
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Pushes about missed calls: whom they go to, how many, and what takes them back.
@Suite struct NoticeTests {
    let world: World
    let alice: Phone
    /// Asleep, with a token of each kind that APNs has.
    let bob: Phone

    init() {
        world = World(limits: Self.limits(perDevice: 30))
        alice = world.phone("alice")
        bob = world.asleep("bob", tokens: [.voip("v"), .alert("a")])
        alice.open(name: "Alice A.")
    }

    private func set(_ missedCalls: MissedCallPush, doNotDisturb: Bool? = nil) {
        world.administer(
            .setUser(bob.user, UserPolicyChange(doNotDisturb: doNotDisturb, missedCalls: missedCalls)))
    }

    @discardableResult
    private func miss(_ phone: Phone? = nil) -> CallID {
        let call = alice.call(phone ?? bob)
        alice.hangUp(call)
        return call
    }

    private func status(_ push: PushRecord) -> ProviderStatus? { world.store.pushes[push.id]?.status }
    private func statuses(_ phone: Phone? = nil) -> [ProviderStatus] {
        world.notices(to: phone ?? bob).map(\.status)
    }

    /// Lets the newest notice out.
    @discardableResult
    private func send() throws -> PushRecord {
        let notice = try #require(world.notices(to: bob).last)
        world.makeReady(notice.id)
        #expect(status(notice) == .sent && world.provider.phase(of: notice.id) == .onWire)
        return notice
    }

    /// The notice of a call that is missed now, which is sent or waits.
    @discardableResult
    private func missed(isSent: Bool = false) throws -> PushRecord {
        miss()
        return isSent ? try send() : try #require(world.notices(to: bob).last)
    }

    // MARK: How many

    @Test("a device never has more notices than its bound, also while all of them are on the wire or the bound falls")
    func bounded() throws {
        set(.alert)
        world.step(.reconfigured(CoreSettings(limits: Self.limits(perDevice: 3))))
        for _ in 0..<3 {
            try missed(isSent: true)
        }
        for _ in 0..<4 { miss() }
        #expect(statuses() == [.sent, .sent, .sent])
        #expect(world.core.counters.noticesDropped == 4)
        // One has its answer, and there is room for one that waits.
        world.settle(try #require(world.notices(to: bob).first?.id), .accepted)
        miss()
        miss()
        #expect(statuses().count { $0 == .sent } == 2 && statuses().count { $0 == .intended } == 1)
    }

    @Test("the notices of one caller who calls again and again displace those of no other")
    func ofOneCaller() {
        set(.alert)
        world.step(.reconfigured(CoreSettings(limits: Self.limits(perDevice: 10))))
        let others = (0..<4).map { _ in miss() }
        let mallory = world.online("mallory")
        let flood = (0..<20).map { _ in
            let call = mallory.call(bob)
            mallory.hangUp(call)
            return call
        }
        let waiting = world.notices(to: bob).filter { $0.status == .intended }.map(\.call)
        #expect(Set(waiting) == Set(others + flood.suffix(6)))
    }

    @Test("a bound that falls is kept with the next notice")
    func lowered() {
        set(.alert)
        for _ in 0..<6 { miss() }
        #expect(statuses().count { $0 == .intended } == 6)
        world.step(.reconfigured(CoreSettings(limits: Self.limits(perDevice: 2))))
        miss()
        #expect(statuses().count { $0 == .intended } == 2)
    }

    private static func limits(perDevice: Int) -> CoreLimits {
        var limits = CoreLimits()
        (limits.notices, limits.noticesPerDevice) = (20, perDevice)
        // These are about other bounds.
        (limits.pushesPerDevice, limits.pushingCallsPerPair) = (1000, 1000)
        return limits
    }

    // MARK: Whether, and whom

    @Test("nobody is pushed about a missed call who has not asked for it")
    func off() {
        miss()
        #expect(world.notices(to: bob).isEmpty)
        set(.alert)
        set(.off)
        miss()
        #expect(world.notices(to: bob).isEmpty)
        #expect(world.core.counters.noticesIntended == 0)
    }

    @Test("an alert says who called, of which call, and how many were missed; it is good for an hour")
    func alert() throws {
        set(.alert)
        miss()
        let call = miss()
        let notice = try #require(world.notices(to: bob).last)
        let order = try #require(world.provider.orders[notice.id])
        #expect(order.purpose == .missedCall && order.call == call && order.token == .alert("a"))
        #expect(order.delivery == .apnsAlert)
        #expect(order.from == alice.user && order.fromName == "Alice A." && order.missedCount == 2)
        #expect(order.expiresAt == world.now + .seconds(3600) && order.custom == nil)
        #expect(notice.intendedAt == world.now && notice.status == .intended)
        try send()
        #expect(world.store.pushes[notice.id]?.report == .notRequired)
        world.settle(notice.id, .accepted)
        #expect(status(notice) == .accepted)
        #expect(world.core.notices.count == 1, "one that is settled leaves memory")
        #expect(world.core.counters.noticesIntended == 2)
    }

    private static let targets: [(MissedCallPush, [PushToken], String?)] = [
        (.alert, [.fcm(.alert, "f"), .fcm(.data, "d"), .alert("a"), .voip("v")], "a"),
        (.alert, [.fcm(.alert, "f"), .fcm(.data, "d"), .voip("v")], "d"),
        (.alert, [.fcm(.alert, "f"), .voip("v")], "f"),
        (.alert, [.voip("v")], nil),
        (.background, [.fcm(.alert, "f"), .fcm(.data, "d"), .alert("a"), .voip("v")], "a"),
        (.background, [.fcm(.alert, "f"), .fcm(.data, "d")], "d"),
        (.background, [.fcm(.alert, "f"), .voip("v")], nil),
    ]

    @Test("which token a notice goes to, best first", arguments: targets)
    func target(_ policy: MissedCallPush, _ tokens: [PushToken], _ chosen: String?) {
        set(policy)
        bob.open(sending: tokens)
        bob.ask(.close)
        miss()
        #expect(world.notices(to: bob).map(\.token.token) == (chosen.map { [$0] } ?? []))
        let expected: PushPurpose = policy == .alert ? .missedCall : .sync
        #expect(world.notices(to: bob).allSatisfy { $0.purpose == expected && $0.delivery != nil })
    }

    @Test("each device without a session is told, and no device that has one; the caller's others are not")
    func devices() {
        set(.alert)
        let tablet = world.online("bob", tokens: [.alert("b")])
        let watch = world.online("bob", tokens: [.alert("c")])
        let other = world.asleep("alice", tokens: [.alert("d")])
        world.administer(.setUser(alice.user, UserPolicyChange(missedCalls: .alert)))
        watch.lose()
        miss()
        #expect(statuses(bob) == [.intended])
        #expect(world.notices(to: tablet).isEmpty, "it hears of the end over its socket")
        #expect(statuses(watch) == [.intended], "its socket is gone, whether or not it will be resumed")
        #expect(world.notices(to: other).isEmpty)
    }

    @Test(
        "a call that somebody declined or answered, or that was displaced, is no missed call", arguments: [true, false])
    func notMissed(isAnswered: Bool) throws {
        set(.alert)
        let tablet = world.online("bob", pushable: false)
        let call = alice.call(bob)
        if isAnswered { tablet.answer(call) } else { tablet.decline(call) }
        alice.hangUp(call)
        #expect(world.notices(to: bob).isEmpty)
    }

    @Test("who is not to be disturbed gets no alert, and background pushes still")
    func doNotDisturb() {
        set(.alert, doNotDisturb: true)
        miss()
        #expect(world.notices(to: bob).isEmpty)
        set(.background)
        miss()
        #expect(statuses() == [.intended])
    }

    @Test("a policy of the server's own holds for users without one")
    func standard() {
        var policy = UserPolicy()
        policy.missedCalls = .alert
        let world = World(policy: policy)
        let (caller, callee) = (world.online("alice"), world.online("bob", tokens: [.alert("a")]))
        callee.ask(.close)
        caller.hangUp(caller.call(callee))
        #expect(world.notices(to: callee).count == 1)
        world.administer(.setUser(callee.user, UserPolicyChange(missedCalls: .off)))
        world.restart()
        caller.open()
        caller.hangUp(caller.call(callee))
        #expect(world.notices(to: callee).count == 1)
        #expect(world.notices(to: callee)[0].status == .cancelled, "what is not asked for any more is not sent")
    }

    @Test("there is room for so many, and what there is none for is counted")
    func limit() {
        set(.alert)
        for _ in 0..<22 { miss() }
        #expect(statuses().count == 20)
        #expect(world.core.counters.noticesDropped == 2)
        #expect(world.core.counters.hits(of: .notices) == 2)
        #expect(world.core.census.notices == 20)
    }

    @Test(
        "a device has so many notices at most: a newer one takes the place of the oldest, and none is lost from the books"
    )
    func limitOfDevice() {
        set(.alert)
        world.step(.reconfigured(CoreSettings(limits: Self.limits(perDevice: 3))))
        for _ in 0..<5 { miss() }
        #expect(statuses().count { $0 == .cancelled } == 2 && statuses().count { $0 == .intended } == 3)
        #expect(world.core.census.notices == 3)
    }

    // MARK: What takes them back

    enum Sign: CaseIterable { case open, resume, clear, policy, tokens }

    @Test("what the device, or the user, has learned otherwise is not pushed", arguments: Sign.allCases)
    func withdrawn(_ sign: Sign) throws {
        set(.alert)
        if sign == .resume {
            bob.open()
            bob.lose()
        }
        let tablet = world.online("bob", pushable: false)
        let notice = try missed()
        switch sign {
        case .open: bob.open()
        case .resume: bob.resume()
        case .clear: tablet.ask(.clearMissed(upTo: world.now))
        case .policy: set(.off)
        case .tokens: world.phone("mallory", pushable: false).open(sending: [.alert("a")])
        }
        if sign != .policy, sign != .tokens { #expect(world.provider.phase(of: notice.id) == nil) }
        world.makeReady(notice.id)
        #expect(status(notice) == .cancelled)
        #expect(world.provider.sent[notice.id] == nil)
        #expect(world.core.notices.isEmpty)
        #expect(world.core.ledger.queued == 0)
    }

    @Test("clearing what came before leaves a newer notice alone")
    func clearedBefore() throws {
        set(.alert)
        let tablet = world.online("bob", pushable: false)
        miss()
        let seen = world.now
        world.advance(.seconds(1))
        miss()
        tablet.ask(.clearMissed(upTo: seen))
        #expect(statuses() == [.cancelled, .intended])
    }

    @Test("a session behind a push tells of its own call, and takes back the notice of that alone")
    func wakeSession() throws {
        set(.alert)
        let first = miss()
        let call = try alice.call(bob, push: .accepted).call
        bob.wake(call)
        #expect(statuses() == [.intended])
        alice.hangUp(call)
        #expect(world.notices(to: bob).map(\.call) == [first])
    }

    @Test("one that comes back after the device has opened a session is not sent again", arguments: [true, false])
    func comesBack(isStillThere: Bool) throws {
        set(.alert)
        let notice = try missed(isSent: true)
        bob.open()
        if !isStillThere { bob.ask(.close) }
        world.settle(notice.id, .returned)
        #expect(status(notice) == .cancelled)
        #expect(world.provider.phase(of: notice.id) == nil)
    }

    @Test("one that comes back while nobody has seen the call goes out again")
    func goesOutAgain() throws {
        set(.alert)
        let notice = try missed(isSent: true)
        world.settle(notice.id, .returned)
        #expect(status(notice) == .intended)
        world.makeReady(notice.id)
        #expect(world.provider.sent[notice.id] == 2)
    }

    @Test("a notice whose token is lost goes to the next best one")
    func redirected() throws {
        set(.alert)
        bob.open(sending: [.alert("a"), .fcm(.alert, "f")])
        bob.ask(.close)
        let notice = try missed()
        world.phone("mallory", pushable: false).open(sending: [.alert("a")])
        world.makeReady(notice.id)
        #expect(world.provider.sent[notice.id] == nil)
        #expect(world.provider.orders[notice.id]?.token == .fcm(.alert, "f"))
        world.makeReady(notice.id)
        #expect(status(notice) == .sent)
    }

    @Test("after an hour a notice is expired, whether it waits or comes back then", arguments: [true, false])
    func expires(wasSent: Bool) throws {
        set(.alert)
        let notice = try missed()
        if wasSent { try send() }
        world.advance(.seconds(3599))
        #expect(status(notice) == (wasSent ? .sent : .intended))
        world.advance(.seconds(1))
        if wasSent {
            #expect(status(notice) == .sent, "its outcome is still to come")
            world.settle(notice.id, .returned)
        }
        #expect(status(notice) == .expired)
        #expect(world.provider.phase(of: notice.id) == nil)
        #expect(world.core.deadlines.count == 0)
    }

    @Test(
        "every outcome settles a notice",
        arguments: [
            (PushOutcome.accepted, ProviderStatus.accepted), (.unknown(reason: "timeout"), .unknown),
            (.rejected(reason: "Unregistered", isTokenDead: true), .rejected),
            (.rejected(reason: "TooManyRequests", isTokenDead: false), .rejected),
            (.unsent(reason: "no credentials"), .cancelled),
        ])
    func outcome(_ outcome: PushOutcome, _ settled: ProviderStatus) throws {
        set(.alert)
        let notice = try missed(isSent: true)
        world.settle(notice.id, outcome)
        #expect(status(notice) == settled)
        let isOut = settled == .accepted || settled == .unknown
        #expect(world.store.pushes[notice.id]?.report == (isOut ? .notRequired : nil))
        #expect(world.core.notices.isEmpty && world.core.ledger.intended == world.core.pushes.count)
        let isDead = outcome == .rejected(reason: "Unregistered", isTokenDead: true)
        #expect(world.store.devices[bob.key]?.tokens.map(\.token) == [.voip("v")] + (isDead ? [] : [.alert("a")]))
        world.settle(notice.id, .returned)
        #expect(status(notice) == settled, "an outcome said twice changes nothing")
    }

    @Test("one that the push client has no room for is cancelled")
    func noRoom() throws {
        set(.alert)
        let notice = try missed()
        world.settle(notice.id, .unsent(reason: "push queue full"))
        #expect(world.store.pushes[notice.id]?.status == .cancelled)
        #expect(world.store.pushes[notice.id]?.reason == "push queue full")
    }

    // MARK: The budget

    @Test("a third background push within the hour waits until the first is an hour old, and is not lost")
    func budget() throws {
        set(.background)
        let start = world.now
        try missed(isSent: true)
        world.advance(.seconds(600))
        try missed(isSent: true)
        world.advance(.seconds(60))
        let third = try missed()
        #expect(world.provider.phase(of: third.id) == nil)
        world.advance(.milliseconds(3_599_999) - (world.now - start))
        #expect(world.provider.phase(of: third.id) == nil)
        world.advance(.milliseconds(1))
        #expect(world.provider.orders[third.id]?.missedCount == 3)
        try send()
        #expect(statuses() == [.sent, .sent, .sent])
    }

    @Test("the newest that waits takes the place of the one before, queued or held back")
    func newestWins() throws {
        set(.background)
        for _ in 0..<3 { miss() }
        #expect(statuses() == [.cancelled, .cancelled, .intended])
        #expect(world.provider.waiting.filter { world.store.pushes[$0]?.purpose == .sync }.count == 1)
        try send()
        try missed(isSent: true)
        for _ in 0..<3 { miss() }
        #expect(statuses().suffix(4) == [.sent, .cancelled, .cancelled, .intended])
        bob.open()
        #expect(statuses().last == .cancelled)
        bob.ask(.close)
        world.advance(.seconds(3600))
        #expect(world.provider.waiting.isEmpty)
    }

    @Test("one that comes back does not count, and gives way to a newer one", arguments: [true, false])
    func returnedSync(hasNewer: Bool) throws {
        set(.background)
        try missed(isSent: true)
        let second = try missed(isSent: true)
        if hasNewer { miss() }
        world.settle(second.id, .returned)
        #expect(status(second) == (hasNewer ? .cancelled : .intended))
        try send()
        #expect(status(second) == (hasNewer ? .cancelled : .sent))
        miss()
        #expect(world.provider.waiting.isEmpty, "two have left: one more waits")
    }

    @Test("alerts have no budget")
    func alertsAreMany() throws {
        set(.alert)
        for _ in 0..<5 {
            try missed(isSent: true)
        }
        #expect(statuses() == Array(repeating: .sent, count: 5))
    }

    // MARK: Restarts

    @Test("a notice that waits survives a restart with what it says, long after its call has left memory")
    func restart() throws {
        set(.alert)
        let call = miss()
        world.advance(.seconds(600))
        let notice = try #require(world.notices(to: bob).last)
        world.restart()
        #expect(world.core.calls[call] == nil && world.core.census.notices == 1)
        let order = try #require(world.provider.orders[notice.id])
        #expect(order.from == alice.user && order.fromName == "Alice A." && order.missedCount == 1)
        #expect(order.expiresAt == notice.expiresAt && order.purpose == .missedCall)
        try send()
        world.restart()
        #expect(status(notice) == .unknown)
        #expect(world.provider.waiting.isEmpty)
        #expect(world.core.census.notices == 0)
    }

    @Test("one whose time passed while the server was down is expired at the start")
    func restartTooLate() throws {
        set(.alert)
        miss()
        world.restart(downFor: .seconds(3600))
        #expect(statuses() == [.expired])
        #expect(world.provider.waiting.isEmpty)
    }

    @Test("a device that is deleted and comes back has the budget that it had", arguments: [false, true])
    func budgetOfDeleted(isRestarted: Bool) throws {
        set(.background)
        for _ in 0..<2 { try missed(isSent: true) }
        #expect(world.administer(.deleteDevice(bob.user, bob.key.device)) == .success(.done))
        if isRestarted {
            world.restart()
            alice.open()
        }
        bob.open()
        bob.ask(.close)
        miss()
        #expect(world.provider.waiting.isEmpty)
        #expect(statuses().last == .intended)
    }

    @Test("the budget of background pushes survives restarts")
    func budgetRestarts() throws {
        set(.background)
        let start = world.now
        for _ in 0..<2 {
            try missed(isSent: true)
            world.restart()
            alice.open()
        }
        miss()
        world.restart()
        #expect(world.provider.waiting.isEmpty)
        #expect(statuses().last == .intended)
        world.advance(.seconds(3600) - (world.now - start))
        try send()
        #expect(statuses() == [.unknown, .unknown, .sent])
    }
}
