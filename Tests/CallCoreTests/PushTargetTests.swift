import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// On which of its tokens a device is pushed a call, and what an alert is in the ledger.
@Suite struct PushTargetTests {
    let world = World()
    let alice: Phone

    init() { alice = world.online("alice") }

    private static let voip = PushToken.voip("v")
    private static let newVoip = PushToken.voip("w")
    private static let data = PushToken.fcm(.data, "d")
    private static let alert = PushToken.alert("a")
    private static let fcmAlert = PushToken.fcm(.alert, "f")
    /// Nothing can be sent to these.
    private static let useless = [PushToken.fcm(.voip, "x")]

    /// What becomes of the device before it is called.
    enum Standing: CaseIterable { case offline, halfOpen, inBackground, unresponsive }

    private func asleep(_ tokens: [PushToken]) -> Phone {
        let bob = world.asleep("bob", tokens: tokens)
        return bob
    }

    /// Three calls whose pushes are accepted, and none is reported.
    private func suspend(_ phone: Phone) throws {
        for _ in 0..<3 {
            let call = try alice.call(phone, push: .accepted).call
            alice.hangUp(call)
            world.advance(.seconds(15))
        }
        #expect(world.store.devices[phone.key]?.suspendedAt != nil)
    }

    @Test(
        "the best token there is gets the push, however the device came to need one", arguments: Standing.allCases)
    func selection(_ standing: Standing) throws {
        let order = [Self.voip, Self.data, Self.alert, Self.fcmAlert]
        for first in order.indices {
            let bob = world.online("bob\(first)", tokens: Self.useless + order[first...].reversed())
            switch standing {
            case .offline: bob.ask(.close)
            case .halfOpen: bob.lose()
            case .inBackground: bob.ask(.state(.background))
            case .unresponsive: break
            }
            let call = alice.call(bob)
            if standing == .unresponsive {
                #expect(world.push(call, to: bob) == nil)
                world.advance(.seconds(2))
            }
            let push = try #require(world.push(call, to: bob))
            #expect(push.token == order[first])
            #expect(world.provider.orders[push.id]?.purpose == .call)
            #expect(world.provider.orders[push.id]?.delivery == push.delivery)
            alice.hangUp(call)
        }
    }

    @Test("without a token that carries calls nobody is reached")
    func unreachable() {
        let bob = asleep(Self.useless)
        let call = alice.call(bob)
        #expect(world.push(call, to: bob) == nil)
        #expect(world.store.calls[call]?.endReason == .noDevices)
    }

    @Test("a suspended device is pushed on a token for alerts between probes, until it opens a session")
    func suspended() throws {
        let bob = asleep([Self.fcmAlert, Self.alert, Self.data, Self.voip])
        try suspend(bob)
        // The first call is the probe.
        var call = alice.call(bob)
        #expect(world.push(call, to: bob)?.token == Self.voip)
        try world.deliver(call, to: bob)
        alice.hangUp(call)
        world.advance(.seconds(15))
        #expect(world.store.devices[bob.key]?.unreportedStreak == 4)
        call = alice.call(bob)
        #expect(world.push(call, to: bob)?.token == Self.alert)
        try world.deliver(call, to: bob)
        alice.hangUp(call)
        world.advance(.seconds(15))
        #expect(world.store.devices[bob.key]?.unreportedStreak == 4, "an alert neither lengthens nor ends the streak")
        bob.open()
        bob.ask(.close)
        #expect(world.store.devices[bob.key]?.suspendedAt == nil)
        call = alice.call(bob)
        #expect(world.push(call, to: bob)?.token == Self.voip)
    }

    @Test("an administrator ends a suspension, on disk and for the next call")
    func resumed() throws {
        let bob = asleep([Self.voip, Self.alert])
        try suspend(bob)
        #expect(world.administer(.resumeDevice(bob.user, bob.id)) == .success(.done))
        #expect(world.store.devices[bob.key]?.suspendedAt == nil)
        #expect(world.store.devices[bob.key]?.unreportedStreak == 0)
        #expect(world.push(alice.call(bob), to: bob)?.token == Self.voip)
        for (user, device) in [(alice.user, bob.id), (Handle("nobody")!, bob.id), (bob.user, alice.id)] {
            guard case .failure(let refusal) = world.administer(.resumeDevice(user, device)) else {
                Issue.record("a device that \(user) does not have was resumed")
                continue
            }
            #expect(refusal.code == .notFound)
        }
    }

    @Test("a suspended device without a token for alerts is not reached")
    func suspendedForGood() throws {
        let bob = asleep([Self.voip, Self.data])
        try suspend(bob)
        let call = alice.call(bob)
        #expect(world.push(call, to: bob) == nil)
        #expect(world.store.calls[call]?.endReason == .noDevices)
    }

    @Test("a data message is reported like a VoIP push, and counts for the streak")
    func dataMessage() throws {
        let bob = asleep([Self.data])
        let id = try alice.call(bob, push: .accepted).push
        #expect(world.store.pushes[id]?.report == .awaited)
        world.advance(.seconds(15))
        #expect(world.store.pushes[id]?.report == .unreported)
        #expect(world.store.devices[bob.key]?.unreportedStreak == 1)
    }

