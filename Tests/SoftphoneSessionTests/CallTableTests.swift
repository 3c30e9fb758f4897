import CallVocabulary
import Testing

@testable import SoftphoneSession

/// Every state of a call on the phone against everything that can be said or done about it, by the table of
/// `Tests/SessionVectors/calls.json`.
@Suite struct CallTableTests {
    typealias H = SessionHarness
    static let call = H.call(5)
    static let winner = H.call(4)
    static let own = Party(user: H.alice, device: H.device)
    static let sibling = Party(user: H.alice, device: DeviceID(high: 7, low: 7))

    enum State: String, CaseIterable {
        case unknown
        /// Callee: told by its event, by a push alone, or listed by a new session and not told yet.
        case rings, pushed, listed
        case calleeAnswered, calleeConnected
        /// Caller: the invite is not answered yet; then as the server says.
        case invited, callerRinging, callerAnswered, callerConnected
        /// Ended by the server's word, by this phone's guess, by the user without the server's knowledge.
        case over, guessedOver, refused
    }

    enum Input: String, CaseIterable {
        case incoming, isRinging, isAnswered, isConnected, ended, lostByGlare, candidates, update
        case peerAway, peerBack
        case push, overduePush
        case answerWon, answerWonAgain, answerLost, answerTooLate, answerForbidden
        case declined, declineForbidden, hungUp, hangupForbidden
        case rang, rangTooLate, ringingForbidden, connected, connectedForbidden
        case inviteAccepted, inviteBusy, inviteRefused
        case gotLive, gotAnsweredElsewhere, gotEnded, getForbidden
        case listedRinging, listedAnsweredHere, listedElsewhere, listedEnded, notListed
    }

    @Test("each input does to a call in each state what it should", arguments: State.allCases)
    func table(state: State) {
        var named = SessionVectors.calls.rows(of: state.rawValue).mapValues { $0.joined(separator: " | ") }
        for input in Input.allCases {
            var harness = Self.harness(in: state)
            let before = Self.standing(harness)
            let effects = Self.give(input, to: &harness)
            let sent = effects.requests.map(Self.name)
            let found = [
                Self.standing(harness), effects.told.joined(separator: ", "), sent.joined(separator: ", "),
            ].joined(separator: " | ")
            let isOver = [.over, .guessedOver, .refused].contains(state)
            let command = Self.command(input) ?? ""
            let isSettled = isOver && ["answer", "decline", "hangup", "ringing", "connected"].contains(command)
            let nothing = [before, "", isSettled ? "" : command].joined(separator: " | ")
            var expected = named[input.rawValue] ?? nothing
            if expected.hasPrefix("=") { expected = before + expected.dropFirst() }
            #expect(found == expected, "\(state) × \(input)")
            named[input.rawValue] = nil
        }
        #expect(named.isEmpty, "lines that name no input")
    }

    // MARK: Bringing a call into its state

    private static func harness(in state: State) -> H {
        var harness = H { $0.automaticRinging = false }
        if state == .listed {
            harness.open(calls: [H.snapshot(call, .callee, .ringing)])
            return harness
        }
        harness.open()
        var offer = H.incoming(call, at: harness.serverNow)
        switch state {
        case .unknown, .listed: break
        case .rings: _ = harness.event(1, .incoming(offer))
        case .pushed: _ = harness.give(.pushReceived(push(harness, after: .seconds(45))))
        case .calleeAnswered, .calleeConnected:
            _ = harness.event(1, .incoming(offer))
            answer(&harness, .answer(call, sdp: nil), .won)
        case .invited, .callerRinging, .callerAnswered, .callerConnected:
            _ = harness.command(.invite(Invite(call: call, to: .user(H.bob))))
        case .over:
            _ = harness.event(1, .incoming(offer))
            _ = harness.event(2, H.ended(call, .cancelled))
        case .guessedOver, .refused:
            if state == .refused { offer.expiresAt = harness.serverNow + .seconds(300) }
            _ = harness.event(1, .incoming(offer))
            _ = harness.give(.disconnected(attempt: harness.attempt, code: nil, reason: ""))
            if state == .refused { _ = harness.command(.decline(call, .declined)) }
            _ = harness.passOffline(.seconds(61))
            _ = harness.reopen(resumed: true)
        }
        switch state {
        case .calleeConnected: _ = harness.event(2, change(.connected))
        case .callerRinging, .callerAnswered, .callerConnected:
            let invited = Reply.invited(call, .routing, expiresAt: offer.expiresAt)
            _ = harness.receive(.reply(.number(harness.session.outbox[0].id), invited))
            _ = harness.event(1, change(.ringing))
            if state != .callerRinging { _ = harness.event(2, change(.answered)) }
            if state == .callerConnected { _ = harness.event(3, change(.connected)) }
        case .unknown, .rings, .pushed, .listed, .calleeAnswered, .invited, .over, .guessedOver, .refused: break
        }
        return harness
    }

