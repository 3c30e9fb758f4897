import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// Requests about calls that are no longer in memory: the store answers.
@Suite("A request about a call that ended long ago", .world)
struct LateWordTests {
    @Test("gets the reply it would have had at once, even after kill -9 and a new start")
    func afterRestart() async throws {
        let (first, address) = try await world.serve()
        let (alice, bob, call) = try await world.liveCall(at: address)
        let invite = Invite(call: call, to: .user("bob"))
        try await bob.hangUp(call, seenBy: alice)
        for phone in [alice, bob] { await phone.softphone.disconnect() }
        #expect(try await first.end(by: SIGKILL) == .signal(SIGKILL))
        let stored = try #require(try world.reader().calls().first)

        _ = try await world.serve(port: try World.port(of: address))
        // Phones without memory of it: the caller's own, and others of the two users.
        let again = try await world.onlinePhone("alice", at: address) {
            $0.session.device = alice.softphone.configuration.session.device
        }
        let alices = try await world.onlinePhone("alice", at: address)
        let bobs = try await world.onlinePhone("bob", at: address)
        let mallory = try await world.onlinePhone("mallory", at: address)

        // The same invite is the same call, which has ended; another body with its id is a conflict.
        #expect(try await again.softphone.submit(.invite(invite)) == .inviteEnded(call, .hangup))
        var other = invite
        other.video = true
        #expect(await again.refusal(.invite(other)) == .conflict)
        #expect(await mallory.refusal(.invite(invite)) == .forbidden)
        #expect(try world.reader().calls() == [stored])

        for phone in [again, alices, bobs] {
            let seen = try await phone.softphone.get(call)
            #expect(seen.state == .ended)
            #expect(seen.reason == .hangup)
            #expect(seen.answeredAt == stored.answeredAt)
            #expect(seen.connectedAt == stored.connectedAt)
            #expect(seen.endedAt == stored.endedAt)
        }
        #expect(await mallory.refusal(.get(call)) == .forbidden)
        #expect(await mallory.refusal(.get(.random())) == .forbidden)
    }
}

extension Phone {
    fileprivate func refusal(_ request: ClientRequest) async -> SignalError.Code? {
        do throws(SoftphoneError) {
            try await softphone.submit(request)
            return nil
        } catch {
            if case .refused(let refusal) = error { return refusal.code }
            return nil
        }
    }
}
