import CallVocabulary
import Testing

@testable import CallCore

/// A client: one device of one user, with at most one socket.
final class Phone {
    unowned let world: World
    let user: Handle
    let id: DeviceID
    var tokens: [PushToken]
    /// What the token of its next session allows.
    var allowance = CallAllowance()
    /// When that token was issued.
    var issuedAt: Instant?
    var connection: ConnectionID?
    /// What the session now open, or last open, began with.
    private(set) var session: SessionOpened?
    private(set) var scope = SessionGrant.Scope.full
    private(set) var lastSeq: UInt64 = 0
    /// All events, over all sessions.
    private(set) var events: [ServerEvent] = []
    var closes: [CloseCode] = []
    /// Notifications that the server did not take.
    private(set) var refusals: [SignalError] = []
    private var sent: [RequestID] = []
    /// Requests that were not answered at once.
    private var late: Set<RequestID> = []
    /// The answers to them, in order of arrival.
    private(set) var lateAnswers: [Result<Reply, SignalError>] = []
    private var answers: [RequestID: [Result<Reply, SignalError>]] = [:]

    init(world: World, user: Handle, id: DeviceID, tokens: [PushToken]) {
        self.world = world
        self.user = user
        self.id = id
        self.tokens = tokens
    }

    var key: DeviceKey { DeviceKey(user: user, device: id) }
    var party: Party { Party(user: user, device: id) }
    var isOnline: Bool { connection != nil }

    func receive(_ message: ServerMessage) {
        switch message {
        case .welcome: break
        case .reply(let request, let reply):
            if case .opened(let opened) = reply {
                if !opened.resumed { lastSeq = 0 }
                session = opened
            }
            take(.success(reply), to: request)
        case .error(let request, let error):
            if let request { take(.failure(error), to: request) } else { refusals.append(error) }
        case .event(let seq, let event):
            lastSeq = seq
            events.append(event)
        }
    }

    private func take(_ answer: Result<Reply, SignalError>, to request: RequestID) {
        answers[request, default: []].append(answer)
        if late.remove(request) != nil { lateAnswers.append(answer) }
    }

    // MARK: Session

    /// Opens a session on a new socket, as a phone does that starts anew.
    @discardableResult
    func open(sending tokens: [PushToken]? = nil, name: String? = nil) -> Result<Reply, SignalError> {
        open(.full, tokens: tokens ?? self.tokens, resume: nil, name: name)
    }

    /// ... or with the wake token of a push.
    @discardableResult
    func wake(_ call: CallID) -> Result<Reply, SignalError> { open(.call(call), tokens: nil, resume: nil) }

    /// Comes back on a new socket where the last one broke.
    @discardableResult
    func resume(lastSeq: UInt64? = nil, token: String? = nil) -> Result<Reply, SignalError> {
        let opened = session!  // Only a phone that was open resumes.
        let request = ResumeRequest(
            session: opened.session, token: token ?? opened.resumeToken, lastSeq: lastSeq ?? self.lastSeq)
        if let lastSeq { self.lastSeq = lastSeq }
        return open(scope, tokens: nil, resume: request)
    }

    /// Asks for any session, its own or not.
    func open(_ scope: SessionGrant.Scope, resuming request: ResumeRequest?) -> Result<Reply, SignalError> {
        if let request { lastSeq = request.lastSeq }
        return open(scope, tokens: nil, resume: request)
    }

    private func open(
        _ scope: SessionGrant.Scope, tokens: [PushToken]?, resume: ResumeRequest?, name: String? = nil
    ) -> Result<Reply, SignalError> {
        let before = (connection, self.scope)
        let answer = takeAnswer(to: sendOpen(scope, tokens: tokens, resume: resume, name: name))
        if case .failure = answer { (connection, self.scope) = before }
        return answer
    }

    /// Sends `session.open` without expecting an answer at once.
    func sendOpen(resuming request: ResumeRequest? = nil) {
        sent.append(sendOpen(.full, tokens: tokens, resume: request, name: nil))
    }

