import ByteMutation
import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Rule 8: what the two sides say of their media before they can hear one another is kept, in order and within bounds.
@Suite final class CandidateTests {
    let (world, alice, bob) = World.pair()

    @Test("a callee that is asleep finds SDP and candidates with the offer, later ones after it")
    func asleep() throws {
        bob.ask(.close)
        let call = alice.call(bob, sdp: "0")
        alice.send(["1", "2"], of: call)
        try world.deliver(call, to: bob)
        alice.send(["3"], of: call, final: true)
        bob.wake(call)
        #expect(bob.offers(of: call).first?.candidates.map(\.json) == ["1", "2", "3"])
        #expect(bob.events.last == .candidates(CallCandidates(call: call, candidates: [], isFinal: true)))
        alice.send(["4"], of: call)
        #expect(bob.candidates(of: call) == ["1", "2", "3", "4"])
    }

    @Test("what the callee says before it answers reaches the caller after the answer, of the winner only")
    func calleeSide() {
        let tablet = world.online("bob")
        let call = alice.call(bob)
        bob.send(["b1"], of: call)
        tablet.send(["t1"], of: call)
        #expect(alice.candidates(of: call).isEmpty)
        bob.answer(call)
        #expect(alice.candidates(of: call) == ["b1"])
        #expect(alice.states(of: call) == [.answered])
        bob.send(["b2"], of: call)
        tablet.send(["t2"], of: call)
        alice.send(["a1"], of: call)
        #expect(alice.candidates(of: call) == ["b1", "b2"])
        #expect(bob.candidates(of: call) == ["a1"])
        #expect(tablet.candidates(of: call).isEmpty)
        bob.hangUp(call)
        alice.send(["a2"], of: call)
        #expect(bob.candidates(of: call) == ["a1"])
    }

    @Test("what does not fit beside a large SDP follows in events of its own, each below the frame limit")
    func frames() {
        bob.ask(.close)
        let call = alice.call(bob, sdp: String(repeating: "s", count: 32 * 1024))
        let candidates = (0..<44).map { "\($0)".padded(to: 1024) }
        for start in stride(from: 0, to: 44, by: 11) { alice.send(Array(candidates[start..<(start + 11)]), of: call) }
        bob.open()
        #expect(bob.candidates(of: call) == candidates)
        #expect(bob.events.count == 2)
        #expect(bob.events.allSatisfy { $0.frameBytes <= FrameLimits.content })
        #expect(world.core.counters.candidatesRefused == 0)
    }

    @Test("a long list of callees counts into the frame as well")
    func longList() {
        let crowd = (0..<300).map { Handle("user\($0)".padded(to: 100))! }
        let call = alice.call(.users([bob.user] + crowd), sdp: String(repeating: "s", count: 20 * 1024))
        for batch in 0..<4 { alice.send((0..<10).map { "\(batch).\($0)".padded(to: 1024) }, of: call) }
        bob.open()
        #expect(bob.events.allSatisfy { $0.frameBytes <= FrameLimits.content })
        #expect(bob.candidates(of: call).count == 80)
        let tooLarge = Invite(call: world.newCall(), to: .users(crowd), sdp: RawJSON("s".padded(to: 32 * 1024)))
        #expect(alice.ask(.invite(tooLarge)).code == .tooLarge(limit: FrameLimits.content))
    }

    @Test("several large offers do not overfill the snapshot of a session")
    func snapshot() {
        let calls = (0..<4).map { _ in alice.call(bob, sdp: String(repeating: "s", count: 20 * 1024)) }
        bob.open()
        #expect(bob.session?.calls.map(\.call) == calls.reversed())
        #expect(bob.session?.calls.map { $0.sdp != nil } == [true, true, false, false], "the newest has its offer")
        let bytes = bob.session!.calls.reduce(0) { $0 + ($1.sdp?.bytes.count ?? 0) }
        #expect(bytes == 40 * 1024, "two more would not fit into the frame")
        #expect(calls.allSatisfy { bob.offers(of: $0).last?.sdp != nil })
    }

