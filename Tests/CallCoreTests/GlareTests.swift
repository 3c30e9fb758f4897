import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Two who call each other at the same time: rule 10.
@Suite final class GlareTests {
    let (world, alice, bob) = World.pair()

    private func pair() -> (low: CallID, high: CallID) {
        let calls = [world.newCall(), world.newCall()].sorted()
        return (calls[0], calls[1])
    }

    @Test("the lower call_id goes on when it came first, and the second ends in its favour")
    func firstWins() {
        let (low, high) = pair()
        alice.call(.user(bob.user), id: low)
        bob.call(.user(alice.user), id: high)
        #expect(bob.endings(of: high).map(\.reason) == [.glare])
        #expect(bob.endings(of: high).first?.mergedInto == low)
        #expect(alice.offers(of: high).isEmpty)
        #expect(world.store.calls[high]?.endReason == .glare)
        #expect(world.store.calls[high]?.mergedInto == low)
        #expect(bob.ask(.get(high)).snapshot?.mergedInto == low)
        // The winner still rings: nobody answered it.
        #expect(world.store.calls[low]?.state.isRingingPhase == true)
        #expect(bob.answer(low).reply == .won)
        world.restart()
        bob.open()
        #expect(bob.ask(.get(high)).snapshot?.mergedInto == low)
    }

    @Test("the lower call_id goes on when it came second, and the first ends in its favour on both sides")
    func secondWins() {
        let (low, high) = pair()
        alice.call(.user(bob.user), id: high)
        bob.ring(high)
        bob.call(.user(alice.user), id: low)
        #expect(alice.endings(of: high).map(\.mergedInto) == [low])
        #expect(bob.endings(of: high).map(\.mergedInto) == [low])
        #expect(alice.offers(of: low).count == 1)
        #expect(world.core.liveCalls == 1)
        #expect(alice.answer(low).reply == .won)
    }

    @Test("a device that has left the loser before sees its own end, not the glare")
    func leftBefore() {
        let (low, high) = pair()
        let other = world.online("bob")
        alice.call(.user(bob.user), id: high)
        other.decline(high, .busy)
        bob.call(.user(alice.user), id: low)
        let view = other.ask(.get(high)).snapshot
        #expect(view?.reason == .busy && view?.by == other.party && view?.mergedInto == nil)
        #expect(bob.ask(.get(high)).snapshot?.mergedInto == low)
    }

    @Test("a repeated invite of the loser is answered with its end")
    func repeated() {
        let (low, high) = pair()
        alice.call(.user(bob.user), id: low)
        let invite = Invite(call: high, to: .user(alice.user))
        #expect(bob.ask(.invite(invite)).reply == .inviteEnded(high, .glare))
        #expect(bob.ask(.invite(invite)).reply == .inviteEnded(high, .glare))
        #expect(world.core.liveCalls == 1)
    }

    @Test("it is a glare also with call waiting off, and nobody has missed a call")
    func withoutCallWaiting() {
        let (low, high) = pair()
        for user in [alice.user, bob.user] { world.administer(.setUser(user, UserPolicyChange(callWaiting: false))) }
        alice.call(.user(bob.user), id: high)
        bob.call(.user(alice.user), id: low)
        #expect(alice.offers(of: low).count == 1)
        #expect(world.store.missed.isEmpty)
    }

    @Test("a sleeping caller's push for the loser is not sent any more")
    func withPush() throws {
        let carol = world.online("carol")
        carol.lose()
        world.advance(.seconds(31))
        let (low, high) = pair()
        alice.call(.user(carol.user), id: high)
        let push = try #require(world.push(high, to: carol)?.id)
        carol.open()
        carol.call(.user(alice.user), id: low)
        world.makeReady(push)
        #expect(world.store.pushes[push]?.status == .cancelled)
        #expect(world.provider.sent[push] == nil)
    }

    @Test(
        "with an answered call, or one to a list, there is no glare: the second is a call of its own",
        arguments: [true, false])
    func noGlare(isAnswered: Bool) {
        let (low, high) = pair()
        alice.call(isAnswered ? .user(bob.user) : .users([bob.user]), id: high)
        if isAnswered { bob.answer(high) }
        bob.call(.user(alice.user), id: low)
        #expect(world.core.liveCalls == 2)
    }

    @Test("an alias is the user behind it")
    func alias() throws {
        let number = try #require(Handle("+81312345678"))
        world.administer(.setAlias(Alias(handle: number, user: alice.user)))
        let (low, high) = pair()
        alice.call(.user(bob.user), id: high)
        bob.call(.user(number), id: low)
        #expect(alice.endings(of: high).map(\.mergedInto) == [low])
    }

    @Test("of two calls to me, both end in favour of my lower one, and only the lower one beats mine")
    func several() {
        let calls = (0..<3).map { _ in world.newCall() }.sorted()
        let desk = world.online("bob")
        bob.call(.user(alice.user), id: calls[1])
        desk.call(.user(alice.user), id: calls[2])
        alice.call(.user(bob.user), id: calls[0])
        #expect(world.store.calls[calls[1]]?.mergedInto == calls[0])
        #expect(world.store.calls[calls[2]]?.mergedInto == calls[0])
        let other = world.newCall()
        alice.call(.user(bob.user), id: other)
        #expect(world.store.calls[other]?.endReason == nil)
    }
}