    /// ... on a connection that it has.
    func sendOpen(again connection: ConnectionID) {
        sent.append(sendOpen(.full, tokens: tokens, resume: nil, name: nil, on: connection))
    }

    private func sendOpen(
        _ scope: SessionGrant.Scope, tokens: [PushToken]?, resume: ResumeRequest?, name: String?,
        on connection: ConnectionID? = nil
    ) -> RequestID {
        let socket = connection ?? world.connect(self)
        self.scope = scope
        let request = world.nextRequest()
        let open = SessionOpen(
            token: "", device: DeviceDescription(id: id, platform: .ios), push: tokens, resume: resume)
        self.connection = socket
        world.step(
            .client(
                .opened(
                    socket, request, open,
                    SessionGrant(user: user, displayName: name, scope: scope, allowance: allowance, issuedAt: issuedAt))
            ))
        return request
    }

    func lose() {
        if let connection { world.cut(connection) }
    }

    // MARK: Requests

    @discardableResult
    func ask(_ command: ClientRequest) -> Result<Reply, SignalError> {
        let request = world.nextRequest()
        // A test asks only of a phone that is online.
        world.step(.client(.requested(connection!, request, command)))
        return takeAnswer(to: request)
    }

    /// Asks without counting on an answer at once.
    func send(_ commands: ClientRequest...) {
        for command in commands {
            let request = world.nextRequest()
            sent.append(request)
            // A test asks only of a phone that is online.
            world.step(.client(.requested(connection!, request, command)))
            if answers[request] == nil { late.insert(request) }
        }
    }

    /// Asks; nil when the answer does not come at once, but later or never.
    func askWithoutWaiting(_ command: ClientRequest) -> Result<Reply, SignalError>? {
        send(command)
        let answers = sent.last.flatMap { self.answers[$0] } ?? []
        if answers.count > 1 { world.violate("a request got \(answers.count) answers") }
        return answers.first
    }

    /// How many of those sent were not answered yet.
    var unanswered: Int { sent.count { answers[$0] == nil } }
    /// The answer to the last of those sent that has one.
    var lastAnswer: Result<Reply, SignalError>? { sent.last { answers[$0] != nil }.flatMap { answers[$0]?.first } }

    /// nil while there is none.
    func answer(to request: RequestID) -> Result<Reply, SignalError>? { answers[request]?.first }

    private func takeAnswer(to request: RequestID) -> Result<Reply, SignalError> {
        let answers = answers.removeValue(forKey: request) ?? []
        if answers.count != 1 { world.violate("a request got \(answers.count) answers") }
        return answers.first ?? .failure(SignalError(.internalError, "no answer"))
    }

    func ack() { notify(.ack(seq: lastSeq)) }
    func notify(_ notification: ClientNotification) { world.step(.client(.notified(connection!, nil, notification))) }

    @discardableResult
    func call(
        _ to: CallTarget, id: CallID? = nil, ring: Duration? = nil, sdp: String? = nil, custom: String? = nil
    ) -> CallID {
        let call = id ?? world.newCall()
        ask(
            .invite(
                Invite(
                    call: call, to: to, ringTime: ring, sdp: sdp.map(RawJSON.init), custom: custom.map(RawJSON.init))))
        return call
    }

    @discardableResult
    func call(_ phone: Phone, sdp: String? = nil) -> CallID { call(.user(phone.user), sdp: sdp) }

