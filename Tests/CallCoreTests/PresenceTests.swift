import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// The two parties of a call and their connections: rule 20, and calls that an app left behind: rule 11.
@Suite final class PresenceTests {
    let (world, alice, bob) = World.pair()

    private func talk() -> CallID {
        let call = alice.call(bob)
        bob.answer(call)
        alice.connect(call, with: bob)
        return call
    }

    @Test("the other side is told that its peer is away, and back; both are recorded")
    func awayAndBack() {
        let call = talk()
        world.advance(.seconds(10))
        let lostAt = world.now
        bob.lose()
        #expect(alice.presences(of: call) == [.away(until: lostAt + world.timers.resume)])
        #expect(alice.ask(.get(call)).snapshot?.peerAwaySince == lostAt)
        world.advance(.seconds(5))
        bob.resume()
        #expect(alice.presences(of: call).last == .back)
        #expect(alice.ask(.get(call)).snapshot?.peerAwaySince == nil)
        #expect(
            world.store.absences.values
                == [AbsenceRecord(call: call, role: .callee, lostAt: lostAt, returnedAt: world.now)])
        alice.lose()
        alice.open()
        #expect(bob.presences(of: call).count == 2)
    }

    @Test("a call that ends because a connection was lost was talked until then")
    func talkEnds() throws {
        let call = talk()
        world.advance(.seconds(10))
        let lostAt = world.now
        bob.lose()
        world.advance(world.timers.resume)
        let record = try #require(world.store.calls[call])
        #expect(record.endReason == .connectionLost && record.endedAt == lostAt + world.timers.resume)
        #expect(record.lostAt == lostAt && record.talkEndedAt == lostAt)
        let told = alice.ask(.get(call)).snapshot
        #expect(told?.lostAt == lostAt && told?.endedAt == record.endedAt)
        #expect(world.store.absences.values.map(\.returnedAt) == [nil])
    }

    /// How bob's phone loses a call that then ends as `connection_lost`.
    enum Loss: CaseIterable {
        case windowOver, closed, closedAfterBreak, loggedOut, dropped, deleted, killed, killedAfterBreak, killedTwice
    }

    @Test("each call that ends as connection_lost was talked until the loss, and says so", arguments: Loss.allCases)
    func eachLoss(_ loss: Loss) throws {
        let call = talk()
        world.advance(.seconds(10))
        let lostAt = world.now
        switch loss {
        case .windowOver: bob.lose()
        case .closed: bob.ask(.close)
        case .closedAfterBreak:
            bob.lose()
            world.advance(.seconds(5))
            world.administer(.dropSession(bob.user, bob.id))
        case .loggedOut: bob.ask(.logout)
        case .dropped: world.administer(.dropSession(bob.user, bob.id))
        case .deleted: world.administer(.deleteDevice(bob.user, bob.id))
        case .killed: bob.open()
        case .killedAfterBreak:
            bob.lose()
            world.advance(.seconds(5))
            bob.open()
        case .killedTwice:
            bob.open()
            world.advance(.seconds(5))
            bob.open()
        }
        world.advance(world.timers.resume)
        if bob.isOnline { bob.call(alice) }
        let record = try #require(world.store.calls[call])
        #expect(record.endReason == .connectionLost && record.endedBy == bob.party)
        #expect(record.lostAt == lostAt && record.talkEndedAt == lostAt)
        let told = alice.ask(.get(call)).snapshot
        #expect(told?.lostAt == lostAt && told?.endedAt == record.endedAt)
        let endedAt = try #require(record.endedAt)
        #expect(lostAt <= endedAt)
    }

    @Test("a winner is told of a caller who is away; before the answer nobody is")
    func callerAway() {
        let call = alice.call(bob)
        let lostAt = world.now
        alice.lose()
        #expect(bob.presences(of: call) == [])
        bob.answer(call)
        #expect(bob.presences(of: call) == [.away(until: lostAt + world.timers.resume)])
        alice.resume()
        #expect(bob.presences(of: call).last == .back)
    }

    @Test("after a restart both sides are away, and each hears of the other's return")
    func restart() {
        let call = talk()
        world.restart()
        alice.open()
        #expect(alice.snapshot(of: call)?.peerAwaySince != nil)
        bob.open()
        #expect(alice.presences(of: call) == [.back])
        #expect(bob.snapshot(of: call)?.peerAwaySince == nil)
        #expect(world.store.absences.values.allSatisfy { $0.returnedAt == world.now })
        #expect(world.store.absences.values.count == 2)
    }

    @Test("a phone that comes and goes all the time is told of, and fills no disk")
    func bounded() {
        let call = talk()
        for _ in 0..<100 {
            world.advance(.milliseconds(10))
            bob.lose()
            bob.resume()
        }
        #expect(alice.presences(of: call).count == 200)
        #expect(world.store.absences.values.count == 32)
    }

    // MARK: Calls left behind

    @Test("an app that was killed in a call and calls again ends the call it knows nothing of")
    func killedInACall() {
        world.administer(.setUser(bob.user, UserPolicyChange(callWaiting: false)))
        let call = talk()
        alice.open()
        let second = alice.call(bob)
        #expect(world.store.calls[call]?.endReason == .connectionLost)
        #expect(world.store.calls[call]?.endedBy == alice.party)
        #expect(world.store.calls[second]?.state == .routing)
        #expect(bob.endings(of: call).map(\.reason) == [.connectionLost])
    }

    @Test("a callee's app that was killed does the same; a call nobody has answered yet, too")
    func otherParts() {
        let call = talk()
        bob.open()
        bob.call(alice)
        #expect(world.store.calls[call]?.endReason == .connectionLost)
        let carol = world.online("carol")
        let unanswered = carol.call(bob)
        carol.open()
        carol.call(alice)
        #expect(world.store.calls[unanswered]?.endReason == .connectionLost)
    }

    @Test("an app that resumes, asks for the call, or was woken for it, keeps it beside the next")
    func keptCalls() throws {
        let first = talk()
        alice.lose()
        alice.resume()
        _ = alice.call(bob)
        #expect(world.store.calls[first]?.state == .connected)
        bob.open()
        bob.ask(.get(first))
        _ = bob.call(alice)
        #expect(world.store.calls[first]?.state == .connected)
        let carol = world.asleep("carol")
        let woken = try alice.call(carol, push: .accepted).call
        carol.wake(woken)
        carol.answer(woken)
        carol.open()
        _ = carol.call(bob)
        #expect(world.store.calls[woken]?.state == .answered)
    }

    @Test("a client that asks for a resume and is refused it after a restart keeps its call")
    func resumeRefused() {
        let call = talk()
        world.restart()
        alice.resume()
        bob.open()
        _ = alice.call(bob)
        #expect(world.store.calls[call]?.state == .connected)
    }

    // MARK: Busy

    @Test("a decline after a device was busy is the person's word")
    func declinedAfterBusy() {
        let tablet = world.online("bob")
        let call = alice.call(bob)
        bob.decline(call, .busy)
        tablet.decline(call)
        #expect(world.store.calls[call]?.endReason == .declined)
        #expect(world.store.missed.isEmpty)
    }
}
