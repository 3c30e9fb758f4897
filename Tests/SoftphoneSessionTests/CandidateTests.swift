import CallVocabulary
import Testing

@testable import SoftphoneSession

/// ICE candidates are the only thing that nobody answers, and they may not be lost all the same.
@Suite struct CandidateTests {
    typealias H = SessionHarness
    static let call = H.call(1)

    private static func batch(_ name: String, isFinal: Bool = false) -> CallCandidates {
        CallCandidates(call: call, candidates: [RawJSON.text(name)], isFinal: isFinal)
    }

    private static func ringing() -> H { H.ringing(call) { $0.automaticRinging = false } }

    private static func sent(_ effects: [SessionEffect]) -> [CallCandidates] {
        effects.frames.compactMap { if case .notification(.candidates(let batch)) = $0 { batch } else { nil } }
    }

    @Test("what may not have arrived is said again on a resume, what has is not")
    func repeatedOnResume() throws {
        var harness = Self.ringing()
        #expect(Self.sent(harness.give(.gathered(Self.batch("a")))) == [Self.batch("a")])
        let id = try #require(harness.command(.get(Self.call)).lastRequestID)
        _ = harness.give(.gathered(Self.batch("b")))
        _ = harness.receive(.reply(id, .done))
        _ = harness.loseAndReachOpening()
        #expect(harness.give(.gathered(Self.batch("c", isFinal: true))).isEmpty)
        let back = harness.answerOpen(harness.opened(resumed: true))
        #expect(Self.sent(back) == [Self.batch("b"), Self.batch("c", isFinal: true)])
        let again = harness.loseAndReopen(resumed: true)
        #expect(Self.sent(again) == [Self.batch("b"), Self.batch("c", isFinal: true)], "still not proven")
    }

    @Test(
        "a server that has lost the session is told all again, as long as media does not flow",
        arguments: [true, false])
    func repeatedToAFreshSession(isConnected: Bool) throws {
        var harness = Self.ringing()
        _ = harness.give(.gathered(Self.batch("a")))
        _ = try harness.command(.answer(Self.call, sdp: nil), answeredBy: .won)
        if isConnected {
            let change = CallStateChange(
                call: Self.call, state: .connected, at: harness.serverNow, waking: 0, ringing: 0)
            _ = harness.event(2, .state(change))
        }
        _ = harness.loseAndReachOpening()
        var snapshot = H.snapshot(Self.call, .callee, isConnected ? .connected : .answered)
        snapshot.by = Party(user: H.alice, device: H.device)
        let back = harness.answerOpen(harness.opened(calls: [snapshot]))
        #expect(Self.sent(back) == (isConnected ? [] : [Self.batch("a")]))
    }

    @Test("what a server has lost and is told again may be lost on its way, and is told once more")
    func repeatedTwice() throws {
        var harness = Self.ringing()
        _ = harness.give(.gathered(Self.batch("a")))
        _ = try harness.command(.get(Self.call), answeredBy: .done)
        let listed = [H.snapshot(Self.call, .callee, .ringing)]
        #expect(Self.sent(harness.loseAndReopen(calls: listed)) == [Self.batch("a")])
        #expect(Self.sent(harness.loseAndReopen(resumed: true)) == [Self.batch("a")], "not proven since")
    }

    @Test("a list that fits no frame is cut, in order, and its end is said once")
    func framed() {
        var harness = Self.ringing()
        let big = (0..<5).map { RawJSON.text("\($0)" + String(repeating: "x", count: 30_000)) }
        let batches = Self.sent(
            harness.give(.gathered(CallCandidates(call: Self.call, candidates: big, isFinal: true))))
        #expect(batches.map(\.candidates.count) == [2, 2, 1])
        #expect(batches.flatMap(\.candidates) == big)
        #expect(batches.map(\.isFinal) == [false, false, true])
    }

    @Test("how much is remembered is bounded")
    func bounded() {
        var harness = Self.ringing()
        for number in 0..<(ClientSession.candidateLimit + 10) {
            #expect(Self.sent(harness.give(.gathered(Self.batch("\(number)")))).count == 1)
        }
        #expect(harness.session.calls[0].own.count == ClientSession.candidateLimit)
    }

    @Test("a new offer of a known call brings the candidates that are new; what is said twice is told twice")
    func theirs() {
        var harness = Self.ringing()
        #expect(harness.event(2, .candidates(Self.batch("a"))).told == ["candidates"])
        #expect(harness.event(3, .candidates(Self.batch("a"))).told == ["candidates"])
        _ = harness.loseAndReopen(calls: [H.snapshot(Self.call, .callee, .ringing)])
        var again = H.incoming(Self.call, at: harness.serverNow)
        again.candidates = [RawJSON.text("a"), RawJSON.text("b")]
        #expect(harness.event(1, .incoming(again)).events.contains(.candidates(Self.batch("b"))))
        #expect(
            harness.event(2, .candidates(Self.batch("b", isFinal: true))).told == ["candidates"], "that it is the end")
    }
}
