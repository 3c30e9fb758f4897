import CallVocabulary

@testable import SoftphoneSession

/// As much of a server as one phone sees: one session, calls with one device, resume. On virtual time.
struct ModelServer {
    struct Call {
        let role: CallRole
        var state: CallState
        var reason: EndReason?
        let expiresAt: Instant
        var mergedInto: CallID?
        /// What the phone has sent of its candidates, and this server not lost.
        var candidates: Set<RawJSON> = []
    }

    struct Session {
        let id: SessionID
        var token: String
        var lastSeq: UInt64 = 0
        var acked: UInt64 = 0
        var unacked: [(seq: UInt64, event: ServerEvent)] = []
        var appState = AppState.foreground
    }

    /// In the order they came to be.
    private(set) var calls: [(id: CallID, call: Call)] = []
    private(set) var session: Session?
    private var counter: UInt64 = 0
    /// What the client did that no client may do.
    private(set) var violations: [String] = []

    var liveCalls: [CallID: CallState] {
        Dictionary(uniqueKeysWithValues: calls.filter { $0.call.state.isLive }.map { ($0.id, $0.call.state) })
    }

    var liveIDs: [CallID] { calls.filter { $0.call.state.isLive }.map(\.id) }

    private mutating func count() -> UInt64 {
        counter += 1
        return counter
    }

    // MARK: What happens at the server

    /// - Returns: what goes to the client, if it is connected.
    mutating func emit(_ event: ServerEvent) -> [ServerMessage] {
        guard session != nil else { return [] }
        session!.lastSeq += 1
        session!.unacked.append((session!.lastSeq, event))
        return [.event(seq: session!.lastSeq, event)]
    }

    mutating func offer(now: Instant) -> (CallID, [ServerMessage]) {
        let id = CallID(high: 100, low: count())
        let call = Call(role: .callee, state: .ringing, expiresAt: now + .seconds(45))
        calls.append((id, call))
        return (id, emit(.incoming(incoming(id, call))))
    }

    /// The far side calls while this phone calls it: the new call wins.
    mutating func glare(_ id: CallID, now: Instant) -> [ServerMessage] {
        guard let index = calls.firstIndex(where: { $0.id == id }), calls[index].call.role == .caller,
            calls[index].call.state.isRingingPhase
        else { return [] }
        let (winner, offered) = offer(now: now)
        calls[index].call.mergedInto = winner
        let over = end(id, .glare, now: now)
        return offered + over
    }

    mutating func end(_ id: CallID, _ reason: EndReason, isOwnAct: Bool = false, now: Instant) -> [ServerMessage] {
        guard let index = calls.firstIndex(where: { $0.id == id && $0.call.state.isLive }) else { return [] }
        calls[index].call.state = .ended
        calls[index].call.reason = reason
        return emit(
            .ended(
                CallEnded(
                    call: id, reason: reason, by: nil, at: now, isOwnAct: isOwnAct,
                    mergedInto: calls[index].call.mergedInto)))
    }

    /// The far side answers a call of this phone.
    mutating func farAnswer(_ id: CallID, now: Instant) -> [ServerMessage] {
        guard let index = calls.firstIndex(where: { $0.id == id }), calls[index].call.role == .caller,
            calls[index].call.state.isRingingPhase
        else { return [] }
        return advance(index, to: .answered, by: Party(user: SessionHarness.bob), now: now)
    }

    mutating func expire(now: Instant) -> [ServerMessage] {
        calls.filter { $0.call.state.isRingingPhase && $0.call.expiresAt <= now }.map(\.id)
            .reduce(into: []) { $0 += end($1, .ringTimeout, now: now) }
    }

    /// Whatever was not answered may be lost.
    mutating func restart() {
        session = nil
        for index in calls.indices { calls[index].call.candidates = [] }
    }

    private mutating func advance(_ index: Int, to state: CallState, by: Party?, now: Instant) -> [ServerMessage] {
        calls[index].call.state = state
        return emit(
            .state(CallStateChange(call: calls[index].id, state: state, at: now, by: by, waking: 0, ringing: 0)))
    }

    private func incoming(_ id: CallID, _ call: Call) -> IncomingCall {
        var incoming = SessionHarness.incoming(id, at: call.expiresAt)
        incoming.expiresAt = call.expiresAt
        return incoming
    }

    // MARK: What the client says

