import CallVocabulary
import Testing

@testable import SoftphoneSession

/// Every state of the connection against every input that moves it, by `Tests/SessionVectors/connection.json`.
@Suite struct ConnectionTableTests {
    enum State: String, CaseIterable {
        case idle, authorizing, connecting, welcoming, opening, open, waiting, closing, gone
        /// Open with the token of a push, for one call.
        case limited
        /// On the way out, with something still to be said.
        case leaving
    }

    enum Input: String, CaseIterable {
        case started, tokenFetched, tokenFailed, connected, welcome, opened, refused, refusedForNow, event, lost
        case replaced, loggedOut, badToken, command, push, stopped, abandoned, cut, timeout, unreadable, stale
    }

    /// Where `input` leads from `state`; everything that is not named here leaves the state as it is.
    static func expected(_ state: State, _ input: Input) -> State {
        if input == .abandoned { return .idle }
        guard let lead = SessionVectors.connection.leads[state.rawValue]?[input.rawValue] else { return state }
        return State(rawValue: lead) ?? state
    }

    @Test("the table has no state and no input of another name")
    func names() {
        let states = Set(State.allCases.map(\.rawValue))
        let inputs = Set(Input.allCases.map(\.rawValue))
        for (state, leads) in SessionVectors.connection.leads {
            #expect(states.contains(state))
            #expect(inputs.isSuperset(of: leads.keys), "\(state)")
            #expect(states.isSuperset(of: leads.values), "\(state)")
        }
    }

    @Test("each input leads from each state where it should", arguments: State.allCases)
    func table(state: State) {
        for input in Input.allCases {
            var harness = Self.harness(in: state)
            #expect(Self.state(of: harness) == state)
            let before = harness.session.attempt
            let effects = Self.give(input, to: &harness)
            let found = Self.state(of: harness)
            #expect(found == Self.expected(state, input), "\(state) × \(input)")
            if input == .stale {
                #expect(effects.isEmpty, "\(state) × \(input)")
                #expect(harness.session.attempt == before)
            }
            checkEffects(effects, from: state, to: found, input: input)
        }
    }

    /// What holds for every transition: sockets are asked for and given up in step with the state.
    private func checkEffects(_ effects: [SessionEffect], from: State, to: State, input: Input) {
        let hadSocket = Self.hasSocket(from)
        let hasSocket = Self.hasSocket(to)
        // The socket is over by itself when the input says so.
        let isOver = [.lost, .replaced, .loggedOut, .badToken].contains(input)
        let drops = effects.contains(.disconnect)
        let isUpgrade = from == .limited && to == .connecting
        #expect(drops == (hadSocket && !hasSocket && !isOver || isUpgrade), "\(from) × \(input)")
        let connects = effects.contains { if case .connect = $0 { true } else { false } }
        #expect(connects == (from == .authorizing && to == .connecting || isUpgrade), "\(from) × \(input)")
        let fetches = effects.contains { if case .fetchToken = $0 { true } else { false } }
        #expect(fetches == (to == .authorizing && from != .authorizing), "\(from) × \(input)")
        let changes = effects.connectionChanges
        switch to {
        case .gone where from != .gone: #expect(changes.contains { if case .gone = $0 { true } else { false } })
        case .waiting where from != .waiting: #expect(effects.retryDelays.count == 1)
        case .open where from != .open: #expect(changes.count == 1)
        case .idle where from != .idle && input != .abandoned: #expect(changes == [.offline], "\(from) × \(input)")
        case .authorizing where from == .closing: #expect(changes == [.offline], "\(from) × \(input)")
        case .closing where from == .leaving: #expect(changes.count == 1, "it was up for a moment")
        case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting, .closing, .gone, .limited,
            .leaving:
            #expect(changes.isEmpty, "\(from) × \(input)")
        }
    }

    private static func hasSocket(_ state: State) -> Bool {
        switch state {
        case .connecting, .welcoming, .opening, .open, .closing, .limited, .leaving: true
        case .idle, .authorizing, .waiting, .gone: false
        }
    }

    static func state(of harness: SessionHarness) -> State {
        if harness.session.leaving != nil { return .leaving }
        if harness.session.isOpen, harness.session.grant != .full { return .limited }
        return switch harness.session.connection {
        case .idle: .idle
        case .authorizing: .authorizing
        case .connecting: .connecting
        case .welcoming: .welcoming
        case .opening: .opening
        case .open: .open
        case .waiting: .waiting
        case .closing: .closing
        case .gone: .gone
        }
    }

    /// What a push says of the call that a limited session is for.
    static func wakingPush(_ harness: SessionHarness) -> CallPush {
        CallPush(
            call: SessionHarness.call(1), push: PushID(high: 1, low: 1), from: SessionHarness.bob, video: false,
            expiresAt: harness.serverNow + .seconds(45), wakeToken: "wake")
    }

