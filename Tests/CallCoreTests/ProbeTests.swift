import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// A suspension does not outlive its reason: now and then the push of a real call is let through.
@Suite final class ProbeTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    private var device: DeviceRecord? { world.store.devices[bob.key] }

    /// A call that nobody takes; its push, if there was one, is accepted and not reported.
    @discardableResult
    private func callInVain() throws -> PushID? {
        let call = alice.call(bob)
        guard world.push(call, to: bob)?.status == .intended else { return nil }
        let push = try world.deliver(call, to: bob)
        alice.hangUp(call)
        world.advance(.seconds(15))
        return push
    }

    private func suspend() throws {
        for _ in 0..<3 { #expect(try callInVain() != nil) }
        #expect(device?.suspendedAt == world.now)
    }

    @Test("a phone that was off for three calls rings again when it is on")
    func ringsAgain() throws {
        try suspend()
        #expect(try callInVain() == nil)
        world.advance(.seconds(600))
        let call = try alice.call(bob, push: .accepted).call
        bob.wake(call)
        #expect(device?.suspendedAt == nil && device?.probes == 0 && device?.nextProbeAt == nil)
        bob.ring(call)
        #expect(alice.states(of: call).last == .ringing)
        alice.hangUp(call)
        bob.ask(.close)
        #expect(try callInVain() != nil, "and from then on for every call")
    }

    @Test("probes are 10 minutes, 1 hour, 6 hours and then a day apart, and nothing is sent between them")
    func schedule() throws {
        try suspend()
        for (probe, pause) in [600, 3600, 21_600, 86_400, 86_400].enumerated() {
            let due = try #require(device?.nextProbeAt)
            #expect(device?.probes == probe)
            world.advance(due - world.now - .milliseconds(1))
            let refused = alice.call(bob)
            #expect(alice.endings(of: refused).map(\.reason) == [.noDevices])
            world.advance(.milliseconds(1))
            let sentAt = world.now
            #expect(try callInVain() != nil)
            let next = [600, 3600, 21_600, 86_400][min(probe + 1, 3)]
            #expect(device?.nextProbeAt == sentAt + .seconds(next), "after \(pause) s")
        }
        #expect(device?.suspendedAt != nil)
    }

    @Test("of two calls at once one is the probe; the other is told that nobody is there")
    func onePerPause() throws {
        try suspend()
        world.advance(.seconds(600))
        let (first, second) = (alice.call(bob), alice.call(bob))
        try world.deliver(first, to: bob)
        let other = try #require(world.push(second, to: bob)?.id)
        world.makeReady(other)
        #expect(world.store.pushes[other]?.status == .cancelled)
        #expect(alice.endings(of: second).map(\.reason) == [.noDevices])
        #expect(alice.endings(of: first).isEmpty)
    }

    @Test("with an alert token beside it the first probe comes with the next call, and alerts go out between probes")
    func alerts() throws {
        bob.open(sending: bob.tokens + [.alert("a")])
        bob.ask(.close)
        try suspend()
        for (probe, pause) in [600, 3600, 21_600, 86_400, 86_400].enumerated() {
            #expect(device?.probes == probe && device?.nextProbeAt.map { $0 <= world.now } == true)
            let (call, sentAt) = (alice.call(bob), world.now)
            #expect(world.push(call, to: bob)?.token == bob.tokens[0])
            try world.deliver(call, to: bob)
            alice.hangUp(call)
            world.advance(.seconds(15))
            #expect(device?.nextProbeAt == sentAt + .seconds(pause))
            // Alerts do not count, and bring no probe nearer.
            let other = alice.call(bob)
            #expect(world.push(other, to: bob)?.token == .alert("a"))
            try world.deliver(other, to: bob)
            alice.hangUp(other)
            #expect(device?.nextProbeAt == sentAt + .seconds(pause))
            world.advance(sentAt + .seconds(pause) - world.now)
        }
    }

    @Test("a push that is being committed when its device is suspended goes out as a counted probe")
    func suspendedMeanwhile() throws {
        bob.open(sending: bob.tokens + [.alert("a")])
        bob.ask(.close)
        for _ in 0..<2 { try callInVain() }
        let third = alice.call(bob)
        try world.deliver(third, to: bob)
        alice.hangUp(third)
        world.advance(.seconds(14))
        world.holdsPushCommits = true
        let (call, push) = try alice.call(bob, push: .queued)
        world.makeReady(push)
        #expect(device?.suspendedAt == nil)
        world.advance(.seconds(1))
        let suspendedAt = try #require(device?.suspendedAt)
        #expect(device?.probes == 0)
        world.commitPushes()
        world.holdsPushCommits = false
        world.makeReady(push)
        #expect(world.push(call, to: bob)?.status == .sent && world.push(call, to: bob)?.token == bob.tokens[0])
        #expect(device?.probes == 1 && device?.nextProbeAt == suspendedAt + .seconds(600))
    }

    @Test("a phone with an alert token that was off for three calls rings with the fourth")
    func ringsAtOnce() throws {
        bob.open(sending: bob.tokens + [.alert("a")])
        bob.ask(.close)
        try suspend()
        let call = try alice.call(bob, push: .accepted).call
        bob.wake(call)
        bob.ring(call)
        #expect(alice.states(of: call).last == .ringing && device?.suspendedAt == nil)
    }

    enum Loss: CaseIterable { case cancelled, returned, rejected, unsent }

    @Test("a probe that certainly did not reach the device is had again at once", arguments: Loss.allCases)
    func notReached(loss: Loss) throws {
        try suspend()
        world.advance(.seconds(600))
        let (call, push) = try alice.call(bob, push: .queued)
        world.holdsPushCommits = loss == .cancelled
        world.makeReady(push)
        #expect(device?.probes == 1)
        switch loss {
        case .cancelled: alice.hangUp(call)
        case .returned: world.settle(push, .returned)
        case .rejected: world.settle(push, .rejected(reason: "TooManyRequests", isTokenDead: false))
        case .unsent: world.settle(push, .unsent(reason: "no connection"))
        }
        #expect(device?.probes == 0 && device?.nextProbeAt == world.now)
        world.commitPushes()
        world.holdsPushCommits = false
        alice.hangUp(call)
        #expect(try callInVain() != nil)
    }

    @Test("a restart keeps the probes and the time of the next")
    func restart() throws {
        try suspend()
        world.advance(.seconds(600))
        try callInVain()
        let before = device
        world.restart()
        alice.open()
        #expect(try callInVain() == nil)
        world.advance(.seconds(3600))
        #expect(try callInVain() != nil)
        #expect(before?.probes == 1 && device?.probes == 2)
    }

    @Test("whatever shows that the app runs ends the suspension")
    func ends() throws {
        try suspend()
        let call = alice.call(bob)
        #expect(alice.endings(of: call).map(\.reason) == [.noDevices])
        // The push of a call before, come late.
        let old = try #require(world.store.pushes.values.first { $0.report == .unreported })
        _ = world.ask(.get(old.call), as: bob.user, device: bob.id, scope: .call(old.call))
        #expect(device?.suspendedAt == nil)
        #expect(try callInVain() != nil)
    }

    /// What an app does without a session, or with a session about something else.
    enum Sign: CaseIterable {
        case unknownCall, othersCall, strangePush, turn, turnByWakeToken, openWithNewToken, newToken, alertReported
    }

    private func show(_ sign: Sign) throws {
        let old = try #require(world.store.pushes.values.first { $0.report == .unreported }).call
        let unknown = world.newCall()
        switch sign {
        case .unknownCall: _ = world.ask(.get(unknown), as: bob.user, device: bob.id, scope: .call(unknown))
        case .othersCall:
            let others = alice.call(world.online("carol"))
            #expect(world.ask(.get(others), as: bob.user, device: bob.id, scope: .full)?.error != nil)
        case .strangePush:
            let report = PushReport(push: world.newPush(), call: old, result: .reported)
            _ = world.ask(.report(report), as: bob.user, device: bob.id, scope: .full)
        case .turn: _ = world.showToken(as: bob.user, device: bob.id)
        case .turnByWakeToken: _ = world.showToken(as: bob.user, device: bob.id, scope: .call(old))
        case .openWithNewToken: bob.open(sending: [.voip("new")])
        case .newToken:
            bob.open()
            bob.ask(.updateDevice(push: [.voip("new")]))
        case .alertReported:
            let call = alice.call(bob)
            let push = try world.deliver(call, to: bob)
            #expect(world.store.pushes[push]?.delivery == .apnsAlert)
            let report = PushReport(push: push, call: call, result: .reported)
            _ = world.ask(.report(report), as: bob.user, device: bob.id, scope: .call(call))
        }
    }

    @Test("any request with a token of the device ends the suspension", arguments: Sign.allCases)
    func signs(sign: Sign) throws {
        if sign == .alertReported {
            bob.open(sending: bob.tokens + [.alert("a")])
            bob.ask(.close)
        }
        try suspend()
        // The first probe, which comes with the next call beside an alert token.
        if sign == .alertReported { #expect(try callInVain() != nil) }
        #expect(device?.suspendedAt != nil)
        try show(sign)
        #expect(device?.suspendedAt == nil && device?.unreportedStreak == 0)
    }

    @Test("a report that the call could not be shown does not end the suspension, nor do a stranger's requests")
    func noSigns() throws {
        try suspend()
        let old = try #require(world.store.pushes.values.first { $0.report == .unreported })
        let report = PushReport(push: old.id, call: old.call, result: .failed)
        _ = world.ask(.report(report), as: bob.user, device: bob.id, scope: .call(old.call))
        _ = world.ask(.get(old.call), as: bob.user, device: .random(), scope: .full)
        _ = world.ask(.get(old.call), as: alice.user, device: bob.id, scope: .full)
        #expect(device?.suspendedAt != nil)
    }
}
