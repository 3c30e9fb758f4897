import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// Simultaneous actions of two sides: any order is possible, and all sides must agree on the result.
@Suite("A race", .world)
struct RaceTests {
    @Test("of an answer against the caller's hangup ends with one of the two, the same for both sides")
    func answerAgainstHangup() async throws {
        let server = try await world.startServer { $0.shards = 2 }
        let (alice, bob) = try await pair(server)
        for _ in 0..<10 {
            let call = try await alice.softphone.call(.user("bob"))
            try await bob.rings(call)
            async let answer = bob.softphone.outcome(ofAnswering: call)
            try await alice.softphone.hangup(call)
            let reasons = [try await alice.ended(call).reason, try await bob.ended(call).reason]
            let stored = try #require(try world.reader().call(call)).call
            switch await answer {
            case .success:
                // The answer came first, and then the caller hung up.
                #expect(reasons == [.hangup, .hangup])
                #expect(stored.answeredBy?.user == "bob")
            case .failure(let error):
                #expect(error == .callEnded(.cancelled))
                #expect(reasons == [.cancelled, .cancelled])
                #expect(stored.answeredAt == nil)
            }
            #expect(stored.endReason == reasons[0])
        }
    }

    @Test("of an answer against the ring deadline ends with one of the two, the same for both sides")
    func answerAgainstTimeout() async throws {
        let server = try await world.startServer {
            $0.shards = 2
            $0.timers.ring = .milliseconds(400)
        }
        let (alice, bob) = try await pair(server)
        for early in [20, 10, 5, 2, 0, -2] {
            let call = try await alice.softphone.call(.user("bob"))
            let expires = try #require(try await bob.rings(call).expiresAt)
            // Aims at the deadline; any result is valid if both sides agree.
            try await Task.sleep(for: max(.zero, (expires - Instant.now) - .milliseconds(early)))
            switch await bob.softphone.outcome(ofAnswering: call) {
            case .success:
                _ = try await alice.state(.answered, of: call)
                #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
            case .failure(let error):
                #expect(error == .callEnded(.ringTimeout))
                #expect(try await alice.ended(call).reason == .ringTimeout)
                #expect(try await bob.ended(call).reason == .ringTimeout)
                #expect(try world.reader().call(call)?.call.answeredAt == nil)
            }
        }
    }

    @Test("of six devices of three users answering at once has exactly one winner, and all others are told who")
    func answersOfMany() async throws {
        let server = try await world.startServer { $0.shards = 3 }
        let alice = try await world.onlinePhone("alice", at: server.address)
        var devices: [Phone] = []
        for user in ["bob", "bob", "carol", "carol", "dave", "dave"] {
            devices.append(try await world.onlinePhone(user, at: server.address))
        }
        for _ in 0..<5 {
            let call = try await alice.softphone.call(.users(["bob", "carol", "dave"]))
            for phone in devices { try await phone.rings(call) }
            let outcomes = await withTaskGroup(of: (Int, Result<Void, SoftphoneError>).self) { group in
                for (index, phone) in devices.enumerated() {
                    group.addTask { (index, await phone.softphone.outcome(ofAnswering: call)) }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            let winner = try #require(try await alice.state(.answered, of: call).by)
            for (index, phone) in devices.enumerated() {
                switch try #require(outcomes[index]) {
                case .success: #expect(winner.device == phone.softphone.configuration.session.device.id)
                case .failure(.refused(let refusal)): #expect(refusal.code == .alreadyAnswered(by: winner))
                // The end arrived before the answer was sent.
                case .failure(let error): #expect(error == .callEnded(.answeredElsewhere))
                }
            }
            #expect(outcomes.values.count { if case .success = $0 { true } else { false } } == 1)
            for phone in devices where phone.softphone.configuration.session.device.id != winner.device {
                let lost = try await phone.ended(call)
                #expect(lost.reason == .answeredElsewhere)
                #expect(lost.by == winner)
            }
            let legs = try #require(try world.reader().call(call)?.legs)
            #expect(legs.count { $0.state == .answered } == 1)
            #expect(legs.count { $0.endReason == .answeredElsewhere } == 5)
            try await alice.hangUp(call)
            #expect(try world.reader().call(call)?.legs.count { $0.answeredAt != nil } == 1)
        }
    }

    private func pair(_ server: CallServer) async throws -> (Phone, Phone) {
        let phones = (
            try await world.phone("alice", at: server.address), try await world.phone("bob", at: server.address)
        )
        try await phones.0.softphone.connect()
        try await phones.1.softphone.connect()
        return phones
    }
}

extension Softphone {
    fileprivate func outcome(ofAnswering call: CallID) async -> Result<Void, SoftphoneError> {
        do throws(SoftphoneError) { return .success(try await answer(call)) } catch { return .failure(error) }
    }
}