    private static func push(_ harness: H, after time: Duration) -> CallPush {
        CallPush(
            call: call, push: PushID(high: 3, low: 3), from: H.bob, video: false,
            expiresAt: harness.serverNow + time)
    }

    private static func change(_ state: CallState) -> ServerEvent {
        .state(CallStateChange(call: call, state: state, at: Instant(milliseconds: 5), waking: 0, ringing: 1))
    }

    private static func peer(_ presence: PeerChange.Presence) -> ServerEvent {
        .peer(PeerChange(call: call, presence: presence, at: Instant(milliseconds: 5), by: Party(user: H.bob)))
    }

    @discardableResult
    private static func answer(_ harness: inout H, _ command: ClientRequest, _ reply: Reply) -> [SessionEffect] {
        let effects = harness.command(command, ticket: 9)
        guard let id = effects.lastRequestID else { return effects }
        return effects + harness.receive(.reply(id, reply))
    }

    private static func refuse(
        _ harness: inout H, _ command: ClientRequest, _ code: SignalError.Code
    ) -> [SessionEffect] {
        let effects = harness.command(command, ticket: 9)
        guard let id = effects.lastRequestID else { return effects }
        return effects + harness.receive(.error(id, SignalError(code, "")))
    }

    // MARK: What is found

    private static func standing(_ harness: H) -> String {
        if let entry = harness.session.calls.first(where: { $0.call.id == call }) {
            let doubt = entry.isUnlisted ? " asked about" : ""
            return entry.call.state.rawValue + (entry.isTold ? "" : " untold") + doubt
        }
        guard let past = harness.session.ended.last(where: { $0.id == call }) else { return "unknown" }
        return "\(past.certainty) \(past.reason.rawValue)"
    }

    private static func name(_ request: ClientRequest) -> String {
        switch request {
        case .owner(.invite): "invite"
        case .call(.ringing): "ringing"
        case .call(.answer): "answer"
        case .call(.decline): "decline"
        case .call(.connected): "connected"
        case .call(.hangup): "hangup"
        case .call(.get): "get"
        case .call(.report): "report"
        case .open: "open"
        case .session, .owner, .call(.update): "\(request)"
        }
    }

    /// The command that an input consists of.
    private static func command(_ input: Input) -> String? {
        switch input {
        case .answerWon, .answerWonAgain, .answerLost, .answerTooLate, .answerForbidden: "answer"
        case .declined, .declineForbidden: "decline"
        case .hungUp, .hangupForbidden: "hangup"
        case .rang, .rangTooLate, .ringingForbidden: "ringing"
        case .connected, .connectedForbidden: "connected"
        case .inviteAccepted, .inviteBusy, .inviteRefused: "invite"
        case .gotLive, .gotAnsweredElsewhere, .gotEnded, .getForbidden: "get"
        case .listedRinging, .listedAnsweredHere, .listedElsewhere, .listedEnded, .notListed: "open"
        case .incoming, .isRinging, .isAnswered, .isConnected, .ended, .lostByGlare, .candidates, .update, .push,
            .overduePush, .peerAway, .peerBack:
            nil
        }
    }

    private static func role(_ harness: H) -> CallRole {
        harness.session.calls.first { $0.call.id == call }?.call.role ?? .callee
    }

    private static func snapshot(_ harness: H, _ state: CallState, by: Party? = nil) -> CallSnapshot {
        var snapshot = H.snapshot(call, role(harness), state)
        snapshot.by = by
        if state == .ended { snapshot.reason = .hangup }
        return snapshot
    }

