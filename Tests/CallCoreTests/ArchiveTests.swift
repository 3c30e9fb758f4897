import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Calls that memory has let go: the store answers for them. Rules 4, 6, 14 and 15.
@Suite final class ArchiveTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    /// A call whose push was accepted and never reported, and which is out of memory.
    private func oldCall() throws -> (call: CallID, push: PushID) {
        let (call, push) = try alice.call(bob, push: .accepted)
        alice.hangUp(call)
        world.advance(.seconds(300))
        #expect(world.core.calls.isEmpty)
        return (call, push)
    }

    @Test("a report that comes after minutes is entered as late, and the streak is over")
    func lateReport() throws {
        let (call, push) = try oldCall()
        #expect(world.store.pushes[push]?.report == .unreported)
        #expect(world.store.devices[bob.key]?.unreportedStreak == 1)
        bob.wake(call)
        #expect(bob.report(push, call).reply == .callState(.ended, .cancelled))
        #expect(world.store.pushes[push]?.report == .reportedLate)
        #expect(world.store.devices[bob.key]?.unreportedStreak == 0)
        world.advance(.seconds(300))
        #expect(world.core.calls.isEmpty && world.core.pushes.isEmpty)
        #expect(world.core.ledger.intended == 0)
    }

    @Test("a device that wakes after minutes is told the end at once")
    func lateWake() throws {
        let (call, _) = try oldCall()
        let opened = try #require(bob.wake(call).opened)
        #expect(opened.calls.map(\.reason) == [.cancelled])
        #expect(bob.offers(of: call).isEmpty)
    }

    @Test("... also when the server was started anew meanwhile")
    func lateWakeAfterRestart() throws {
        let (call, push) = try oldCall()
        world.restart()
        let opened = try #require(bob.wake(call).opened)
        #expect(opened.calls.map(\.reason) == [.cancelled])
        #expect(bob.report(push, call).reply == .callState(.ended, .cancelled))
        #expect(world.store.pushes[push]?.report == .reportedLate)
    }

    @Test("an old call's id with another invite is a conflict after a restart too")
    func invites() throws {
        let (call, _) = try oldCall()
        world.restart()
        alice.open()
        #expect(alice.ask(.invite(Invite(call: call, to: .user(bob.user), video: true))).code == .conflict)
    }

    @Test("any device of a party may see the call; only those with a part in it may act")
    func otherDevice() throws {
        let (call, _) = try oldCall()
        let tablet = world.online("bob")
        #expect(tablet.ask(.get(call)).snapshot?.role == .callee)
        #expect(tablet.answer(call).code == .forbidden)
        let desk = world.online("alice")
        #expect(desk.ask(.get(call)).snapshot?.role == .caller)
        #expect(desk.hangUp(call).code == .forbidden)
    }

    @Test("a new id is not looked up; before the store's ids are known every one is")
    func newIDs() {
        alice.call(bob)
        #expect(world.core.counters.callsLookedUp == 0)
        world.listsCalls = false
        world.restart()
        alice.open()
        alice.call(bob)
        #expect(world.core.counters.callsLookedUp == 1)
        world.step(.store(.callsListed(world.store.callIDs)))
        alice.call(bob)
        #expect(world.core.counters.callsLookedUp == 1)
    }

    @Test("ids taken in while the store's are still read are known afterwards")
    func earlyIDs() {
        world.listsCalls = false
        world.restart()
        let listed = world.store.callIDs
        alice.open()
        let call = alice.call(bob)
        world.step(.store(.callsListed(listed)))
        alice.hangUp(call)
        world.advance(.seconds(300))
        #expect(alice.ask(.get(call)).snapshot?.state == .ended)
    }

    // MARK: While the store searches

    @Test("what waits for a look-up is answered in its order when the call is found")
    func order() throws {
        let (call, _) = try oldCall()
        world.answersSearches = false
        let same = Invite(call: call, to: .user(bob.user))
        alice.send(.invite(same), .hangup(call, .hangup), .get(call))
        #expect(world.searches == [call])
        #expect(alice.unanswered == 3)
        world.answerLookUps()
        #expect(alice.unanswered == 0)
    }

    @Test("a store that cannot be read puts the requests off, and the next one is looked up again")
    func failure() throws {
        let (call, _) = try oldCall()
        world.answersSearches = false
        alice.send(.get(call))
        world.answerLookUps(failing: true)
        #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)))
        world.answersSearches = true
        #expect(alice.ask(.get(call)).snapshot?.state == .ended)
    }

    @Test("who has gone meanwhile is not answered, and gets no session")
    func gone() throws {
        let (call, _) = try oldCall()
        world.answersSearches = false
        alice.send(.get(call))
        alice.lose()
        let connection = world.connect(bob)
        let open = SessionOpen(token: "", device: DeviceDescription(id: bob.id, platform: .ios))
        world.step(
            .client(
                .opened(
                    connection, world.nextRequest(), open, SessionGrant(user: bob.user, scope: .call(call)))))
        world.cut(connection)
        world.answerLookUps()
        #expect(world.core.onlineSessions == 0)
        #expect(world.violations.isEmpty)
    }

    @Test("two who invite with one new id while it is searched for: the first has the call, the other is a stranger")
    func race() {
        world.listsCalls = false
        world.restart()
        alice.open()
        bob.open()
        world.answersSearches = false
        let call = world.newCall()
        alice.send(.invite(Invite(call: call, to: .user(bob.user))))
        bob.send(.invite(Invite(call: call, to: .user(alice.user))))
        #expect(world.core.liveCalls == 0)
        world.answerLookUps()
        #expect(world.store.calls[call]?.caller == alice.party)
        #expect(bob.lastAnswer?.code == .forbidden)
    }

    @Test("a report counts though its session was closed while the call was looked up")
    func orphan() throws {
        let (call, push) = try oldCall()
        bob.wake(call)
        world.advance(.seconds(10))
        world.answersSearches = false
        bob.send(.report(PushReport(push: push, call: call, result: .reported)))
        bob.ask(.close)
        world.answerLookUps()
        #expect(world.store.pushes[push]?.report == .reportedLate)
    }

    @Test("candidates behind an invite that is searched for wait with it")
    func candidatesWait() {
        world.listsCalls = false
        world.restart()
        alice.open()
        world.answersSearches = false
        let call = world.newCall()
        alice.send(.invite(Invite(call: call, to: .user(bob.user))))
        alice.send(["a1"], of: call)
        world.answerLookUps()
        bob.open()
        #expect(bob.candidates(of: call) == ["a1"])
    }

    @Test("only so many wait: the next is put off, and what waits is not lost")
    func bound() throws {
        var limits = CoreLimits()
        limits.lookUps = 2
        let world = World(limits: limits)
        world.listsCalls = false
        world.restart()
        let phone = world.online("alice")
        world.answersSearches = false
        let ids = (0..<3).map { _ in world.newCall() }
        phone.send(.get(ids[0]), .get(ids[1]), .get(ids[2]))
        #expect(phone.unanswered == 2)
        #expect(phone.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)))
        world.answerLookUps()
        #expect(phone.unanswered == 0)
        #expect(world.core.lookUpCount == 0)
    }

    // MARK: By plain HTTP

    @Test("a wake token shows its call and the push without a session")
    func http() throws {
        let (call, push) = try alice.call(bob, push: .accepted)
        let scope = SessionGrant.Scope.call(call)
        let view = world.ask(.get(call), as: bob.user, device: bob.id, scope: scope)?.snapshot
        #expect(view?.state == .waking && view?.push == push)
    }

    @Test("a call that is out of memory is shown, and a report taken, by a user's token that names no device")
    func httpArchive() throws {
        let (call, push) = try oldCall()
        #expect(world.ask(.get(call), as: alice.user, device: nil, scope: .full)?.snapshot?.role == .caller)
        world.advance(.seconds(60))
        let report = PushReport(push: push, call: call, result: .reported)
        #expect(
            world.ask(.report(report), as: bob.user, device: nil, scope: .full)?.reply
                == .callState(.ended, .cancelled))
        #expect(world.store.pushes[push]?.report == .reportedLate)
    }

    @Test("who is called and never had a device may see the call by HTTP")
    func httpMember() {
        let eve = Handle("eve")!
        let call = alice.call(.users([bob.user, eve]))
        #expect(world.ask(.get(call), as: eve, device: nil, scope: .full)?.snapshot?.role == .callee)
    }

    @Test("another call, another device, another user and a made-up push are all strangers")
    func httpStrangers() throws {
        let (call, push) = try alice.call(bob, push: .accepted)
        let other = world.newCall()
        let report = PushReport(push: push, call: call, result: .reported)
        let made = PushReport(push: world.newPush(), call: call, result: .reported)
        let answers = [
            world.ask(.get(call), as: bob.user, device: bob.id, scope: .call(other)),
            world.ask(.get(call), as: bob.user, device: alice.id, scope: .call(call)),
            world.ask(.get(call), as: Handle("carol")!, device: nil, scope: .full),
            world.ask(.report(report), as: alice.user, device: nil, scope: .full),
            world.ask(.report(report), as: bob.user, device: alice.id, scope: .full),
            world.ask(.report(made), as: bob.user, device: nil, scope: .full),
        ]
        for answer in answers { #expect(answer?.error == answers[0]?.error && answer?.code == .forbidden) }
        #expect(world.store.pushes[push]?.report == .awaited)
    }
}