    mutating func receive(_ message: ClientMessage, now: Instant) -> [ServerMessage] {
        switch message {
        case .notification(.ack(let seq)):
            guard session != nil else { return [] }
            if seq <= session!.acked || seq > session!.lastSeq { violations.append("ack \(seq)") }
            session!.acked = seq
            session!.unacked.removeAll { $0.seq <= seq }
            return []
        case .notification(.candidates(let batch)):
            guard session != nil, let index = calls.firstIndex(where: { $0.id == batch.call }) else { return [] }
            calls[index].call.candidates.formUnion(batch.candidates)
            return []
        case .answeredNotification: return []
        case .request(let id, .open(let open)): return opened(id, open)
        case .request(let id, let request):
            guard session != nil else { return [.error(id, SignalError(.unauthenticated, "not open"))] }
            return handle(id, request, now: now)
        }
    }

    private mutating func opened(_ id: RequestID, _ open: SessionOpen) -> [ServerMessage] {
        var resumed = false
        if let resume = open.resume, let session, session.id == resume.session, session.token == resume.token,
            (session.acked...session.lastSeq).contains(resume.lastSeq)
        {
            resumed = true
            // A server may also send again what the client says it has: it is then the client's to leave out.
            if count() % 2 == 0 {
                self.session!.acked = resume.lastSeq
                self.session!.unacked.removeAll { $0.seq <= resume.lastSeq }
            }
        } else {
            session = Session(id: SessionID(high: 50, low: count()), token: "")
        }
        session!.token = "token-\(count())"
        let live = calls.filter { $0.call.state.isLive }
        let snapshots = live.map { snapshot($0.id, $0.call) }
        let opened = SessionOpened(
            session: session!.id, user: SessionHarness.alice, resumeToken: session!.token,
            resumeWindow: .seconds(30), resumed: resumed, calls: snapshots, missed: [])
        var messages: [ServerMessage] = [.reply(id, .opened(opened))]
        if resumed { return messages + session!.unacked.map { .event(seq: $0.seq, $0.event) } }
        for entry in live where entry.call.role == .callee && entry.call.state.isRingingPhase {
            messages += emit(.incoming(incoming(entry.id, entry.call)))
        }
        return messages
    }

    private func snapshot(_ id: CallID, _ call: Call) -> CallSnapshot {
        var snapshot = SessionHarness.snapshot(id, call.role, call.state)
        if call.role == .callee, call.state == .answered {
            snapshot.by = Party(user: SessionHarness.alice, device: SessionHarness.device)
        }
        snapshot.expiresAt = call.state.isRingingPhase ? call.expiresAt : nil
        snapshot.reason = call.reason
        snapshot.mergedInto = call.mergedInto
        return snapshot
    }

    private mutating func handle(_ id: RequestID, _ request: ClientRequest, now: Instant) -> [ServerMessage] {
        if case .session(.state(let state)) = request { session!.appState = state }
        guard let call = request.call else { return [.reply(id, .done)] }
        if case .call(.report) = request { return [.reply(id, .done)] }
        guard let index = calls.firstIndex(where: { $0.id == call }) else {
            guard case .owner(.invite) = request else { return [.error(id, SignalError(.forbidden, "no such call"))] }
            let made = Call(role: .caller, state: .ringing, expiresAt: now + .seconds(45))
            calls.append((call, made))
            return [.reply(id, .invited(call, .routing, expiresAt: made.expiresAt))]
        }
        let known = calls[index].call
        let reply = ServerMessage.reply(id, .callState(known.state, known.reason))
        switch request {
        case .owner(.invite):
            if let reason = known.reason { return [.reply(id, .inviteEnded(call, reason))] }
            return [.reply(id, .invited(call, known.state, expiresAt: known.expiresAt))]
        case .call(.answer):
            if let reason = known.reason { return [.error(id, SignalError(.callEnded(reason), ""))] }
            let own = Party(user: SessionHarness.alice, device: SessionHarness.device)
            guard known.state.isRingingPhase else { return [.error(id, SignalError(.alreadyAnswered(by: own), ""))] }
            return [.reply(id, .won)] + advance(index, to: .answered, by: own, now: now)
        case .call(.decline), .call(.hangup):
            guard known.state.isLive else { return [reply] }
            let reason: EndReason = known.state.isRingingPhase ? .declined : .hangup
            return end(call, reason, isOwnAct: true, now: now) + [.reply(id, .callState(.ended, reason))]
        case .call(.get): return [.reply(id, .call(snapshot(call, known)))]
        case .open, .session, .call, .owner: return [reply]
        }
    }
}
