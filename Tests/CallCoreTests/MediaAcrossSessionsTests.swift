import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// What one side sends reaches the other, however its sessions and the server's processes change: rule 8.
@Suite final class MediaAcrossSessionsTests {
    let limits = CoreLimits()
    let (world, alice, bob) = World.pair()

    @Test("a winner that opens anew is told again what it did not acknowledge, and nothing else")
    func winnerOpensAnew() {
        let call = alice.call(bob)
        alice.send(["1"], of: call)
        bob.ack()
        bob.answer(call)
        alice.send(["2"], of: call)
        bob.open()
        #expect(bob.candidates(of: call) == ["1", "2", "2"])
        bob.ack()
        bob.open()
        #expect(bob.candidates(of: call) == ["1", "2", "2"])
    }

    @Test(
        "what a socket took and nobody acknowledged is kept for the next session, or its sender is told",
        arguments: [1, 3])
    func neverAcknowledged(rounds: Int) {
        for round in 1...rounds {
            let call = alice.call(bob)
            bob.answer(call)
            var taken: [String] = []
            for number in 0..<limits.replayEvents + 44 {
                let refused = world.core.counters.candidatesRefused
                alice.send(["\(round)-\(number)"], of: call)
                if world.core.counters.candidatesRefused == refused { taken.append("\(round)-\(number)") }
            }
            #expect(taken.count > limits.replayEvents / 2 && taken.count <= limits.replayEvents)
            let before = bob.candidates(of: call).count
            bob.open()
            #expect(Array(bob.candidates(of: call)[before...]) == taken)
            bob.ack()
            alice.send(["more"], of: call)
            #expect(bob.candidates(of: call).last == "more")
            // What a call that is over has left takes no room of the next.
            alice.ask(.hangup(call, .hangup))
        }
    }

    @Test("a device woken by a push answers with the wake token, and its full session has all that the call needs")
    func wakeThenFull() throws {
        bob.ask(.close)
        let call = alice.call(.user(bob.user), sdp: "offer", custom: "custom")
        try world.deliver(call, to: bob)
        alice.send(["1"], of: call)
        bob.wake(call)
        bob.answer(call, sdp: "answer")
        alice.send(["2", "3"], of: call)
        alice.ask(.update(CallUpdate(call: call, kind: .info, custom: RawJSON("4"))))
        alice.send(["5"], of: call, final: true)
        let before = bob.events.count
        bob.open()
        let snapshot = try #require(bob.snapshot(of: call))
        #expect(snapshot.state == .answered && snapshot.role == .callee)
        #expect(snapshot.sdp == RawJSON("offer") && snapshot.custom == RawJSON("custom"))
        #expect(bob.ask(.get(call)).snapshot == snapshot)
        let told = bob.events[before...].map { event -> String in
            switch event {
            case .candidates(let batch):
                let names: [String] = batch.candidates.map(\.json)
                return names.joined(separator: ",") + (batch.isFinal ? "." : "")
            case .update(let update): return "update \(update.custom?.json ?? "")"
            case .incoming, .state, .ended, .peer, .draining: return "\(event)"
            }
        }
        #expect(told == ["1", "2,3", "update 4", "5."])
    }

    @Test(
        "the caller that opens anew gets the answer's SDP, and what it did not acknowledge", arguments: [true, false])
    func callerOpensAnew(answersFirst: Bool) throws {
        let call = alice.call(bob, sdp: "offer")
        bob.send(["1"], of: call)
        if !answersFirst { alice.lose() }
        bob.answer(call, sdp: "answer")
        bob.send(["2"], of: call)
        bob.ask(.update(CallUpdate(call: call, kind: .hold)))
        let before = alice.events.count
        alice.open()
        #expect(alice.snapshot(of: call)?.sdp == RawJSON("answer"))
        let again = Array(alice.events[before...])
        let candidates = again.flatMap { event -> [String] in
            guard case .candidates(let batch) = event else { return [] }
            return batch.candidates.map(\.json)
        }
        #expect(candidates == ["1", "2"])
        let updates = again.filter { event in if case .update = event { true } else { false } }
        #expect(updates.count == 1)
        alice.connect(call, with: bob)
        alice.open()
        #expect(alice.snapshot(of: call)?.sdp == nil && world.store.descriptions[call] == nil)
    }