    @Test("the buffers are bounded; a batch that does not fit is refused whole, its sender told, and counted")
    func bounds() {
        bob.ask(.close)
        let call = alice.call(bob)
        for batch in 0..<20 { alice.send((0..<10).map { "\(batch).\($0)" }, of: call) }
        alice.send(["0.0"], of: call)
        #expect(alice.refusals.map(\.code) == Array(repeating: .overloaded(retryAfter: .seconds(1)), count: 8))
        #expect(alice.refusals.allSatisfy { $0.call == call })
        #expect(alice.ask(candidates: ["more", "and", "more"], of: call).reply == .done)
        #expect(
            alice.ask(candidates: (0..<7).map { "last.\($0)" }, of: call).code == .overloaded(retryAfter: .seconds(1)))
        #expect(world.core.counters.candidatesRefused == 87)
        alice.hangUp(call)
        let second = alice.call(bob)
        for number in 0..<5 { alice.send(["\(number)".padded(to: 10 * 1024)], of: second) }
        #expect(alice.refusals.last?.call == second)
        #expect(world.core.counters.candidatesRefused == 88)
        bob.open()
        #expect(bob.candidates(of: second).count == 4)
    }

    @Test("for a side that is away the bounds are the same while its session can be resumed")
    func away() {
        for (size, taken) in [(10, world.limits.bufferedCandidates), (10 * 1024, 4)] {
            let call = alice.call(bob)
            bob.answer(call)
            bob.ack()
            bob.lose()
            var batches = 0
            while alice.ask(candidates: ["\(batches).".padded(to: size)], of: call).reply == .done { batches += 1 }
            #expect(batches == taken)
            bob.resume()
            #expect(bob.candidates(of: call).count == taken)
            bob.ack()
            #expect(alice.ask(candidates: ["more"], of: call).reply == .done)
            alice.hangUp(call)
            bob.ack()
        }
    }

    @Test("what the buffer does not take is not written to disk either, nor is the end said again")
    func boundsOnDisk() {
        bob.ask(.close)
        let call = alice.call(bob)
        for batch in 0..<20 { alice.send((0..<10).map { "\(batch).\($0)" }, of: call, final: true) }
        alice.send(["0.0"], of: call)
        let kept = world.store.candidates.filter { $0.call == call }
        #expect(kept.reduce(0) { $0 + $1.candidates.count } == 120)
        #expect(kept.count == 12)
    }

    private func batch(_ values: [String]) -> CallCandidates {
        CallCandidates(call: world.newCall(), candidates: values.map(RawJSON.init))
    }

    private func decide(_ batch: CallCandidates, _ limits: CoreLimits) {
        var buffer = CandidateBuffer()
        _ = buffer.append(batch, limits: limits)
    }

    @Test("the greatest frame is decided on in no time, whether its candidates are all the same or all different")
    func greatestFrame() {
        // With a comma each, as much as a frame may contain.
        let same = Array(repeating: "1", count: FrameLimits.content / 2)
        let different = (0..<9000).map { "\(1000 + $0)" } + (0..<2732).map { "\(10_000 + $0)" }
        for values in [same, different] {
            #expect(values.reduce(0) { $0 + $1.utf8.count + 1 } <= FrameLimits.content)
            let batch = batch(values)
            let times = (0..<7).map { _ in WorstInput.processorTime { decide(batch, CoreLimits()) } }
            #expect(times.min() ?? .zero <= .milliseconds(5))
        }
    }

    @Test("twice as many candidates take twice the time, whether they are all the same or all different")
    func linear() {
        var limits = CoreLimits()
        (limits.bufferedCandidates, limits.bufferedCandidateBytes) = (10_000, 1 << 20)
        for make in [{ _ in "same" }, { "c\($0)" }] as [(Int) -> String] {
            let growth = WorstInput.growth(at: 5000, of: { batch((0..<$0).map(make)) }) { decide($0, limits) }
            #expect(growth <= WorstInput.mostGrowth)
        }
    }

    @Test("more values than a buffer holds are refused, repeated or not; as many as it holds are compared with all")
    func repeated() {
        bob.ask(.close)
        let call = alice.call(bob)
        #expect(alice.ask(candidates: Array(repeating: "1", count: 128), of: call).reply == .done)
        #expect(
            alice.ask(candidates: Array(repeating: "1", count: 129), of: call).code
                == .overloaded(retryAfter: .seconds(1)))
        #expect(alice.ask(candidates: (0..<128).map { "\($0)" }, of: call).reply == .done)
        #expect(alice.ask(candidates: ["128"], of: call).code == .overloaded(retryAfter: .seconds(1)))
        // A batch that was refused leaves nothing behind.
        #expect(alice.ask(candidates: ["0", "127"], of: call).reply == .done)
        bob.open()
        #expect(bob.candidates(of: call).count == 128)
    }

    @Test("what a caller repeats while it rings is passed on to each device once")
    func repeatedWhileRinging() {
        let tablet = world.online("bob")
        let call = alice.call(bob)
        for _ in 0..<300 { alice.send(["1", "2"], of: call) }
        for _ in 0..<300 { alice.send(["2", "3"], of: call, final: true) }
        for phone in [bob, tablet] {
            #expect(phone.candidates(of: call) == ["1", "2", "3"])
            #expect(phone.events.count == 3, "the offer, and two times something new")
        }
        #expect(alice.refusals.isEmpty && world.core.counters.replayOverflows == 0)
        bob.ack()
        bob.lose()
        #expect(bob.resume().opened?.resumed == true)
    }

    @Test("the candidates that a caller sends one by one reach all devices of one callee at once")
    func trickled() {
        let phones = [bob] + (1..<15).map { _ in world.online("bob") }
        let call = alice.call(bob)
        for number in 0..<30 {
            alice.send(["\(number)"], of: call)
            #expect(phones.allSatisfy { $0.candidates(of: call).count == number + 1 })
        }
    }

    @Test("the candidates of all calls and devices of a user cause so many events a second; others go out together")
    func boundedEvents() {
        var limits = CoreLimits()
        limits.candidateEventsPerCaller = 30
        let world = World(limits: limits)
        let callers = [world.online("alice"), world.online("alice"), world.online("alice")]
        let crowd = (0..<10).map { world.online("user\($0)") }
        let calls = callers.map { ($0, $0.call(.users(crowd.map(\.user)))) }
        let candidates = (0..<limits.bufferedCandidates).map { "\($0)" }
        for candidate in candidates {
            for (caller, call) in calls { #expect(caller.ask(candidates: [candidate], of: call).reply == .done) }
        }
        func events() -> Int {
            let all = crowd.flatMap(\.events)
            return all.count { event in if case .candidates = event { true } else { false } }
        }
        #expect(events() == 30, "the first of each call at once")
        // Before the devices are pushed, as they give no sign of life.
        world.advance(.milliseconds(1_500))
        #expect(events() == 60)
        for (_, call) in calls { #expect(crowd.allSatisfy { $0.candidates(of: call) == candidates }) }
    }

    @Test("a device that is told of the call or answers it between two events has all candidates, each once")
    func betweenEvents() {
        var limits = CoreLimits()
        limits.candidateEventsPerCaller = 1
        let (world, alice, bob) = World.pair(limits: limits)
        let all = (0..<5).map { "\($0)" }
        let call = alice.call(bob)
        for candidate in all { alice.send([candidate], of: call, final: candidate == all.last) }
        #expect(bob.candidates(of: call) == ["0"])
        let tablet = world.online("bob")
        #expect(tablet.candidates(of: call) == all)
        world.advance(.milliseconds(1_500))
        #expect(bob.candidates(of: call) == all && tablet.candidates(of: call) == all)

        let second = alice.call(bob)
        for candidate in all { alice.send([candidate], of: second, final: candidate == all.last) }
        let told = bob.candidates(of: second)
        #expect(told.count < all.count)
        bob.answer(second)
        #expect(bob.candidates(of: second) == all)
        let rest = all[told.count...].map { RawJSON($0) }
        #expect(bob.events.last == .candidates(CallCandidates(call: second, candidates: rest, isFinal: true)))
        alice.send(["more"], of: second)
        #expect(bob.candidates(of: second) == all + ["more"])
    }

    @Test("a batch as large as a frame is passed on in pieces")
    func largeBatch() {
        let call = alice.call(bob)
        bob.answer(call)
        alice.send((0..<63).map { "\($0)".padded(to: 1024) }, of: call, final: true)
        #expect(bob.candidates(of: call).count == 63)
        #expect(bob.events.allSatisfy { $0.frameBytes <= FrameLimits.content })
        let batches = bob.events.compactMap { if case .candidates(let batch) = $0 { batch.isFinal } else { nil } }
        #expect(batches == [false, true])
    }
}

extension String {
    func padded(to length: Int) -> String { self + String(repeating: "x", count: length - count) }
}
