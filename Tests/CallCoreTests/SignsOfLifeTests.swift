import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// What a device does after a push, without reporting it: what that proves, of this push and of others.
@Suite final class SignsOfLifeTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    private var device: DeviceRecord? { world.store.devices[bob.key] }

    private func report(of push: PushID) -> ReportStatus? { world.store.pushes[push]?.report }

    /// What an app does once its push has started it.
    enum Act: CaseIterable {
        case wake, wakeAndDecline, wakeAndAnswer, wakeAndRing, wakeAndHangUp, wakeAndConnect, wakeAndAsk, open, resume
        case askByHTTP, askByHTTPAsUser, candidates
    }

    private func perform(_ act: Act, _ call: CallID) {
        switch act {
        case .wake: bob.wake(call)
        case .wakeAndDecline:
            bob.wake(call)
            bob.decline(call)
        case .wakeAndAnswer:
            bob.wake(call)
            bob.answer(call)
        case .wakeAndRing:
            bob.wake(call)
            bob.ring(call)
        case .wakeAndHangUp:
            bob.wake(call)
            bob.hangUp(call)
        case .wakeAndConnect:
            bob.wake(call)
            bob.answer(call)
            bob.connected(call)
        case .wakeAndAsk:
            bob.wake(call)
            bob.ask(.get(call))
        case .open: bob.open()
        case .resume: bob.resume()
        case .askByHTTP: _ = world.ask(.get(call), as: bob.user, device: bob.id, scope: .call(call))
        case .askByHTTPAsUser: _ = world.ask(.get(call), as: bob.user, device: bob.id, scope: .full)
        case .candidates:
            bob.open()
            bob.send(["1"], of: call)
        }
    }

    @Test("an app that acts after each of its pushes and reports none is never suspended", arguments: Act.allCases)
    func neverSuspended(act: Act) throws {
        for _ in 0..<6 {
            if act == .resume {
                bob.open()
                bob.lose()
            }
            let (call, push) = try alice.call(bob, push: .accepted)
            world.advance(.seconds(1))
            perform(act, call)
            #expect(report(of: push) == .acted)
            #expect(world.store.pushes[push]?.reportedAt == world.now)
            if bob.isOnline { bob.ask(.close) }
            alice.hangUp(call)
            world.advance(.seconds(60))
            #expect(report(of: push) == .acted)
        }
        #expect(device?.unreportedStreak == 0 && device?.suspendedAt == nil)
        #expect(world.core.ledger.count(.awaited) == 0)
    }

    @Test(
        "an act after the report was given up clears the streak, and the call's own push is acted on",
        arguments: Act.allCases)
    func lateAct(act: Act) throws {
        if act == .resume {
            bob.open()
            bob.lose()
        }
        let (call, push) = try alice.call(bob, push: .accepted)
        world.advance(.seconds(20))
        #expect(report(of: push) == .unreported && device?.unreportedStreak == 1)
        perform(act, call)
        #expect(device?.unreportedStreak == 0)
        // A session alone proves that the app runs now, and not that this push had to do with it.
        let isOfItself = act == .open || act == .resume
        #expect(report(of: push) == (isOfItself ? .unreported : .acted))
    }

    @Test("a report after an act says what it says, and once", arguments: ReportResult.allCases)
    func reportAfterAct(result: ReportResult) throws {
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.wake(call)
        #expect(report(of: push) == .acted)
        bob.report(push, call, result)
        #expect(report(of: push) == result.status)
        for late in [ReportResult.filtered, .failed] { bob.report(push, call, late) }
        bob.decline(call)
        #expect(report(of: push) == result.status)
    }

    @Test("a report that comes in its time after an act is a report, one that comes later is late")
    func lateReportAfterAct() throws {
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.wake(call)
        world.advance(.milliseconds(14_999))
        bob.report(push, call, .notRequired)
        #expect(report(of: push) == .notRequired)
        let (next, late) = try alice.call(bob, push: .accepted)
        bob.wake(next)
        world.advance(.seconds(15))
        bob.report(late, next)
        #expect(report(of: late) == .reportedLate)
    }

    /// What the provider says of a push that the device has proved; nil for nothing.
    static let outcomes: [PushOutcome?] = [
        nil, .accepted, .unknown(reason: "no answer in time"), .rejected(reason: "Unregistered", isTokenDead: true),
        .unsent(reason: "expired"),
    ]

    @Test("a report after an act is late by its deadline alone, whatever the provider says", arguments: outcomes)
    func deadlineAlone(outcome: PushOutcome?) throws {
        for isLate in [false, true] {
            let (call, push) = try alice.call(bob, push: .onWire)
            bob.wake(call)
            // Longer than the time for a report: it begins with the provider's answer.
            world.advance(.seconds(20))
            if let outcome { world.settle(push, outcome) }
            world.advance(.milliseconds(isLate ? 15_000 : 14_999))
            bob.report(push, call)
            #expect(report(of: push) == (isLate && outcome != nil ? .reportedLate : .reported))
            #expect(world.store.pushes[push]?.reportDueAt == nil)
            bob.ask(.close)
            alice.hangUp(call)
        }
    }

    @Test("an act that proves an unknown push leaves the report its deadline, and so does a restart")
    func deadlineStays() throws {
        for isLate in [false, true] {
            let (call, push) = try alice.call(bob, push: .onWire)
            world.advance(.seconds(10))
            world.settle(push, .unknown(reason: "no answer in time"))
            world.advance(.seconds(10))
            bob.wake(call)
            #expect(world.store.pushes[push]?.status == .accepted && report(of: push) == .acted)
            #expect(world.store.pushes[push]?.reason == "the device used its wake token; no answer in time")
            world.restart()
            world.advance(.milliseconds(isLate ? 4000 : 3999))
            alice.open()
            bob.wake(call)
            bob.report(push, call)
            #expect(report(of: push) == (isLate ? .reportedLate : .reported))
            bob.ask(.close)
            alice.hangUp(call)
        }
    }

    @Test("an act in one call closes that call's push alone; a session closes every push that was out")
    func twoCalls() throws {
        let (first, second) = (alice.call(bob), alice.call(bob))
        let pushes = [try world.deliver(first, to: bob), try world.deliver(second, to: bob)]
        bob.wake(first)
        bob.decline(first)
        #expect(pushes.map(report) == [.acted, .awaited])
        bob.open()
        #expect(pushes.map(report) == [.acted, .acted])
        let third = alice.call(bob)
        bob.lose()
        let later = try world.transmit(third, to: bob)
        #expect(report(of: later) == .awaited, "no act is the fruit of a push that left after it")
    }

    @Test("any word over a live socket clears the streak, and closes no push of a call that it is not about")
    func livingSocket() throws {
        bob.open()
        for _ in 0..<2 {
            let call = alice.call(bob)
            world.advance(.seconds(2))
            try world.deliver(call, to: bob)
            world.advance(.seconds(15))
            alice.hangUp(call)
        }
        #expect(device?.unreportedStreak == 2, "a half-open socket proves nothing")
        let call = alice.call(bob)
        world.advance(.seconds(2))
        let push = try world.deliver(call, to: bob)
        bob.ask(.state(.foreground))
        #expect(device?.unreportedStreak == 0)
        #expect(report(of: push) == .awaited)
        bob.ring(call)
        #expect(report(of: push) == .acted)
    }

    @Test("an act while the push is still being committed as sent is not its fruit, and keeps it from leaving")
    func actBeforeTheWire() throws {
        let (call, push) = try alice.call(bob, push: .queued)
        world.holdsPushCommits = true
        world.makeReady(push)
        bob.open()
        #expect(report(of: push) == .awaited)
        bob.ring(call)
        world.commitPushes()
        #expect(world.store.pushes[push]?.status == .cancelled && report(of: push) == nil)
        #expect(world.provider.sent[push] == nil)
    }

    @Test("the wake token proves delivery, a session of its own does not", arguments: [true, false])
    func proof(byWakeToken: Bool) throws {
        let (call, push) = try alice.call(bob, push: .onWire)
        if byWakeToken { bob.wake(call) } else { bob.open() }
        world.settle(push, .rejected(reason: "Unregistered", isTokenDead: true))
        let record = try #require(world.store.pushes[push])
        #expect(record.status == (byWakeToken ? .accepted : .rejected))
        #expect(record.report == (byWakeToken ? .acted : nil))
        #expect(record.answeredAt == nil || !byWakeToken)
        #expect(record.reason == (byWakeToken ? "the device used its wake token; Unregistered" : "Unregistered"))
        #expect(device?.tokens.count == (byWakeToken ? 1 : 0))
    }

    @Test("an act survives a restart, and a report still follows it")
    func restart() throws {
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.wake(call)
        world.restart()
        world.advance(.seconds(20))
        #expect(report(of: push) == .acted && device?.unreportedStreak == 0)
        bob.wake(call)
        bob.report(push, call)
        #expect(report(of: push) == .reportedLate)
    }

    @Test("an act in a call that has left memory closes its push in the store")
    func archived() throws {
        let (call, push) = try alice.call(bob, push: .accepted)
        world.advance(.seconds(300))
        #expect(report(of: push) == .unreported)
        bob.wake(call)
        #expect(report(of: push) == .acted)
        #expect(device?.unreportedStreak == 0)
    }
}
