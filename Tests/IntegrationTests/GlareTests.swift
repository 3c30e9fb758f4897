import CallCore
import CallServer
import CallStore
import CallVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("Two users who call each other", .world)
struct GlareTests {
    @Test("at the same moment have one call, the one with the lower id, and the other caller is told which")
    func sameMoment() async throws {
        let server = try await world.startServer { $0.shards = 2 }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let bob = try await world.onlinePhone("bob", at: server.address)
        for _ in 0..<6 {
            let ids = [CallID.random(), CallID.random()].sorted { "\($0)" < "\($1)" }
            let alicesIsLower = Bool.random()
            let (alices, bobs) = alicesIsLower ? (ids[0], ids[1]) : (ids[1], ids[0])
            let (winner, loser) = alicesIsLower ? (alice, bob) : (bob, alice)
            async let fromAlice = alice.softphone.outcome(ofCalling: "bob", alices)
            async let fromBob = bob.softphone.outcome(ofCalling: "alice", bobs)
            let failures = (await fromAlice, await fromBob)
            #expect((alicesIsLower ? failures.0 : failures.1) == nil)
            // It ends at once if it arrived second, and later if it arrived first.
            if let late = alicesIsLower ? failures.1 : failures.0 { #expect(late == .callEnded(.glare)) }

            let lost = try await loser.ended(ids[1])
            #expect(lost.reason == .glare)
            #expect(lost.mergedInto == ids[0])
            #expect(!lost.isOwnAct)
            try await loser.rings(ids[0])
            // The remaining call is not answered automatically.
            _ = try await winner.state(.ringing, of: ids[0])
            try await loser.softphone.answer(ids[0])
            _ = try await winner.state(.answered, of: ids[0])
            try await winner.softphone.hangup(ids[0])
            #expect(try await loser.ended(ids[0]).reason == .hangup)
            let stored = try #require(try world.reader().call(ids[1])).call
            #expect(stored.endReason == .glare)
            #expect(stored.mergedInto == ids[0])
        }
        // No user has a missed call.
        for user in ["alice", "bob"] {
            #expect(try await world.phone(user, at: server.address).softphone.connect().missed == [])
        }
    }
}

extension Softphone {
    /// nil when the call is live.
    fileprivate func outcome(ofCalling user: Handle, _ call: CallID) async -> SoftphoneError? {
        do throws(SoftphoneError) {
            try await self.call(.user(user), callID: call)
            return nil
        } catch {
            return error
        }
    }
}
