import CallVocabulary
import Testing

@testable import SoftphoneSession

/// Every state of the connection against every command and every message of the server.
@Suite struct SessionTableTests {
    typealias H = SessionHarness
    typealias State = ConnectionTableTests.State
    /// The call that a limited session is for, and that the others know nothing of.
    static let call = H.call(1)
    static let other = H.call(2)

    // MARK: Commands

    enum Fate: Equatable {
        /// Goes out at once, alone.
        case sent
        /// Waits for a session that takes it.
        case kept
        case failed(SoftphoneError)
    }

    static let commands: [ClientRequest] = [
        .state(.background), .logout, .updateDevice(push: []),
        .report(PushReport(push: PushID(high: 1, low: 1), call: call, result: .reported)),
        .invite(Invite(call: other, to: .group("sales"))), .ringing(call), .answer(call, sdp: nil),
        .decline(call, .busy), .connected(call), .hangup(call, .iceFailed),
        .update(CallUpdate(call: call, kind: .mute)), .get(call), .list(after: nil, limit: 3),
        .clearMissed(upTo: Instant(milliseconds: 1)), .answer(other, sdp: nil), .get(other),
    ]

    static func fate(_ command: ClientRequest, in state: State) -> Fate {
        switch state {
        case .open: .sent
        case .idle, .authorizing, .connecting, .welcoming, .opening, .waiting: .kept
        case .closing, .leaving: .failed(.closed)
        case .gone: .failed(.gone(.closed(code: 3503)))
        case .limited:
            switch command {
            case .session(.state): .sent
            case .call(let request): request.call == call ? .sent : .kept
            case .owner, .open, .session(.close): .kept
            }
        }
    }

    @Test("each command is sent, kept or refused, as the connection stands", arguments: State.allCases)
    func commandTable(state: State) {
        for command in Self.commands {
            var harness = ConnectionTableTests.harness(in: state)
            let queued = harness.session.outbox.count
            let effects = harness.command(command, ticket: 77)
            let place = "\(state) × \(command)"
            switch Self.fate(command, in: state) {
            case .sent:
                #expect(effects.requests == [command], "\(place)")
                #expect(effects.outcome(77) == nil, "\(place)")
                #expect(harness.session.outbox.last?.sentAt == harness.now, "\(place)")
            case .kept:
                #expect(effects.isEmpty, "\(place)")
                #expect(harness.session.outbox.count == queued + 1, "\(place)")
                #expect(harness.session.outbox.last?.sentAt == nil, "\(place)")
            case .failed(let error):
                #expect(effects == [.complete(77, .failure(error))], "\(place)")
                #expect(harness.session.outbox.count == queued, "\(place)")
            }
            #expect(ConnectionTableTests.state(of: harness) == state, "\(place)")
        }
    }

    @Test("what is kept goes out with the next full session, in order", arguments: State.allCases)
    func keptGoesOut(state: State) throws {
        for command in Self.commands where Self.fate(command, in: state) == .kept {
            var harness = ConnectionTableTests.harness(in: state)
            _ = harness.command(command, ticket: 77)
            var sent: [ClientRequest] = []
            switch state {
            case .opening: break
            case .limited: _ = harness.give(.tokenFetched(attempt: harness.attempt, token: "own"))
            case .idle, .authorizing, .connecting, .welcoming, .open, .waiting, .closing, .gone, .leaving:
                _ = harness.give(.started(ticket: nil, limit: nil))
            }
            if state != .opening { _ = harness.reachOpening() }
            sent += harness.answerOpen(harness.opened()).requests
            #expect(sent.filter { $0 == command }.count == 1, "\(state) × \(command): \(sent)")
        }
    }

    // MARK: Messages

