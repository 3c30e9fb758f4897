import CallVocabulary
import Foundation
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// The cases of the article on call semantics, each under its own name: what broke phones in the field.
@Suite final class CaseTests {
    let (world, alice, bob) = World.pair()
    lazy var tablet = world.phone("bob")

    private func sleep() { bob.ask(.close) }

    private func state(_ call: CallID) -> CallState? { world.store.calls[call]?.state }
    private func reason(_ call: CallID) -> EndReason? { world.store.calls[call]?.endReason }

    private func connect(_ call: CallID) {
        for phone in [alice, bob] { phone.connected(call) }
        #expect(state(call) == .connected)
    }

    @Test("the article lists the cases that are tested here, and no other")
    func article() throws {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let article = try String(
            contentsOf: root.appending(path: "Sources/CallCore/CallCore.docc/CallSemantics.md"), encoding: .utf8)
        let table = try #require(article.range(of: "| case | what happens |"))
        let rows = article[table.upperBound...].split(separator: "\n").dropFirst().prefix { $0.hasPrefix("| ") }
        let listed = rows.map { $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces) }
            .map { $0.replacing("`", with: "") }
        let source = try String(contentsOf: here, encoding: .utf8)
        let tested = source.split(separator: "\n").compactMap { line -> String? in
            guard let start = line.range(of: "case: "), line.hasPrefix("    // ") else { return nil }
            return String(line[start.upperBound...])
        }
        #expect(listed.count > 30)
        #expect(tested == listed)
    }

    // MARK: One sleeping phone

    // case: the callee sleeps
    @Test func calleeSleeps() throws {
        sleep()
        let (call, push) = try alice.call(bob, push: .accepted)
        #expect(state(call) == .waking)
        bob.open()
        bob.report(push, call)
        #expect(state(call) == .ringing)
        #expect(bob.answer(call).reply == .won)
        connect(call)
        #expect(world.push(call, to: bob)?.report == .reported)
    }

    // case: cancelled before the push is sent
    @Test func cancelledBeforePush() throws {
        sleep()
        let call = alice.call(bob)
        alice.hangUp(call)
        let push = try #require(world.push(call, to: bob)?.id)
        world.step(.push(.ready(push)))
        #expect(world.push(call, to: bob)?.status == .cancelled)
        #expect(world.provider.sent[push] == nil)
    }

    // case: cancelled while the push is in flight, or was accepted
    @Test(arguments: [false, true]) func cancelledInFlight(isAccepted: Bool) throws {
        sleep()
        let call = alice.call(bob)
        let push = isAccepted ? try world.deliver(call, to: bob) : try world.transmit(call, to: bob)
        alice.hangUp(call)
        if !isAccepted { world.settle(push, .accepted) }
        #expect(bob.wake(call).opened?.calls.map(\.reason) == [.cancelled])
        #expect(bob.offers(of: call).isEmpty)
        #expect(bob.report(push, call).reply == .callState(.ended, .cancelled))
        #expect(world.push(call, to: bob)?.report == .reported)
        #expect(world.provider.sent == [push: 1])
    }

    // case: cancelled after the wake, before or after the report
    @Test(arguments: [false, true]) func cancelledAfterWake(isReported: Bool) throws {
        sleep()
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.wake(call)
        if isReported { bob.report(push, call) }
        alice.hangUp(call)
        #expect(bob.endings(of: call).map(\.reason) == [.cancelled])
        if !isReported { bob.report(push, call) }
        #expect(world.push(call, to: bob)?.report == .reported)
    }

    // case: a push 30 s late, for a call that has ended
    @Test func latePush() throws {
        sleep()
        let (call, push) = try alice.call(bob, push: .accepted)
        alice.hangUp(call)
        world.advance(.seconds(30))
        #expect(bob.wake(call).opened?.calls.map(\.state) == [.ended])
        #expect(bob.report(push, call).reply == .callState(.ended, .cancelled))
        #expect(world.push(call, to: bob)?.report == .reportedLate)
    }

    // case: the answer comes before the device was told
    @Test func answerBeforeOffer() throws {
        sleep()
        let call = try alice.call(bob, push: .onWire).call
        bob.wake(call)
        #expect(world.leg(call, of: bob)?.ringingAt == nil)
        #expect(bob.answer(call).reply == .won)
        #expect(alice.states(of: call).last == .answered)
    }

    // MARK: Sockets

    // case: the socket is dead and nobody has noticed
    @Test func deadSocket() {
        let call = alice.call(bob)
        world.advance(.milliseconds(1_999))
        #expect(world.push(call, to: bob) == nil)
        world.advance(.milliseconds(1))
        #expect(world.push(call, to: bob)?.status == .intended)
    }

    // case: the device rings before its push goes out
    @Test func ringsBeforePush() throws {
        sleep()
        let (call, push) = try alice.call(bob, push: .queued)
        bob.open()
        bob.ring(call)
        world.step(.push(.ready(push)))
        #expect(world.push(call, to: bob)?.status == .cancelled)
    }

    // MARK: Several devices

    // case: two devices, one answers
    @Test func answeredElsewhere() {
        tablet.open()
        let call = alice.call(bob)
        bob.answer(call)
        #expect(tablet.endings(of: call).map(\.reason) == [.answeredElsewhere])
        #expect(tablet.answer(call).code == .alreadyAnswered(by: bob.party))
        connect(call)
    }

    // case: two devices, one declines
    @Test(arguments: DeclinePolicy.allCases) func declinedElsewhere(policy: DeclinePolicy) {
        tablet.open()
        world.administer(.setUser(bob.user, UserPolicyChange(decline: policy)))
        let call = alice.call(bob)
        bob.decline(call)
        #expect(tablet.endings(of: call).map(\.reason) == (policy == .all ? [.declinedElsewhere] : []))
        #expect(reason(call) == (policy == .all ? .declined : nil))
    }

    // case: two devices, one declines as busy
    @Test func busyOnOne() {
        tablet.open()
        let call = alice.call(bob)
        bob.decline(call, .busy)
        #expect(reason(call) == nil && tablet.endings(of: call).isEmpty)
        tablet.answer(call)
        #expect(state(call) == .answered)
    }

    // case: all decline
    @Test(arguments: DeclinePolicy.allCases) func allDecline(policy: DeclinePolicy) {
        tablet.open()
        let carol = world.online("carol")
        world.administer(.setUser(bob.user, UserPolicyChange(decline: policy)))
        let call = alice.call(.users([bob.user, carol.user]))
        bob.decline(call)
        if policy == .device { tablet.decline(call) }
        #expect(reason(call) == nil)
        carol.decline(call, .busy)
        #expect(alice.endings(of: call).map(\.reason) == [.busy])
    }

    // case: nobody answers, with or without a sign of life
    @Test(arguments: [false, true], [nil, Duration.seconds(10)]) func nobodyAnswers(rings: Bool, asked: Duration?) {
        let call = alice.call(.user(bob.user), ring: asked)
        if rings { bob.ring(call) }
        world.advance((asked ?? .seconds(45)) - .milliseconds(1))
        #expect(reason(call) == nil)
        world.advance(.milliseconds(1))
        #expect(reason(call) == .ringTimeout)
        #expect(alice.endings(of: call).count == 1 && bob.endings(of: call).count == 1)
        #expect(world.store.missed.map(\.user) == [bob.user])
    }

    // case: nobody answers, and the callee forwards such calls
    @Test func forwarded() {
        let carol = world.online("carol")
        world.administer(.forward(bob.user, busy: nil, noAnswer: .user(carol.user), after: nil))
        let call = alice.call(bob)
        world.advance(.seconds(45))
        #expect(bob.endings(of: call).map(\.reason) == [.ringTimeout])
        #expect(carol.answer(call).reply == .won)
        #expect(state(call) == .answered)
    }

    // case: the device wakes at the deadline itself
    @Test func wakesAtDeadline() throws {
        sleep()
        let (call, push) = try alice.call(bob, push: .accepted)
        world.advance(.seconds(45))
        #expect(bob.wake(call).opened?.calls.map(\.reason) == [.ringTimeout])
        #expect(bob.report(push, call).reply == .callState(.ended, .ringTimeout))
        #expect(world.push(call, to: bob)?.report == .reportedLate)
    }

    // case: two sessions opened by one device, one after the other
    @Test func doubleOpen() {
        let call = alice.call(bob)
        bob.open()
        #expect(bob.closes == [.replaced])
        #expect(bob.offers(of: call).count == 2, "one in each session")
        bob.lose()
        bob.resume()
        #expect(bob.offers(of: call).count == 2)
    }

    // case: a second call while the phone is being woken for the first
    @Test func secondCall() throws {
        sleep()
        let carol = world.online("carol")
        let first = try alice.call(bob, push: .accepted).call
        let second = try carol.call(bob, push: .accepted).call
        bob.open()
        #expect(bob.offers(of: first).count == 1 && bob.offers(of: second).count == 1)
        #expect(world.provider.sent.values.allSatisfy { $0 == 1 } && world.provider.sent.count == 2)
    }

    // MARK: Tokens

    // case: the same token on two devices
    @Test func sameToken() throws {
        tablet.open(sending: bob.tokens)
        tablet.ask(.close)
        sleep()
        let call = alice.call(bob)
        #expect(world.push(call, to: bob) == nil)
        #expect(try world.transmit(call, to: tablet) == world.leg(call, of: tablet)?.push)
    }

    // case: the same token in capitals, or for another kind of message at FCM
    @Test func sameTokenWrittenOtherwise() {
        #expect(PushToken.voip("ABCD") == PushToken.voip("abcd"))
        let carol = world.online("carol", tokens: [.fcm(.data, "t")])
        world.online("dave", tokens: [.fcm(.alert, "t")])
        #expect(world.store.devices[carol.key]?.tokens.isEmpty == true)
    }

    // case: invite and hang-up while the disk stalls
    @Test func hungUpBeforeTheWire() throws {
        sleep()
        let (call, push) = try alice.call(bob, push: .queued)
        world.holdsPushCommits = true
        world.makeReady(push)
        alice.hangUp(call)
        world.holdsPushCommits = false
        world.commitPushes()
        #expect(world.push(call, to: bob)?.status == .cancelled && world.provider.sent.isEmpty)
    }

    // case: invite and hang-up, in quick repetition
    @Test func overAndOver() {
        sleep()
        var refusals = 0
        for _ in 0..<20 {
            let call = world.newCall()
            let answer = alice.ask(.invite(Invite(call: call, to: .user(bob.user))))
            if case .rateLimited? = answer.code { refusals += 1 } else { alice.hangUp(call) }
        }
        #expect(refusals > 0)
    }

    // case: another user on the same device, or the app reinstalled
    @Test func userSwitch() {
        let carol = world.phone("carol")
        carol.open(sending: bob.tokens)
        sleep()
        let call = world.newCall()
        #expect(
            alice.ask(.invite(Invite(call: call, to: .user(bob.user)))).reply == .inviteEnded(call, .noDevices))
        carol.ask(.close)
        let second = alice.call(carol)
        #expect(world.push(second, to: carol)?.token == bob.tokens[0])
    }

    // MARK: Deaths of sockets

    // case: the caller's socket breaks
    @Test(arguments: [CallState.routing, .ringing, .answered, .connected]) func callerDies(in stage: CallState) {
        let call = reach(stage)
        alice.lose()
        world.advance(.milliseconds(stage == .answered ? 19_999 : 29_999))
        #expect(reason(call) == nil)
        if stage == .answered { bob.connected(call) }
        world.advance(.milliseconds(1))
        #expect(bob.endings(of: call).map(\.reason) == [stage == .answered ? .connectTimeout : .connectionLost])
    }

    // case: the callee's socket breaks before it rings
    @Test func calleeDies() {
        let call = reach(.routing)
        bob.lose()
        #expect(world.push(call, to: bob)?.status == .intended)
    }

    // case: the callee's socket breaks while it rings
    @Test func calleeDiesRinging() {
        let call = reach(.ringing)
        bob.lose()
        world.advance(.seconds(2))
        #expect(world.push(call, to: bob)?.status == .intended)
        let carol = world.online("carol", pushable: false)
        let second = alice.call(carol)
        carol.ring(second)
        carol.lose()
        world.advance(.seconds(30))
        #expect(reason(second) == .noDevices)
    }

    // case: the app closes its session while it rings
    @Test func calleeClosesRinging() {
        let call = reach(.ringing)
        bob.ask(.close)
        #expect(world.push(call, to: bob)?.status == .intended)
    }

    // case: the woken app answers with the wake token, then opens its full session
    @Test func wokenThenFull() throws {
        sleep()
        let call = alice.call(bob, sdp: "offer")
        try world.deliver(call, to: bob)
        bob.wake(call)
        bob.answer(call)
        alice.send(["1"], of: call)
        bob.open()
        #expect(bob.snapshot(of: call)?.sdp == RawJSON("offer"))
        #expect(bob.candidates(of: call) == ["1", "1"])
    }

    // case: the app is killed in a call, starts again and calls
    @Test func killedAndCalls() {
        let call = reach(.connected)
        alice.open()
        let second = alice.call(bob)
        #expect(reason(call) == .connectionLost && reason(second) == nil)
    }

    // case: both sockets break
    @Test(arguments: [CallState.routing, .ringing, .connected]) func bothDie(in stage: CallState) {
        let call = reach(stage)
        alice.lose()
        bob.lose()
        world.advance(.seconds(30))
        #expect(state(call) == .ended)
        world.advance(.seconds(300))
        #expect(world.core.calls.isEmpty)
    }

    /// A call from alice to bob, who is online, as far as `stage`.
    private func reach(_ stage: CallState) -> CallID {
        let call = alice.call(bob)
        if stage == .ringing { bob.ring(call) }
        if stage == .answered || stage == .connected { bob.answer(call) }
        if stage == .connected { connect(call) }
        return call
    }

    // MARK: Races

    // case: two answers at once
    @Test func twoAnswers() {
        tablet.open()
        let call = alice.call(bob)
        #expect(tablet.answer(call).reply == .won)
        #expect(bob.answer(call).code == .alreadyAnswered(by: tablet.party))
        #expect(world.store.legs(of: call).count { $0.answeredAt != nil } == 1)
    }

    // case: an answer and a hang-up, or an answer and the deadline, at once
    @Test func answerAgainstEnd() {
        let first = alice.call(bob)
        alice.hangUp(first)
        #expect(bob.answer(first).code == .callEnded(.cancelled))
        let second = alice.call(bob)
        bob.answer(second)
        #expect(alice.hangUp(second).reply == .callState(.ended, .hangup))
        let third = alice.call(bob)
        world.advance(.seconds(45))
        #expect(bob.answer(third).code == .callEnded(.ringTimeout))
    }

    // case: a restart, clean or by kill -9, in any state
    @Test(arguments: [CallState.routing, .waking, .ringing, .answered, .connected]) func restart(in stage: CallState)
        throws
    {
        if stage == .waking { sleep() }
        let call = reach(stage)
        if stage == .waking { try world.transmit(call, to: bob) }
        world.advance(.seconds(10))
        world.restart(downFor: .seconds(1))
        #expect(reason(call) == nil)
        alice.open()
        bob.open()
        switch stage {
        case .routing, .waking, .ringing:
            world.advance(.milliseconds(33_999))
            #expect(reason(call) == nil)
            world.advance(.milliseconds(1))
            #expect(reason(call) == .ringTimeout)
        case .answered:
            world.advance(.seconds(9))
            #expect(reason(call) == .connectTimeout)
        case .connected, .ended:
            world.advance(.seconds(600))
            #expect(state(call) == .connected)
        }
    }

    // MARK: What APNs says

    private func settle(_ outcome: PushOutcome) throws -> (call: CallID, push: PushID) {
        sleep()
        let (call, push) = try alice.call(bob, push: .onWire)
        world.settle(push, outcome)
        return (call, push)
    }

    // case: APNs: 410
    // case: APNs: BadDeviceToken while other tokens are accepted
    @Test(arguments: ["Unregistered", "BadDeviceToken"]) func deadToken(reason: String) throws {
        let (call, _) = try settle(.rejected(reason: reason, isTokenDead: true))
        #expect(world.push(call, to: bob)?.status == .rejected && world.push(call, to: bob)?.reason == reason)
        #expect(world.store.devices[bob.key]?.tokens.isEmpty == true)
        #expect(self.reason(call) == .noDevices)
    }

    // case: APNs: BadDeviceToken for one token after the other, or before any push was accepted
    @Test func wrongConfiguration() throws {
        // The push machine has judged that the configuration is at fault.
        let (call, _) = try settle(.rejected(reason: "BadDeviceToken", isTokenDead: false))
        #expect(world.push(call, to: bob)?.status == .rejected && reason(call) == .noDevices)
        #expect(world.store.devices[bob.key]?.tokens.map(\.token) == bob.tokens)
        #expect(world.push(alice.call(bob), to: bob)?.status == .intended)
    }

    // case: the provider refuses the credential once, for any reason and at any age of the provider token
    @Test func credentialRefusedOnce() throws {
        // The push client takes it back and asks again with a new provider token.
        let (call, push) = try settle(.returned)
        world.makeReady(push)
        world.settle(push, .accepted)
        #expect(world.push(call, to: bob)?.status == .accepted && reason(call) == nil)
    }

    // case: the provider refuses the credential repeatedly
    @Test func credentialRefused() throws {
        // The push client gives up in time for the caller to hear it.
        let (call, push) = try settle(.returned)
        world.settle(push, .unsent(reason: "the credential is refused"))
        #expect(world.push(call, to: bob)?.status == .cancelled && reason(call) == .noDevices)
    }

    // case: FCM: QUOTA_EXCEEDED
    @Test func quotaExceeded() throws {
        let (call, push) = try settle(.returned)
        let other = alice.call(tablet)
        #expect(reason(call) == nil && reason(other) == nil, "the push waits, and nothing else does")
        world.makeReady(push)
        world.settle(push, .accepted)
        #expect(world.push(call, to: bob)?.status == .accepted)
    }

    // case: APNs: 429
    @Test func tooManyRequests() throws {
        let (call, _) = try settle(.rejected(reason: "TooManyRequests", isTokenDead: false))
        #expect(world.store.devices[bob.key]?.tokens.isEmpty == false)
        #expect(reason(call) == .noDevices)
    }

    // case: APNs: 503, GOAWAY before the stream
    @Test func unavailable() throws {
        let (call, push) = try settle(.returned)
        #expect(world.push(call, to: bob)?.status == .intended)
        world.makeReady(push)
        world.settle(push, .accepted)
        #expect(world.provider.sent == [push: 2] && reason(call) == nil)
        #expect(world.core.ledger.violations.isEmpty)
    }

    // case: APNs: no answer, or a connection lost after the body
    @Test func noAnswer() throws {
        let (call, push) = try settle(.unknown(reason: "no answer"))
        #expect(world.push(call, to: bob)?.status == .unknown)
        bob.wake(call)
        bob.report(push, call)
        let record = world.push(call, to: bob)
        #expect(record?.status == .accepted && record?.reason == "the device used its wake token; no answer")
        #expect(record?.answeredAt == nil, "the provider never answered")
        #expect(world.provider.sent == [push: 1])
    }

    // case: a sandbox token sent to production
    @Test func wrongEnvironment() throws {
        let (call, _) = try settle(.rejected(reason: "BadDeviceToken", isTokenDead: true))
        #expect(reason(call) == .noDevices)
        bob.open()
        #expect(world.store.devices[bob.key]?.tokens.map(\.token) == bob.tokens, "registered anew by the app")
    }

    // MARK: Many

    // case: a group of 1,000, one answer
    @Test func thousand() {
        let crowd = (0..<1_000).map { world.online("member\($0)", pushable: false) }
        world.administer(.setGroup(CallGroup(name: "all", strategy: .all, members: crowd.map(\.user))))
        let call = alice.call(.group("all"))
        crowd[617].answer(call)
        #expect(crowd.count { $0.endings(of: call).map(\.reason) == [.answeredElsewhere] } == 999)
    }

    // case: the caller is in the group
    @Test func callerInGroup() {
        let desk = world.online("alice")
        world.administer(.setGroup(CallGroup(name: "all", strategy: .all, members: [alice.user, bob.user])))
        let call = alice.call(.group("all"))
        #expect(alice.offers(of: call).isEmpty && desk.offers(of: call).count == 1)
        #expect(bob.offers(of: call).count == 1)
        #expect(desk.answer(call).reply == .won)
        #expect(bob.endings(of: call).map(\.reason) == [.answeredElsewhere])
    }

    // case: calling oneself
    @Test func selfCall() {
        let alone = world.newCall()
        #expect(
            alice.ask(.invite(Invite(call: alone, to: .user(alice.user)))).reply == .inviteEnded(alone, .noDevices))
        let desk = world.online("alice")
        let call = alice.call(alice)
        #expect(desk.answer(call).reply == .won)
    }

    // MARK: Alerts

    // case: a phone was off for three calls
    @Test func offForThreeCalls() throws {
        sleep()
        for _ in 0..<3 {
            _ = try alice.call(bob, push: .accepted)
            world.advance(.seconds(60))
        }
        #expect(reason(alice.call(bob)) == .noDevices)
        world.advance(.seconds(600))
        let call = try alice.call(bob, push: .accepted).call
        bob.wake(call)
        #expect(world.store.devices[bob.key]?.suspendedAt == nil)
    }

    // case: the device has only alert tokens, or is suspended and not probed
    @Test(arguments: [true, false]) func onlyAnAlert(isSuspended: Bool) throws {
        let watch = world.asleep("carol", tokens: isSuspended ? [.voip("v"), .alert("a")] : [.alert("a")])
        if isSuspended {
            // The fourth is the first probe.
            for _ in 0..<4 {
                let call = try alice.call(watch, push: .accepted).call
                alice.hangUp(call)
                world.advance(.seconds(15))
            }
        }
        let call = alice.call(watch)
        #expect(state(call) == .waking)
        let push = try world.deliver(call, to: watch)
        #expect(world.store.pushes[push]?.delivery == .apnsAlert)
        #expect(world.store.pushes[push]?.report == .notRequired)
        watch.open()
        #expect(watch.offers(of: call).count == 1)
        watch.answer(call)
        #expect(state(call) == .answered)
    }

    // case: a call is missed and the user wants alerts
    @Test func missedWithAlerts() throws {
        let watch = world.asleep("carol", tokens: [.alert("a")])
        world.administer(.setUser(watch.user, UserPolicyChange(missedCalls: .alert)))
        for isSeen in [false, true] {
            let call = alice.call(watch)
            alice.hangUp(call)
            let notice = try #require(world.notices(to: watch).last)
            #expect(notice.call == call && notice.purpose == .missedCall && notice.status == .intended)
            if isSeen { watch.open() }
            world.makeReady(notice.id)
            #expect(world.provider.sent[notice.id] == (isSeen ? nil : 1))
            #expect(world.store.pushes[notice.id]?.status == (isSeen ? .cancelled : .sent))
        }
    }

    // case: calls are missed and the user wants background pushes
    @Test func missedInTheBackground() throws {
        let watch = world.asleep("carol", tokens: [.alert("a")])
        world.administer(.setUser(watch.user, UserPolicyChange(missedCalls: .background)))
        let start = world.now
        for _ in 0..<4 {
            alice.hangUp(alice.call(watch))
            for id in world.provider.waiting { world.makeReady(id) }
            for id in world.provider.onWire { world.settle(id, .accepted) }
            world.advance(.seconds(60))
        }
        #expect(world.notices(to: watch).map(\.status) == [.accepted, .accepted, .cancelled, .intended])
        world.advance(.seconds(3600) - (world.now - start))
        let last = try #require(world.notices(to: watch).last)
        world.makeReady(last.id)
        #expect(world.store.pushes[last.id]?.status == .sent)
    }
}