    @Test(
        "no report is owed for an alert: it is never overdue, and outside the streak",
        arguments: [PushOutcome.accepted, .unknown(reason: "timeout")])
    func alertOwesNothing(_ outcome: PushOutcome) throws {
        let bob = asleep([Self.alert])
        for _ in 0..<4 {
            let (call, id) = try alice.call(bob, push: .onWire)
            #expect(world.store.pushes[id]?.report == .notRequired)
            world.settle(id, outcome)
            #expect(world.store.pushes[id]?.report == .notRequired)
            #expect(world.store.pushes[id]?.reportDueAt == nil)
            world.advance(.seconds(20))
            #expect(world.store.pushes[id]?.report == .notRequired)
            alice.hangUp(call)
        }
        #expect(world.store.devices[bob.key]?.unreportedStreak == 0)
        #expect(world.core.ledger.count(.notRequired) == 4)
        #expect(world.core.ledger.count(.unreported) == 0)
    }

    @Test("a report that nobody owed is a sign of life, and stays out of the ledger", arguments: ReportResult.allCases)
    func unaskedReport(_ result: ReportResult) throws {
        let bob = asleep([Self.alert])
        let (call, id) = try alice.call(bob, push: .accepted)
        bob.wake(call)
        bob.report(id, call, result)
        #expect(world.leg(call, of: bob)?.state == (result == .reported ? .ringing : .offered))
        #expect(world.store.pushes[id]?.report == .notRequired)
        #expect(world.store.pushes[id]?.reportedAt == nil)
    }

    @Test("an alert that comes back goes out again; one that is refused closes the leg")
    func alertComesBack() throws {
        let bob = asleep([Self.alert])
        let (call, id) = try alice.call(bob, push: .onWire)
        world.settle(id, .returned)
        #expect(world.store.pushes[id]?.status == .intended && world.store.pushes[id]?.report == nil)
        world.makeReady(id)
        #expect(world.provider.sent[id] == 2)
        world.settle(id, .rejected(reason: "Unregistered", isTokenDead: true))
        #expect(world.store.pushes[id]?.status == .rejected && world.store.pushes[id]?.report == nil)
        #expect(world.store.devices[bob.key]?.tokens.isEmpty == true)
        #expect(world.store.calls[call]?.endReason == .noDevices)
    }

    @Test("a refused push is not followed by one of another kind")
    func oneAttempt() throws {
        let bob = asleep([Self.voip, Self.alert])
        let (call, id) = try alice.call(bob, push: .onWire)
        world.settle(id, .rejected(reason: "Unregistered", isTokenDead: true))
        #expect(world.store.pushes.values.count == 1)
        #expect(world.store.calls[call]?.endReason == .noDevices)
    }

    @Test("a push whose token is lost goes to the next best, and is judged as that")
    func redirected() throws {
        let bob = asleep([Self.voip, Self.alert])
        let (call, id) = try alice.call(bob, push: .queued)
        world.online("mallory", tokens: [Self.voip])
        world.makeReady(id)
        #expect(world.provider.sent[id] == nil)
        #expect(world.provider.orders[id]?.token == Self.alert)
        try world.deliver(call, to: bob)
        #expect(world.store.pushes[id]?.token == Self.alert)
        #expect(world.store.pushes[id]?.report == .notRequired)
    }

    @Test(
        "a push that waits while its device is suspended goes out as a probe or an alert, or not at all",
        arguments: [true, false])
    func suspendedMeanwhile(hasAlert: Bool) throws {
        let bob = asleep(hasAlert ? [Self.voip, Self.alert] : [Self.voip])
        for _ in 0..<3 {
            let call = try alice.call(bob, push: .accepted).call
            alice.hangUp(call)
        }
        let pushes = try (0..<2).map { _ in try alice.call(bob, push: .queued) }
        world.advance(.seconds(15))
        #expect(world.store.devices[bob.key]?.suspendedAt != nil)
        for (call, id) in pushes {
            world.makeReady(id)
            #expect(world.store.calls[call]?.endReason == (hasAlert ? nil : .noDevices))
        }
        // The first one is the probe, beside a token for alerts.
        #expect(pushes.map { world.provider.sent[$0.push] } == [hasAlert ? 1 : nil, nil])
        #expect(
            pushes.map { world.provider.orders[$0.push]?.token } == (hasAlert ? [Self.voip, Self.alert] : [nil, nil]))
    }

    @Test("an alert on the wire at a restart is unknown, and not sent again")
    func restart() throws {
        let bob = asleep([Self.alert])
        let id = try alice.call(bob, push: .onWire).push
        world.restart()
        #expect(world.store.pushes[id]?.status == .unknown && world.store.pushes[id]?.report == .notRequired)
        #expect(world.provider.phase(of: id) == nil)
        world.advance(.seconds(20))
        #expect(world.store.pushes[id]?.report == .notRequired)
    }
}
