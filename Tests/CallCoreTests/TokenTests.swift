import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Whose a push token is, since when it is known to be good, and that it is pushed once for a call.
@Suite final class TokenTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: true)

    private func tokens(of phone: Phone) -> [PushToken]? { world.store.devices[phone.key]?.tokens.map(\.token) }

    // MARK: Its age

    enum Confirmation: CaseIterable { case open, update, report, wake }

    @Test("a registration keeps the latest time it was confirmed, and its place", arguments: Confirmation.allCases)
    func confirmed(by confirmation: Confirmation) throws {
        let second = PushToken.voip("second")
        bob.open(sending: bob.tokens + [second])
        bob.ask(.close)
        world.advance(.seconds(100))
        let (call, push) = try alice.call(bob, push: .onWire)
        let sentAt = world.now
        #expect(world.push(call, to: bob)?.token == second)
        world.advance(.seconds(1))
        switch confirmation {
        case .open: bob.open(sending: bob.tokens + [second])
        case .update:
            bob.open(sending: [])
            bob.ask(.updateDevice(push: bob.tokens + [second]))
        case .report:
            _ = world.ask(
                .report(PushReport(push: push, call: call, result: .reported)), as: bob.user, device: bob.id,
                scope: .call(call))
        case .wake: bob.wake(call)
        }
        if bob.isOnline { bob.ask(.close) }
        alice.hangUp(call)
        world.advance(.seconds(20))
        let next = alice.call(bob)
        let order = try #require(world.push(next, to: bob).flatMap { world.provider.orders[$0.id] })
        #expect(order.token == second, "the order of tokens is the order in which they first came")
        let isByPush = confirmation == .report || confirmation == .wake
        #expect(order.tokenRegisteredAt == (isByPush ? sentAt : sentAt + .seconds(1)))
    }

    @Test("a provider's word on a token that was registered again since its push left forgets nothing")
    func staleWord() throws {
        let push = try alice.call(bob, push: .onWire).push
        world.advance(.seconds(1))
        bob.open()
        bob.ask(.close)
        world.settle(push, .rejected(reason: "Unregistered", isTokenDead: true))
        #expect(tokens(of: bob) == bob.tokens)
    }

    // MARK: One push to a token

    /// As what the token is registered anew, and by whom.
    enum Registration: CaseIterable { case sameUser, otherUser, upperCase, otherTopic }

    private func token(_ registration: Registration) -> PushToken {
        let old = bob.tokens[0]
        return switch registration {
        case .sameUser, .otherUser: old
        case .upperCase: .voip(old.token.uppercased())
        case .otherTopic:
            PushToken(provider: .apns, kind: .voip, environment: .production, topic: "other.voip", token: old.token)
        }
    }

    @Test(
        "a token that is registered under another device while its push is out gets no second one for the call",
        arguments: Registration.allCases)
    func movedAfter(registration: Registration) throws {
        let carol = world.online("carol", pushable: false)
        let other = registration == .otherUser ? carol : world.phone("bob", pushable: false)
        let call = alice.call(.users([bob.user, carol.user]))
        let push = try world.deliver(call, to: bob)
        other.open(sending: [token(registration)])
        #expect(tokens(of: bob) == [])
        for _ in 0..<2 {
            other.lose()
            world.advance(.seconds(3))
            #expect(world.push(call, to: other) == nil)
            other.open(sending: [token(registration)])
            world.advance(.seconds(3))
            #expect(world.push(call, to: other) == nil)
        }
        #expect(other.answer(call).reply == .won)
        other.ask(.close)
        #expect(world.provider.sent[push] == 1 && world.provider.sent.count == 1)
        alice.hangUp(call)
        // For the next call it is the other device's.
        let next = alice.call(other)
        #expect(world.push(next, to: other)?.token == token(registration))
        #expect(world.push(next, to: bob) == nil)
    }

    @Test("a token that moves before its push has left takes the push along")
    func movedBefore() throws {
        let (call, push) = try alice.call(bob, push: .queued)
        let tablet = world.online("bob", tokens: bob.tokens)
        tablet.lose()
        let moved = try #require(world.push(call, to: tablet)?.id)
        for id in [push, moved] { world.makeReady(id) }
        #expect(world.provider.sent == [moved: 1])
        #expect(world.store.pushes[push]?.status == .cancelled)
    }

    @Test("a token that goes to and fro is pushed once, after a restart too")
    func toAndFro() throws {
        let call = try alice.call(bob, push: .accepted).call
        let tablet = world.online("bob", tokens: bob.tokens)
        tablet.lose()
        world.restart()
        alice.open()
        tablet.open(sending: bob.tokens)
        tablet.lose()
        world.advance(.seconds(3))
        #expect(world.push(call, to: tablet) == nil)
        bob.open()
        bob.lose()
        world.advance(.seconds(3))
        #expect(world.provider.sent.isEmpty)
    }

    @Test("an FCM registration is one phone, whatever kind of message it is registered for")
    func kinds() throws {
        let carol = world.asleep("carol", tokens: [.fcm(.data, "x")])
        let dave = world.online("dave", pushable: false)
        let call = alice.call(.users([carol.user, dave.user]))
        try world.deliver(call, to: carol)
        dave.open(sending: [.fcm(.alert, "x")])
        #expect(tokens(of: carol) == [])
        dave.lose()
        world.advance(.seconds(3))
        #expect(world.push(call, to: dave) == nil)
    }

    @Test("a push that came back unprocessed leaves its token to whoever has it now")
    func returned() throws {
        let (call, push) = try alice.call(bob, push: .onWire)
        world.settle(push, .returned)
        let tablet = world.online("bob", tokens: bob.tokens)
        tablet.lose()
        let moved = try #require(world.push(call, to: tablet)?.id)
        world.makeReady(moved)
        #expect(world.provider.sent[moved] == 1)
    }
}
