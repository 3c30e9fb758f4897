import CallVocabulary
import Determinism
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession
import Testing

@testable import LoadTest

@Suite("Phones that sleep") struct SleeperStatesTests {
    private var generator = SeededGenerator(seed: 1)
    private static let push: CallPush = {
        var bits = SeededGenerator(seed: 2)
        return CallPush(
            call: CallID(random: &bits), push: PushID(random: &bits), from: Handle("alice")!, video: false,
            expiresAt: Instant(milliseconds: 1))
    }()

    @Test("are free when they sleep and nobody has them")
    mutating func free() {
        var states = SleeperStates(count: 2)
        let first = states.take(&generator), second = states.take(&generator)
        #expect(Set([first, second]) == [0, 1])
        #expect(states.take(&generator) == nil && states.freeCount == 0)
        // Given back while awake, it is free once it sleeps.
        states.happened(.woken(Self.push), to: 0)
        states.release(0)
        #expect(!states.sleeps(0) && states.freeCount == 0)
        states.happened(.asleep, to: 0)
        states.happened(.asleep, to: 0)
        #expect(states.sleeps(0) && states.freeCount == 1)
        // Given back asleep, it is free at once.
        states.release(1)
        #expect(states.freeCount == 2)
    }

    @Test("sleep again when their system has ended the app")
    mutating func killed() {
        var states = SleeperStates(count: 1)
        #expect(states.take(&generator) == 0)
        states.happened(.woken(Self.push), to: 0)
        states.happened(.killed(isVoIPBlocked: false), to: 0)
        #expect(states.sleeps(0) && states.freeCount == 0)
        states.release(0)
        #expect(states.take(&generator) == 0)
    }
}