    @Test("descriptions are kept until media flows, custom data until the end; both survive a restart")
    func descriptions() throws {
        let call = alice.call(.user(bob.user), sdp: "offer", custom: "custom")
        bob.answer(call, sdp: "answer")
        world.restart()
        alice.open()
        bob.open()
        #expect(alice.snapshot(of: call)?.sdp == RawJSON("answer"))
        #expect(bob.snapshot(of: call)?.sdp == RawJSON("offer"))
        alice.connect(call, with: bob)
        world.restart()
        alice.open()
        #expect(alice.snapshot(of: call)?.state == .connected && alice.snapshot(of: call)?.sdp == nil)
        bob.open()
        let snapshot = try #require(bob.snapshot(of: call))
        #expect(snapshot.sdp == nil && snapshot.custom == RawJSON("custom"))
        bob.hangUp(call)
        #expect(world.store.descriptions[call] == nil)
    }

    @Test("candidates for a party without a socket survive a restart, until media flows")
    func storedForReturn() {
        let call = alice.call(bob)
        bob.answer(call)
        bob.lose()
        alice.send(["1"], of: call)
        world.restart()
        alice.open()
        bob.open()
        #expect(bob.candidates(of: call) == ["1"])
    }

    @Test("a session that never acknowledges keeps what was relayed when its other events overflow")
    func overflow() {
        let call = alice.call(bob)
        bob.answer(call)
        alice.send(["kept"], of: call)
        for _ in 0..<limits.replayEvents {
            alice.lose()
            alice.resume()
        }
        #expect(world.core.counters.replayOverflows == 1)
        let before = bob.events.count
        bob.open()
        let kept = ServerEvent.candidates(CallCandidates(call: call, candidates: [RawJSON("kept")]))
        #expect(bob.events[before...].contains(kept))
    }

    @Test("where a detached session has no more room the sender is told, and nothing it was told is lost")
    func full() {
        let call = alice.call(bob)
        bob.answer(call)
        bob.lose()
        var taken = 0
        while alice.ask(.update(CallUpdate(call: call, kind: .info))).reply == .done { taken += 1 }
        #expect(alice.ask(.update(CallUpdate(call: call, kind: .info))).code == .overloaded(retryAfter: .seconds(1)))
        #expect(alice.ask(candidates: ["1"], of: call).code == .overloaded(retryAfter: .seconds(1)))
        #expect(taken > 100)
        bob.open()
        #expect(bob.updates(of: call).count == taken)
    }

    /// Calls the phone, each time with as many candidates as wait for a device.
    private func flood(_ phone: Phone, by stranger: Phone) {
        for round in 0..<3 {
            let call = stranger.call(phone)
            for number in 0..<limits.bufferedCandidates { stranger.send(["\(round)-\(number)"], of: call) }
        }
    }

    @Test(
        "whatever rings at a device, its answered call loses nothing that was taken for it, and is not refused",
        arguments: [false, true])
    func floodWhileAnswered(isAway: Bool) {
        let stranger = world.online("stranger")
        let call = alice.call(bob)
        bob.answer(call)
        bob.ack()
        if isAway { bob.lose() }
        #expect(alice.ask(candidates: ["1", "2"], of: call).reply == .done)
        #expect(alice.ask(.update(CallUpdate(call: call, kind: .offer, sdp: RawJSON("sdp")))).reply == .done)
        flood(bob, by: stranger)
        #expect(alice.ask(candidates: ["3"], of: call).reply == .done)
        #expect(alice.ask(.update(CallUpdate(call: call, kind: .hold))).reply == .done)
        let (candidates, updates) = (bob.candidates(of: call).count, bob.updates(of: call).count)
        bob.open()
        #expect(Array(bob.candidates(of: call)[candidates...]) == ["1", "2", "3"])
        #expect(bob.updates(of: call)[updates...].map(\.kind) == [.offer, .hold])
    }

    @Test("whatever else rings at a device, it is told again all that it has not acknowledged of the call it answers")
    func floodWhileRinging() {
        let stranger = world.online("stranger")
        let call = alice.call(bob)
        alice.send(["1"], of: call)
        alice.send(["2"], of: call)
        flood(bob, by: stranger)
        bob.answer(call)
        alice.send(["3"], of: call)
        let before = bob.candidates(of: call).count
        bob.open()
        #expect(Array(bob.candidates(of: call)[before...]) == ["1", "2", "3"])
    }

