import CallVocabulary
import Testing

@testable import SoftphoneSession

/// A ``ClientSession`` on virtual time, with what is needed to bring it into each state.
struct SessionHarness {
    static let alice = Handle("alice")!
    static let bob = Handle("bob")!
    static let device = DeviceID(high: 1, low: 1)
    static let sessionID = SessionID(high: 2, low: 2)

    var session: ClientSession
    var now: Duration = .zero
    /// The server's clock is this far ahead of `now`.
    let serverStart: Int64 = 1_000_000

    init(seed: UInt64 = 7, configure: (inout ClientSession.Configuration) -> Void = { _ in }) {
        var configuration = ClientSession.Configuration(
            device: DeviceDescription(id: Self.device, platform: .ios), push: nil)
        // Tests of calls count frames; probing has its own test.
        configuration.probesSilence = false
        configure(&configuration)
        session = ClientSession(configuration: configuration, seed: seed)
    }

    /// A phone with an open session.
    static func online(
        calls: [CallSnapshot] = [], configure: (inout ClientSession.Configuration) -> Void = { _ in }
    ) -> SessionHarness {
        var harness = SessionHarness(configure: configure)
        harness.open(calls: calls)
        return harness
    }

    /// A phone with an open session that was told of a call.
    static func ringing(
        _ call: CallID, configure: (inout ClientSession.Configuration) -> Void = { _ in }
    ) -> SessionHarness {
        var harness = online(configure: configure)
        _ = harness.event(1, .incoming(incoming(call, at: harness.serverNow)))
        return harness
    }

    var attempt: UInt64 { session.attempt }
    var serverNow: Instant { Instant(milliseconds: serverStart + now.wholeMilliseconds) }

    mutating func give(_ input: SessionInput) -> [SessionEffect] {
        var effects: [SessionEffect] = []
        session.handle(input, now: now, effects: &effects)
        return effects
    }

    mutating func receive(_ message: ServerMessage) -> [SessionEffect] {
        give(.received(attempt: attempt, message))
    }

    mutating func event(_ seq: UInt64, _ event: ServerEvent) -> [SessionEffect] {
        receive(.event(seq: seq, event))
    }

    mutating func command(_ request: ClientRequest, ticket: CommandTicket? = nil) -> [SessionEffect] {
        give(.commanded(request, ticket: ticket))
    }

