import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Users whose tokens from before a time are refused.
@Suite struct RevocationTests {
    private func revoke(_ phone: Phone, before: Instant? = nil, in world: World) -> AdminRefusal.Code? {
        let result = world.administer(.revokeTokens(phone.user, before: before))
        if case .failure(let refusal) = result { return refusal.code }
        return nil
    }

    private func revokedBefore(_ phone: Phone, in world: World) -> Instant? {
        guard case .success(.user(let user)) = world.administer(.showUser(phone.user)) else { return nil }
        return user.revokedBefore
    }

    @Test("older tokens open no session and resume none, and the connection is closed; newer ones do")
    func sessions() {
        let (world, _, bob) = World.pair()
        bob.issuedAt = world.now
        world.advance(.seconds(1))
        let tablet = world.online("bob")
        tablet.lose()
        #expect(revoke(bob, in: world) == nil)
        #expect(bob.closes == [.badToken] && world.roster.sessions.count == 1)
        #expect(revokedBefore(bob, in: world) == world.now)
        for restarts in [false, true] {
            if restarts { world.restart() }
            #expect(bob.open().code == .unauthenticated && bob.resume().code == .unauthenticated)
            tablet.issuedAt = nil
            #expect(tablet.open().error?.message.contains("no iat") == true)
        }
        #expect(bob.closes.allSatisfy { $0 == .badToken } && bob.closes.count > 1)
        for phone in [bob, tablet] {
            phone.issuedAt = world.now
            #expect(phone.open().opened?.resumed == false)
        }
        #expect(revoke(bob, in: world) == nil)
    }

    @Test("a token of the very time is good, one a millisecond older is not")
    func boundary() {
        let (world, _, bob) = World.pair()
        #expect(revoke(bob, in: world) == nil)
        bob.issuedAt = world.now + .milliseconds(-1)
        #expect(bob.open().code == .unauthenticated)
        bob.issuedAt = world.now
        #expect(bob.open().opened != nil)
    }

    @Test("no push follows until the device has a newer token, and wake tokens of earlier pushes are refused")
    func pushes() throws {
        let (world, alice, bob) = World.pair(bobIsAsleep: true)
        let (call, push) = try alice.call(bob, push: .accepted)
        world.advance(.milliseconds(1))
        #expect(revoke(bob, in: world) == nil)
        #expect(world.store.calls[call]?.endReason == .noDevices)
        #expect(world.store.devices[bob.key]?.tokens.isEmpty == true)
        #expect(bob.wake(call).code == .unauthenticated)
        let report = CallRequest.report(PushReport(push: push, call: call, result: .reported))
        for question in [report, .get(call)] {
            #expect(
                world.ask(question, as: bob.user, device: bob.id, scope: .call(call))?.code == .unauthenticated)
        }
        let again = alice.call(bob)
        #expect(world.store.calls[again]?.endReason == .noDevices)
        // With a newer token the device is as before, but for the wake tokens of then.
        bob.issuedAt = world.now
        bob.open()
        bob.ask(.close)
        #expect(bob.wake(call).code == .unauthenticated)
        let later = try alice.call(bob, push: .accepted).call
        #expect(bob.wake(later).opened != nil)
    }

    @Test("a request over HTTP needs a newer token, too")
    func overHTTP() {
        let (world, alice, bob) = World.pair()
        world.advance(.seconds(1))
        #expect(revoke(bob, in: world) == nil)
        let call = alice.call(.user(bob.user))
        for (issuedAt, code) in [
            (nil, .unauthenticated), (world.now + .seconds(-1), .unauthenticated), (world.now, nil),
        ] as [(Instant?, SignalError.Code?)] {
            let answer = world.ask(.get(call), as: bob.user, device: bob.id, scope: .full, issuedAt: issuedAt)
            #expect(answer?.code == code, "\(String(describing: issuedAt))")
        }
        // Other users' tokens are not concerned.
        #expect(world.ask(.get(call), as: alice.user, device: alice.id, scope: .full)?.reply != nil)
    }

    @Test("the token of a request for TURN credentials is checked")
    func shown() throws {
        let (world, alice, bob) = World.pair(bobIsAsleep: true)
        let call = try alice.call(bob, push: .accepted).call
        #expect(world.showToken(as: bob.user)?.reply == .done)
        #expect(world.showToken(as: bob.user, device: bob.id, scope: .call(call))?.reply == .done)
        // Without a revocation the core need not know the call.
        #expect(world.showToken(as: bob.user, device: bob.id, scope: .call(world.newCall()))?.reply == .done)
        world.advance(.seconds(1))
        #expect(revoke(bob, in: world) == nil)
        for issuedAt in [nil, world.now + .milliseconds(-1)] {
            #expect(world.showToken(as: bob.user, issuedAt: issuedAt)?.code == .unauthenticated)
        }
        #expect(world.showToken(as: bob.user, issuedAt: world.now)?.reply == .done)
        #expect(world.showToken(as: alice.user)?.reply == .done)
        // The call has ended: in memory, then only in the store, then unknown.
        #expect(world.store.calls[call]?.endReason == .noDevices)
        for wait in [Duration.zero, world.timers.tombstone + .seconds(1)] {
            world.advance(wait)
            #expect(
                world.showToken(as: bob.user, device: bob.id, scope: .call(call))?.code == .unauthenticated)
        }
        #expect(
            world.showToken(as: bob.user, device: bob.id, scope: .call(world.newCall()))?.code == .unauthenticated)
        bob.issuedAt = world.now
        bob.open()
        bob.ask(.close)
        let later = try alice.call(bob, push: .accepted).call
        for device in [bob.id, nil] {
            let answer = world.showToken(as: bob.user, device: device, scope: .call(later))
            #expect(device == nil ? answer?.code == .unauthenticated : answer?.reply == .done)
        }
        // It stays good once only the store has the call.
        alice.hangUp(later)
        world.advance(world.timers.tombstone + .seconds(1))
        #expect(world.core.calls[later] == nil)
        #expect(world.showToken(as: bob.user, device: bob.id, scope: .call(later))?.reply == .done)
    }

    @Test("a party of a call is disconnected for good: its call ends", arguments: [false, true])
    func calls(afterRestart: Bool) {
        let (world, alice, bob) = World.pair()
        let call = alice.call(bob)
        bob.answer(call)
        if afterRestart { world.restart() }
        #expect(revoke(bob, in: world) == nil)
        #expect(world.store.calls[call]?.endReason == .connectionLost)
        #expect(world.store.calls[call]?.endedBy == bob.party)
    }

    @Test("the time never goes back, and none is to come; an alias has no tokens, a user unknown so far may have")
    func times() {
        let (world, _, bob) = World.pair()
        let first = world.now
        #expect(revoke(bob, in: world) == nil)
        world.advance(.seconds(10))
        #expect(revoke(bob, before: first + .seconds(-100), in: world) == nil)
        #expect(revokedBefore(bob, in: world) == first)
        #expect(revoke(bob, before: world.now + .milliseconds(1), in: world) == .invalidParams)
        #expect(revoke(bob, before: world.now, in: world) == nil)
        #expect(revokedBefore(bob, in: world) == world.now)
        world.restart()
        #expect(revokedBefore(bob, in: world) != nil)
        let (desk, new) = (world.phone("desk"), world.phone("new"))
        world.administer(.setAlias(Alias(handle: desk.user, user: bob.user)))
        #expect(revoke(desk, in: world) == .conflict)
        #expect(revoke(new, in: world) == nil)
        #expect(new.open().code == .unauthenticated)
    }
}