    static func harness(in state: State) -> SessionHarness {
        // What a limited session says of its call by itself would be in the way.
        var harness = SessionHarness { $0.automaticRinging = state != .limited }
        guard state != .idle else { return harness }
        if state == .limited {
            _ = harness.give(.pushReceived(wakingPush(harness)))
            harness.openByWakeToken(calls: [SessionHarness.snapshot(SessionHarness.call(1), .callee, .waking)])
            return harness
        }
        _ = harness.give(.started(ticket: nil, limit: nil))
        switch state {
        case .idle, .authorizing: break
        case .connecting: _ = harness.give(.tokenFetched(attempt: harness.attempt, token: "t"))
        case .welcoming:
            _ = harness.give(.tokenFetched(attempt: harness.attempt, token: "t"))
            _ = harness.give(.connected(attempt: harness.attempt))
        case .opening, .leaving, .limited: _ = harness.reachOpening()
        case .open, .waiting, .closing, .gone:
            _ = harness.reachOpening()
            _ = harness.answerOpen(harness.opened())
        }
        switch state {
        case .waiting: _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
        case .closing: _ = harness.give(.stopped(ticket: nil))
        case .gone: _ = harness.give(.disconnected(attempt: harness.attempt, code: 3503, reason: ""))
        case .leaving:
            _ = harness.command(.updateDevice(push: []))
            _ = harness.give(.stopped(ticket: nil))
        case .limited, .idle, .authorizing, .connecting, .welcoming, .opening, .open: break
        }
        return harness
    }

    private static func give(_ input: Input, to harness: inout SessionHarness) -> [SessionEffect] {
        let attempt = harness.attempt
        switch input {
        case .started: return harness.give(.started(ticket: nil, limit: nil))
        case .tokenFetched: return harness.give(.tokenFetched(attempt: attempt, token: "t"))
        case .tokenFailed: return harness.give(.tokenFailed(attempt: attempt, reason: "no"))
        case .connected: return harness.give(.connected(attempt: attempt))
        case .welcome: return harness.receive(.welcome(harness.welcome))
        case .opened: return harness.receive(.reply(pendingID(harness), .opened(harness.opened())))
        case .refused:
            return harness.receive(.error(pendingID(harness), SignalError(.unauthenticated, "no")))
        case .refusedForNow:
            return harness.receive(.error(pendingID(harness), SignalError(.draining, "later")))
        case .event: return harness.event(1, .draining(deadline: .seconds(1)))
        case .lost: return harness.give(.disconnected(attempt: attempt, code: nil, reason: ""))
        case .replaced: return harness.give(.disconnected(attempt: attempt, code: 3503, reason: ""))
        case .loggedOut: return harness.give(.disconnected(attempt: attempt, code: 3506, reason: ""))
        case .badToken: return harness.give(.disconnected(attempt: attempt, code: 3500, reason: ""))
        case .command: return harness.command(.hangup(SessionHarness.call(1), .hangup))
        case .push:
            return harness.give(
                .pushReceived(
                    CallPush(
                        call: SessionHarness.call(2), push: PushID(high: 1, low: 1), from: SessionHarness.bob,
                        video: false, expiresAt: harness.serverNow + .seconds(45))))
        case .stopped: return harness.give(.stopped(ticket: nil))
        case .abandoned: return harness.give(.abandoned)
        case .cut: return harness.give(.cut)
        case .timeout:
            guard let deadline = harness.session.leaving?.deadline ?? harness.session.stateDeadline else { return [] }
            return harness.advance(deadline - harness.now)
        case .unreadable: return harness.give(.receivedUnreadable(attempt: attempt))
        case .stale:
            return harness.give(.tokenFetched(attempt: attempt &- 1, token: "t"))
                + harness.give(.tokenFailed(attempt: attempt &- 1, reason: ""))
                + harness.give(.connected(attempt: attempt &- 1))
                + harness.give(.received(attempt: attempt &- 1, .welcome(harness.welcome)))
                + harness.give(.receivedUnknown(attempt: attempt &- 1, seq: 1))
                + harness.give(.receivedUnreadable(attempt: attempt &- 1))
                + harness.give(.disconnected(attempt: attempt &- 1, code: 3503, reason: ""))
        }
    }

    private static func pendingID(_ harness: SessionHarness) -> RequestID {
        switch harness.session.connection {
        case .opening(let id, _), .closing(let id, _, _): .number(id)
        case .idle, .authorizing, .connecting, .welcoming, .open, .waiting, .gone: .number(1)
        }
    }
}