    /// - Returns: what the server's answer leads to.
    mutating func command(
        _ request: ClientRequest, ticket: CommandTicket? = nil, answeredBy reply: Reply
    ) throws -> [SessionEffect] {
        receive(.reply(try #require(command(request, ticket: ticket).lastRequestID), reply))
    }

    /// Lets time pass, and has the session do what is due on the way. Each deadline must lead somewhere.
    mutating func advance(_ duration: Duration) -> [SessionEffect] {
        let end = now + duration
        var effects: [SessionEffect] = []
        while let deadline = session.nextDeadline, deadline <= end {
            now = max(now, deadline)
            session.handleTimeouts(now: now, effects: &effects)
            if let next = session.nextDeadline, next <= now {
                Issue.record("the deadline \(next) is still there at \(now)")
                break
            }
        }
        now = end
        return effects
    }

    var welcome: Welcome {
        Welcome(
            protocolVersion: 1, server: "reveille", version: "1", node: "n", time: serverNow,
            pingInterval: .seconds(20), maxFrameBytes: 65_536, features: [])
    }

    func opened(resumed: Bool = false, token: String = "r1", calls: [CallSnapshot] = []) -> SessionOpened {
        SessionOpened(
            session: Self.sessionID, user: Self.alice, resumeToken: token, resumeWindow: .seconds(30),
            resumed: resumed, calls: calls, missed: [])
    }

    /// From wherever an attempt begins to the point where `session.open` is sent.
    mutating func reachOpening() -> [SessionEffect] {
        _ = give(.tokenFetched(attempt: attempt, token: "t"))
        _ = give(.connected(attempt: attempt))
        return receive(.welcome(welcome))
    }

    mutating func startAndReachOpening() -> [SessionEffect] {
        _ = give(.started(ticket: nil, limit: nil))
        return reachOpening()
    }

    /// Answers the `session.open` that is out.
    mutating func answerOpen(_ opened: SessionOpened) -> [SessionEffect] {
        guard case .opening(let id, _) = session.connection else {
            Issue.record("no session.open is out in \(session.connection)")
            return []
        }
        return receive(.reply(.number(id), .opened(opened)))
    }

    mutating func open(calls: [CallSnapshot] = []) { _ = reopen(calls: calls) }

    /// Goes online; returns what comes of the answer to `session.open`.
    mutating func reopen(resumed: Bool = false, calls: [CallSnapshot] = []) -> [SessionEffect] {
        _ = startAndReachOpening()
        return answerOpen(opened(resumed: resumed, calls: calls))
    }

    mutating func loseAndReopen(resumed: Bool = false, calls: [CallSnapshot] = []) -> [SessionEffect] {
        _ = loseAndReachOpening()
        return answerOpen(opened(resumed: resumed, calls: calls))
    }

    /// Sends `session.open` with the token of the push that was received, as the app cannot get its own.
    mutating func reachOpeningByWakeToken() -> [SessionEffect] {
        let effects = give(.tokenFailed(attempt: attempt, reason: "locked"))
        #expect(effects == [.connect(attempt: attempt)])
        _ = give(.connected(attempt: attempt))
        return receive(.welcome(welcome))
    }

    mutating func openByWakeToken(calls: [CallSnapshot] = []) {
        _ = reachOpeningByWakeToken()
        _ = answerOpen(opened(calls: calls))
    }

    /// Lets time pass without a network: no attempt comes to anything.
    mutating func passOffline(_ duration: Duration) -> [SessionEffect] {
        var effects: [SessionEffect] = []
        let end = now + duration
        while now < end {
            effects += advance(min(.milliseconds(500), end - now))
            effects += give(.tokenFailed(attempt: attempt, reason: "no network"))
        }
        return effects
    }

    /// The socket is lost, and the next attempt has come as far as `session.open`, whose effects are returned.
    mutating func loseAndReachOpening() -> [SessionEffect] {
        _ = give(.disconnected(attempt: attempt, code: nil, reason: "test"))
        return startAndReachOpening()
    }

    static func incoming(_ call: CallID, at instant: Instant, sdp: RawJSON? = nil) -> IncomingCall {
        IncomingCall(
            call: call, from: bob, fromName: nil, to: .user(alice), video: false, sdp: sdp, candidates: [],
            custom: nil, expiresAt: instant + .seconds(45), push: nil)
    }

    static func snapshot(_ call: CallID, _ role: CallRole, _ state: CallState) -> CallSnapshot {
        CallSnapshot(
            call: call, role: role, state: state, from: bob, to: .user(alice), video: false,
            createdAt: Instant(milliseconds: 1))
    }

    static func ended(_ call: CallID, _ reason: EndReason = .hangup, isOwnAct: Bool = false) -> ServerEvent {
        .ended(
            CallEnded(call: call, reason: reason, by: nil, at: Instant(milliseconds: 2), isOwnAct: isOwnAct))
    }

    static func call(_ number: UInt64) -> CallID { CallID(high: 9, low: number) }
}

/// What the tests ask of a list of effects.
extension [SessionEffect] {
    var requests: [ClientRequest] {
        compactMap { if case .send(.request(_, let request)) = $0 { request } else { nil } }
    }

    var acks: [UInt64] {
        compactMap { if case .send(.notification(.ack(let seq))) = $0 { seq } else { nil } }
    }

    var frames: [ClientMessage] {
        compactMap { if case .send(let message) = $0 { message } else { nil } }
    }

    var events: [SoftphoneEvent] {
        compactMap { if case .notify(let event) = $0 { event } else { nil } }
    }

    var connectionChanges: [ConnectionChange] {
        events.compactMap { if case .connection(let change) = $0 { change } else { nil } }
    }

    var endedCalls: [PhoneCall] {
        events.compactMap { if case .ended(let call) = $0 { call } else { nil } }
    }

    var incomingCalls: [PhoneCall] {
        events.compactMap { if case .incoming(let call, _) = $0 { call } else { nil } }
    }

    /// The kinds of what the app is told of calls, in order.
    var told: [String] {
        events.compactMap { event in
            switch event {
            case .incoming: "incoming"
            case .offer: "offer"
            case .state(let call): call.state.rawValue
            case .ended(let call): "ended \(call.reason?.rawValue ?? "")\(call.isOwnAct ? " here" : "")"
            case .merged: "merged"
            case .candidates: "candidates"
            case .update: "update"
            case .peer(let call): call.peerAwaySince == nil ? "peer back" : "peer away"
            case .latePush: "late push"
            case .connection, .draining: nil
            }
        }
    }

    var states: [CallState] {
        events.compactMap { if case .state(let call) = $0 { call.state } else { nil } }
    }

    var openRequest: SessionOpen? {
        requests.lazy.compactMap { if case .open(let open) = $0 { open } else { nil } }.first
    }

    /// How the command with `ticket` came out, if it did.
    func outcome(_ ticket: CommandTicket) -> Result<Reply, SoftphoneError>? {
        lazy.compactMap { if case .complete(ticket, let result) = $0 { result } else { nil } }.first
    }

    /// The id of the last request sent.
    var lastRequestID: RequestID? {
        reversed().lazy.compactMap { if case .send(.request(let id, _)) = $0 { id } else { nil } }.first
    }

    var retryDelays: [Duration] {
        connectionChanges.compactMap { if case .down(_, _, let delay) = $0 { delay } else { nil } }
    }
}