    @Test("an answered call takes no more room than leaves some for the next, and drops nothing of it")
    func answeredCallsShare() {
        let carol = world.online("carol")
        let (first, second) = (carol.call(bob), alice.call(bob))
        bob.answer(first)
        bob.answer(second)
        bob.ack()
        bob.lose()
        func fill(_ call: CallID, by phone: Phone) -> Int {
            var taken = 0
            while phone.ask(.update(CallUpdate(call: call, kind: .info))).reply == .done { taken += 1 }
            return taken
        }
        #expect(fill(first, by: carol) == limits.replayEvents)
        #expect(fill(second, by: alice) == limits.replayEvents / 2)
        #expect(fill(first, by: carol) == 0)
        bob.open()
        #expect(bob.updates(of: first).count == limits.replayEvents)
        #expect(bob.updates(of: second).count == limits.replayEvents / 2)
    }

    @Test("what a session that is gone was told while the call rang comes with the next one after an answer over HTTP")
    func answeredWithoutSession() {
        let call = alice.call(bob)
        alice.send(["1"], of: call)
        bob.ask(.close)
        let answer = world.ask(.answer(call, sdp: nil), as: bob.user, device: bob.id, scope: .full)
        #expect(answer == .success(.won))
        alice.send(["2"], of: call)
        let before = bob.candidates(of: call).count
        bob.open()
        #expect(Array(bob.candidates(of: call)[before...]) == ["1", "2"])
    }

    @Test("what waits for a full session is not given to a session woken for another call")
    func otherCallsWakeSession() throws {
        let call = alice.call(bob)
        bob.answer(call)
        alice.send(["1"], of: call)
        bob.lose()
        let carol = world.online("carol")
        let other = try carol.call(bob, push: .accepted).call
        bob.wake(other)
        #expect(bob.candidates(of: call) == ["1"])
        alice.send(["2"], of: call)
        bob.open()
        #expect(bob.candidates(of: call) == ["1", "1", "2"])
    }

    @Test("what the winner sent before it answered is the caller's after a restart, and nobody else's")
    func calleeSideSurvives() {
        let call = alice.call(bob)
        bob.send(["1"], of: call)
        world.restart()
        alice.open()
        bob.open()
        #expect(bob.candidates(of: call) == [])
        bob.answer(call)
        #expect(alice.candidates(of: call) == ["1"])
    }

    @Test("what was kept for the answer is told again after a restart, until media flows; then it is off the disk")
    func handedOverAgain() {
        let call = alice.call(bob)
        alice.send(["0"], of: call)
        bob.send(["1"], of: call)
        bob.answer(call)
        world.restart()
        alice.open()
        bob.open()
        #expect(alice.candidates(of: call) == ["1", "1"])
        #expect(bob.candidates(of: call) == ["0", "0"])
        alice.connect(call, with: bob)
        #expect(world.store.candidates.isEmpty)
    }

    @Test("a caller without a session at the answer gets the winner's candidates with its next one")
    func callerComesBack() {
        let call = alice.call(bob)
        world.restart()
        bob.open()
        bob.send(["1"], of: call)
        bob.answer(call)
        bob.send(["2"], of: call)
        alice.open()
        #expect(alice.candidates(of: call) == ["1", "2"])
        #expect(alice.snapshot(of: call)?.state == .answered)
    }

    @Test("a call that ends takes both sides' candidates off the disk")
    func dropped() {
        let call = alice.call(bob)
        alice.send(["1"], of: call)
        bob.send(["2"], of: call)
        #expect(world.store.candidates.count == 2)
        alice.hangUp(call)
        #expect(world.store.candidates.isEmpty)
    }

    @Test("what a device sent before it left the call is not sent for it when it is back, restart or not")
    func leftAndBack() {
        let (carol, dave) = (world.online("carol", pushable: false), world.online("dave"))
        let call = alice.call(.users([carol.user, dave.user]))
        carol.send(["1"], of: call)
        carol.ask(.close)
        #expect(world.leg(call, of: carol)?.endReason == .noDevices)
        world.restart()
        alice.open()
        carol.open()
        #expect(carol.answer(call).reply == .won)
        #expect(alice.candidates(of: call) == [])
    }
}