    // MARK: The inputs

    private static func give(_ input: Input, to harness: inout H) -> [SessionEffect] {
        let next = harness.session.lastHandledSeq + 1
        let invite = Invite(call: call, to: .user(H.bob))
        switch input {
        case .incoming: return harness.event(next, .incoming(H.incoming(call, at: Instant(milliseconds: 1_000_000))))
        case .isRinging: return harness.event(next, change(.ringing))
        case .isAnswered: return harness.event(next, change(.answered))
        case .isConnected: return harness.event(next, change(.connected))
        case .ended: return harness.event(next, H.ended(call, .hangup))
        case .lostByGlare:
            let ended = CallEnded(
                call: call, reason: .glare, by: nil, at: Instant(milliseconds: 5), isOwnAct: false, mergedInto: winner)
            return harness.event(next, .ended(ended))
        case .candidates:
            return harness.event(next, .candidates(CallCandidates(call: call, candidates: [RawJSON.text("c")])))
        case .update: return harness.event(next, .update(CallUpdate(call: call, kind: .hold)))
        case .peerAway:
            return harness.event(next, peer(.away(until: harness.serverNow + .seconds(30))))
        case .peerBack: return harness.event(next, peer(.back))
        case .push: return harness.give(.pushReceived(push(harness, after: .seconds(45))))
        case .overduePush: return harness.give(.pushReceived(push(harness, after: .seconds(-3))))
        case .answerWon: return answer(&harness, .answer(call, sdp: nil), .won)
        case .answerWonAgain: return refuse(&harness, .answer(call, sdp: nil), .alreadyAnswered(by: own))
        case .answerLost: return refuse(&harness, .answer(call, sdp: nil), .alreadyAnswered(by: sibling))
        case .answerTooLate: return refuse(&harness, .answer(call, sdp: nil), .callEnded(.cancelled))
        case .answerForbidden: return refuse(&harness, .answer(call, sdp: nil), .forbidden)
        case .declined: return answer(&harness, .decline(call, .busy), .callState(.ended, .busy))
        case .declineForbidden: return refuse(&harness, .decline(call, .busy), .forbidden)
        case .hungUp: return answer(&harness, .hangup(call, .hangup), .callState(.ended, .hangup))
        case .hangupForbidden: return refuse(&harness, .hangup(call, .hangup), .forbidden)
        case .rang: return answer(&harness, .ringing(call), .callState(.ringing, nil))
        case .rangTooLate: return answer(&harness, .ringing(call), .callState(.ended, .cancelled))
        case .ringingForbidden: return refuse(&harness, .ringing(call), .forbidden)
        case .connected: return answer(&harness, .connected(call), .callState(.connected, nil))
        case .connectedForbidden: return refuse(&harness, .connected(call), .forbidden)
        case .inviteAccepted:
            let expiry = harness.serverNow + .seconds(45)
            return answer(&harness, .invite(invite), .invited(call, .waking, expiresAt: expiry))
        case .inviteBusy: return answer(&harness, .invite(invite), .inviteEnded(call, .busy))
        case .inviteRefused: return refuse(&harness, .invite(invite), .conflict)
        case .gotLive: return answer(&harness, .get(call), .call(snapshot(harness, .waking)))
        case .gotAnsweredElsewhere:
            return answer(&harness, .get(call), .call(snapshot(harness, .answered, by: sibling)))
        case .gotEnded: return answer(&harness, .get(call), .call(snapshot(harness, .ended)))
        case .getForbidden: return refuse(&harness, .get(call), .forbidden)
        case .listedRinging: return reopen(&harness, [snapshot(harness, .ringing)])
        case .listedAnsweredHere: return reopen(&harness, [snapshot(harness, .answered, by: own)])
        case .listedElsewhere: return reopen(&harness, [snapshot(harness, .answered, by: sibling)])
        case .listedEnded: return reopen(&harness, [snapshot(harness, .ended)])
        case .notListed: return reopen(&harness, [])
        }
    }

    private static func reopen(_ harness: inout H, _ calls: [CallSnapshot]) -> [SessionEffect] {
        harness.loseAndReachOpening() + harness.answerOpen(harness.opened(calls: calls))
    }
}