    static func messages(at instant: Instant) -> [(name: String, message: ServerMessage)] {
        let change = CallStateChange(call: other, state: .answered, at: instant, waking: 0, ringing: 0)
        let snapshot = H.snapshot(other, .caller, .ringing)
        let update = CallUpdate(call: other, kind: .hold)
        let candidates = CallCandidates(call: other, candidates: [RawJSON.text("c")])
        let stray = RequestID.number(999)
        let replies: [Reply] = [
            .done, .invited(other, .routing, expiresAt: instant), .inviteEnded(other, .busy), .callState(.ringing, nil),
            .callState(.ended, .cancelled), .won, .call(snapshot), .calls([snapshot], next: nil),
        ]
        let events: [ServerEvent] = [
            .incoming(H.incoming(other, at: instant)), .state(change), H.ended(other), .candidates(candidates),
            .update(update), .peer(PeerChange(call: other, presence: .back, at: instant, by: Party(user: H.bob))),
            .draining(deadline: .seconds(1)),
        ]
        return replies.map { ("reply \($0)", .reply(stray, $0)) } + events.map { ("event \($0)", .event(seq: 1, $0)) }
            + [
                ("error", .error(stray, SignalError(.forbidden, ""))),
                ("error without an id", .error(nil, SignalError(.parseError, ""))),
            ]
    }

    @Test("a message counts in an open session only, and a stray answer never", arguments: State.allCases)
    func messageTable(state: State) {
        for (name, message) in Self.messages(at: Instant(milliseconds: 1_000_000)) {
            var harness = ConnectionTableTests.harness(in: state)
            let calls = harness.session.liveCalls
            let effects = harness.receive(message)
            let place = "\(state) × \(name)"
            #expect(ConnectionTableTests.state(of: harness) == state, "\(place)")
            guard case .event(_, let event) = message, state == .open || state == .limited else {
                #expect(effects.isEmpty, "\(place)")
                #expect(harness.session.liveCalls == calls, "\(place)")
                #expect(harness.session.lastHandledSeq == 0, "\(place)")
                continue
            }
            #expect(harness.session.lastHandledSeq == 1, "\(place)")
            switch event {
            case .incoming:
                #expect(effects.told == ["incoming"], "\(place)")
                #expect(harness.session.liveCalls.count == calls.count + 1, "\(place)")
            case .draining: #expect(effects.events == [.draining(deadline: .seconds(1))], "\(place)")
            case .state, .ended, .candidates, .update, .peer:
                #expect(effects.events.isEmpty, "\(place): of a call nobody knows")
                #expect(harness.session.liveCalls == calls, "\(place)")
            }
        }
    }

    @Test("candidates and oversized requests do no harm in any state", arguments: State.allCases)
    func theRest(state: State) {
        var harness = ConnectionTableTests.harness(in: state)
        let candidates = CallCandidates(call: Self.other, candidates: [RawJSON.text("c")])
        #expect(harness.give(.gathered(candidates)).isEmpty, "of a call nobody knows")
        #expect(harness.give(.tooLarge(attempt: harness.attempt, .number(999), limit: 1)).isEmpty)
        #expect(harness.give(.receivedUnknown(attempt: harness.attempt, seq: nil)).isEmpty)
        #expect(ConnectionTableTests.state(of: harness) == state)
        let isOpen = state == .open || state == .limited
        _ = harness.give(.receivedUnknown(attempt: harness.attempt, seq: 1))
        #expect(harness.session.lastHandledSeq == (isOpen ? 1 : 0))
    }

    @Test("each ticket has one outcome, whatever ends the session", arguments: State.allCases)
    func tickets(state: State) {
        for ending in 0..<3 {
            var harness = ConnectionTableTests.harness(in: state)
            var effects = harness.command(.get(Self.call), ticket: 1)
            effects += harness.give(.started(ticket: 2, limit: nil))
            effects += harness.give(.stopped(ticket: 3))
            effects += harness.give(.stopped(ticket: 4))
            switch ending {
            case 0: effects += harness.give(.abandoned)
            case 1: effects += harness.give(.cut)
            default: effects += harness.give(.disconnected(attempt: harness.attempt, code: 3503, reason: ""))
            }
            effects += harness.advance(.seconds(90))
            for ticket in 1...4 as ClosedRange<CommandTicket> {
                let outcomes = effects.filter { if case .complete(ticket, _) = $0 { true } else { false } }
                #expect(outcomes.count == 1, "\(state), ending \(ending), ticket \(ticket)")
            }
        }
    }
}