    /// Calls a phone that is asleep.
    /// - Parameter stage: how far the push comes.
    func call(_ phone: Phone, push stage: PushStage) throws -> (call: CallID, push: PushID) {
        let call = call(phone)
        return switch stage {
        case .queued: (call, try #require(world.push(call, to: phone)?.id))
        case .onWire: (call, try world.transmit(call, to: phone))
        case .accepted: (call, try world.deliver(call, to: phone))
        }
    }

    enum PushStage { case queued, onWire, accepted }

    /// Media flows at both ends.
    func connect(_ call: CallID, with other: Phone) {
        for phone in [self, other] { phone.connected(call) }
    }

    @discardableResult func ring(_ call: CallID) -> Result<Reply, SignalError> { ask(.ringing(call)) }
    @discardableResult func answer(_ call: CallID, sdp: String? = nil) -> Result<Reply, SignalError> {
        ask(.answer(call, sdp: sdp.map(RawJSON.init)))
    }
    @discardableResult func decline(_ call: CallID, _ reason: DeclineReason = .declined) -> Result<Reply, SignalError> {
        ask(.decline(call, reason))
    }
    @discardableResult func connected(_ call: CallID) -> Result<Reply, SignalError> { ask(.connected(call)) }
    @discardableResult func hangUp(_ call: CallID, _ reason: HangupReason = .hangup) -> Result<Reply, SignalError> {
        ask(.hangup(call, reason))
    }
    @discardableResult
    func report(_ push: PushID, _ call: CallID, _ result: ReportResult = .reported) -> Result<Reply, SignalError> {
        ask(.report(PushReport(push: push, call: call, result: result)))
    }
    /// Sends candidates as a request.
    func ask(candidates: [String], of call: CallID) -> Result<Reply, SignalError> {
        let request = world.nextRequest()
        let batch = CallCandidates(call: call, candidates: candidates.map(RawJSON.init))
        // A test asks only of a phone that is online.
        world.step(.client(.notified(connection!, request, .candidates(batch))))
        return takeAnswer(to: request)
    }
    func send(_ candidates: [String], of call: CallID, final: Bool = false) {
        notify(.candidates(CallCandidates(call: call, candidates: candidates.map(RawJSON.init), isFinal: final)))
    }

    // MARK: What it was told

    func updates(of call: CallID) -> [CallUpdate] {
        events.compactMap { if case .update(let event) = $0, event.call == call { event } else { nil } }
    }
    /// How the other side's connection was told.
    func presences(of call: CallID) -> [PeerChange.Presence] {
        events.compactMap { if case .peer(let event) = $0, event.call == call { event.presence } else { nil } }
    }
    func offers(of call: CallID) -> [IncomingCall] {
        events.compactMap { if case .incoming(let event) = $0, event.call == call { event } else { nil } }
    }
    func changes(of call: CallID) -> [CallStateChange] {
        events.compactMap { if case .state(let event) = $0, event.call == call { event } else { nil } }
    }
    func states(of call: CallID) -> [CallState] { changes(of: call).map(\.state) }
    func endings(of call: CallID) -> [CallEnded] {
        events.compactMap { if case .ended(let event) = $0, event.call == call { event } else { nil } }
    }
    func candidates(of call: CallID) -> [String] {
        events.flatMap { event -> [String] in
            switch event {
            case .candidates(let batch) where batch.call == call: batch.candidates.map(\.json)
            case .incoming(let offer) where offer.call == call: offer.candidates.map(\.json)
            case .candidates, .incoming, .state, .ended, .update, .peer, .draining: []
            }
        }
    }
    /// The call as the open session's snapshot had it.
    func snapshot(of call: CallID) -> CallSnapshot? { session?.calls.first { $0.call == call } }
}

extension RawJSON {
    init(_ text: String) { self.init(bytes: Array(text.utf8)) }
}

extension Result<Reply, SignalError> {
    var reply: Reply? { try? get() }
    var error: SignalError? { if case .failure(let error) = self { error } else { nil } }
    var code: SignalError.Code? { error?.code }
    var opened: SessionOpened? { if case .success(.opened(let opened)) = self { opened } else { nil } }
    var calls: [CallSnapshot]? { if case .success(.calls(let calls, _)) = self { calls } else { nil } }
    var snapshot: CallSnapshot? { if case .success(.call(let call)) = self { call } else { nil } }
}
