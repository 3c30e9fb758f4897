import CallVocabulary

/// A live call, and what only the session needs to know of it.
struct CallEntry: Equatable, Sendable {
    var call: PhoneCall
    /// Whether the app knows of it.
    var isTold: Bool
    /// From the push that told of it.
    var wakeToken: String?
    /// The server does not list it any more; only the outcome of an answer is still awaited.
    var isUnlisted = false
}

struct EndedCall: Equatable, Sendable {
    let id: CallID
    let role: CallRole
    let reason: EndReason
    /// Ended by this phone without the server's word, which may turn out to be otherwise.
    let isGuess: Bool
}

/// Calls: what the server and pushes say of them, and what this phone has done.
extension ClientSession {
    mutating func received(_ message: ServerMessage, now: Duration, effects: inout [SessionEffect]) {
        switch message {
        case .welcome(let welcome): welcomed(welcome, now: now, effects: &effects)
        case .reply(let id, let reply): replied(id, reply, now: now, effects: &effects)
        case .error(let id, let error): refused(id, error, now: now, effects: &effects)
        case .event(let seq, let event):
            guard isNext(seq, now: now, effects: &effects) else { return }
            apply(event, now: now, effects: &effects)
            noteHandled(seq, now: now, effects: &effects)
        }
    }

    /// Whether the event `seq` is to be handled now: not one that was handled before, as a resume may bring them.
    mutating func isNext(_ seq: UInt64, now: Duration, effects: inout [SessionEffect]) -> Bool {
        guard isOpen, seq > lastSeq else { return false }
        guard seq == lastSeq + 1 else {
            // Something was lost on a reliable connection: only a fresh session is known to be right.
            resumable = nil
            lose(reason: "a gap in the events", now: now, effects: &effects)
            return false
        }
        return true
    }

    private mutating func apply(_ event: ServerEvent, now: Duration, effects: inout [SessionEffect]) {
        switch event {
        case .incoming(let incoming): apply(incoming, now: now, effects: &effects)
        case .state(let change):
            hangUpIfGivenUp(change.call, change.state, by: change.by, now: now, effects: &effects)
            apply(change, effects: &effects)
        case .ended(let ended): apply(ended, effects: &effects)
        case .candidates(let candidates):
            if index(of: candidates.call) != nil { effects.append(.notify(.candidates(candidates))) }
        case .update(let update):
            if index(of: update.call) != nil { effects.append(.notify(.update(update))) }
        case .draining(let deadline): effects.append(.notify(.draining(deadline: deadline)))
        }
    }

    func index(of call: CallID) -> Int? { calls.firstIndex { $0.call.id == call } }

    func endReason(of call: CallID) -> EndReason? { ended.last { $0.id == call }?.reason }

    // MARK: Learning of a call

    private mutating func apply(_ incoming: IncomingCall, now: Duration, effects: inout [SessionEffect]) {
        forgetGuess(incoming.call)
        guard endReason(of: incoming.call) == nil else { return }
        let known = index(of: incoming.call)
        let isTold = known.map { calls[$0].isTold } ?? false
        var call = known.map { calls[$0].call } ?? PhoneCall(id: incoming.call, role: .callee, state: .ringing)
        let before = call
        call.from = incoming.from
        call.fromName = incoming.fromName ?? call.fromName
        call.to = incoming.to
        call.video = incoming.video
        call.sdp = incoming.sdp ?? call.sdp
        call.custom = incoming.custom ?? call.custom
        call.expiresAt = incoming.expiresAt
        call.push = incoming.push ?? call.push
        if let known {
            calls[known].call = call
            calls[known].isTold = true
        } else {
            calls.append(CallEntry(call: call, isTold: true))
        }
        guard isTold else { return tell(call, candidates: incoming.candidates, now: now, effects: &effects) }
        if call != before { effects.append(.notify(.offer(call))) }
        if !incoming.candidates.isEmpty {
            let candidates = CallCandidates(call: call.id, candidates: incoming.candidates)
            effects.append(.notify(.candidates(candidates)))
        }
    }

    private mutating func tell(
        _ call: PhoneCall, candidates: [RawJSON], now: Duration, effects: inout [SessionEffect]
    ) {
        effects.append(.notify(.incoming(call, candidates: candidates)))
        guard configuration.automaticRinging else { return }
        command(.ringing(call.id), ticket: nil, now: now, effects: &effects)
    }

    mutating func pushReceived(_ push: CallPush, now: Duration, effects: inout [SessionEffect]) {
        wake(now: now, effects: &effects)
        if let result = configuration.automaticReport {
            let report = PushReport(push: push.push, call: push.call, result: result)
            command(.report(report), ticket: nil, now: now, effects: &effects)
        }
        forgetGuess(push.call)
        if let reason = endReason(of: push.call) { return effects.append(.notify(.latePush(push, reason))) }
        let known = index(of: push.call)
        var call = known.map { calls[$0].call } ?? PhoneCall(id: push.call, role: .callee, state: .ringing)
        call.from = push.from
        call.fromName = push.fromName ?? call.fromName
        call.video = push.video
        call.custom = push.custom ?? call.custom
        call.expiresAt = call.expiresAt ?? push.expiresAt
        call.push = push.push
        let isTold = known.map { calls[$0].isTold } ?? false
        let entry = CallEntry(call: call, isTold: true, wakeToken: push.wakeToken)
        if let known { calls[known] = entry } else { calls.append(entry) }
        if !isTold { tell(call, candidates: [], now: now, effects: &effects) }
    }

    // MARK: Commands that make or change a call

    mutating func noteInvite(_ invite: Invite) {
        guard index(of: invite.call) == nil else { return }
        // The same id again, after an attempt that failed: what the server says of it counts.
        ended.removeAll { $0.id == invite.call }
        var call = PhoneCall(id: invite.call, role: .caller, state: .routing, video: invite.video)
        call.to = invite.to
        call.custom = invite.custom
        calls.append(CallEntry(call: call, isTold: true))
    }

    /// An answer by id alone, before anything else told of the call: what comes later must not ring any more.
    mutating func noteAnswer(_ call: CallID) {
        guard index(of: call) == nil else { return }
        calls.append(CallEntry(call: PhoneCall(id: call, role: .callee, state: .ringing), isTold: true))
    }

    /// Settles a command on a call that is known to be over as the server would.
    mutating func settleIfEnded(
        _ call: CallID, _ request: ClientRequest, ticket: CommandTicket?, effects: inout [SessionEffect]
    ) -> Bool {
        guard let reason = endReason(of: call) else { return false }
        if let ticket { effects.append(.complete(ticket, Self.settlement(of: request, endedBy: reason))) }
        return true
    }

    /// Late commands change nothing: whoever wanted the call over has it, the others have to know.
    private static func settlement(
        of request: ClientRequest, endedBy reason: EndReason
    ) -> Result<Reply, SoftphoneError> {
        switch request {
        case .hangup, .decline, .ringing, .connected: .success(.callState(.ended, reason))
        case .answer, .update, .invite, .open, .state, .close, .logout, .updateDevice, .report, .get, .list,
            .clearMissed:
            .failure(.callEnded(reason))
        }
    }

    // MARK: What the server answers

    mutating func apply(_ reply: Reply, to request: ClientRequest, effects: inout [SessionEffect]) {
        switch reply {
        case .invited(let call, let state, let expiresAt):
            change(call, effects: &effects) { call in
                call.advance(to: state)
                call.expiresAt = expiresAt
            }
        case .inviteEnded(let call, let reason): end(call, reason, effects: &effects)
        case .won:
            if let call = request.call { change(call, effects: &effects) { $0.advance(to: .answered) } }
        case .callState(let state, let reason): apply(state, reason, to: request, effects: &effects)
        case .call(let snapshot): apply(snapshot, effects: &effects)
        case .done, .opened, .calls: break
        }
    }

    private mutating func apply(
        _ state: CallState, _ reason: EndReason?, to request: ClientRequest, effects: inout [SessionEffect]
    ) {
        guard let call = request.call else { return }
        guard state == .ended else { return change(call, effects: &effects) { $0.advance(to: state) } }
        switch request {
        case .report: break  // About the push: `call.ended` tells of the call.
        case .hangup, .decline: end(call, reason ?? .hangup, isOwnAct: true, effects: &effects)
        case .open, .state, .close, .logout, .updateDevice, .invite, .ringing, .answer, .connected, .update, .get,
            .list, .clearMissed:
            end(call, reason ?? .hangup, effects: &effects)
        }
    }

    /// What a refusal means for the call, and for whoever gave the command.
    mutating func outcome(
        of error: SignalError, for request: ClientRequest, effects: inout [SessionEffect]
    ) -> Result<Reply, SoftphoneError> {
        switch (request, error.code) {
        case (.answer(let call, _), .alreadyAnswered(let by)):
            if by.device == configuration.device.id {
                // Our own answer, said again after the connection broke before the reply came.
                change(call, effects: &effects) { $0.advance(to: .answered) }
                return .success(.won)
            }
            end(call, .answeredElsewhere, by: by, effects: &effects)
        case (.answer(let call, _), .forbidden), (.answer(let call, _), .notFound):
            end(call, .connectionLost, effects: &effects)
        case (.hangup(let call, _), .forbidden), (.hangup(let call, _), .notFound):
            // The invite never reached the server, so there is nothing to hang up.
            end(call, .cancelled, isOwnAct: true, effects: &effects)
            return .success(.callState(.ended, .cancelled))
        case (.invite(let invite), _):
            // The error says it: a call that the server refused never was.
            end(invite.call, .forbidden, isTold: false, effects: &effects)
        case (_, .callEnded(let reason)):
            if let call = request.call { end(call, reason, effects: &effects) }
            return .failure(.callEnded(reason))
        case (.answer(let call, _), _): answerFailed(call, effects: &effects)
        case (_, _): break
        }
        return .failure(.refused(error))
    }

    // MARK: What the server tells

    private mutating func apply(_ change: CallStateChange, effects: inout [SessionEffect]) {
        guard let index = index(of: change.call) else { return }
        var call = calls[index].call
        call.advance(to: change.state)
        call.waking = change.waking
        call.ringing = change.ringing
        call.expiresAt = change.expiresAt ?? call.expiresAt
        call.by = change.by ?? call.by
        call.sdp = change.sdp ?? call.sdp
        switch change.state {
        case .answered: call.answeredAt = call.answeredAt ?? change.at
        case .connected: call.connectedAt = call.connectedAt ?? change.at
        case .routing, .waking, .ringing, .ended: break
        }
        guard call != calls[index].call else { return }
        calls[index].call = call
        if calls[index].isTold { effects.append(.notify(.state(call))) }
    }

    private mutating func apply(_ ended: CallEnded, effects: inout [SessionEffect]) {
        guard let index = index(of: ended.call) else {
            forgetGuess(ended.call)
            if endReason(of: ended.call) == nil { remember(ended.call, .callee, ended.reason) }
            return
        }
        calls[index].call.endedAt = ended.at
        calls[index].call.mergedInto = ended.mergedInto
        end(ended.call, ended.reason, by: ended.by, isOwnAct: ended.isOwnAct, effects: &effects)
    }

    mutating func change(
        _ id: CallID, effects: inout [SessionEffect], _ body: (inout PhoneCall) -> Void
    ) {
        guard let index = index(of: id) else { return }
        let before = calls[index].call
        body(&calls[index].call)
        if calls[index].call != before, calls[index].isTold { effects.append(.notify(.state(calls[index].call))) }
    }

    // MARK: The end

    /// Ends a call on this phone: once, whatever comes later.
    /// - Parameters:
    ///   - isTold: false where the app learns of it as the outcome of its own command.
    ///   - isGuess: true where the server has not said so.
    mutating func end(
        _ id: CallID, _ reason: EndReason, by: Party? = nil, isOwnAct: Bool = false, isTold: Bool = true,
        isGuess: Bool = false, effects: inout [SessionEffect]
    ) {
        guard let index = index(of: id) else { return }
        let entry = calls.remove(at: index)
        remember(id, entry.call.role, reason, isGuess: isGuess)
        settleCommands(of: id, reason, effects: &effects)
        guard entry.isTold, isTold else { return }
        var call = entry.call
        call.state = .ended
        call.reason = reason
        call.by = by
        call.isOwnAct = isOwnAct
        effects.append(.notify(.ended(call)))
    }

    private mutating func remember(_ call: CallID, _ role: CallRole, _ reason: EndReason, isGuess: Bool = false) {
        if ended.count >= Self.endedLimit { ended.removeFirst() }
        ended.append(EndedCall(id: call, role: role, reason: reason, isGuess: isGuess))
    }

    /// Whoever offers the call knows better than a guess that it is over: it is announced anew.
    mutating func forgetGuess(_ call: CallID) {
        ended.removeAll { $0.id == call && $0.isGuess }
    }

    /// Commands about a call that is over, and that the server has not seen: no longer worth sending.
    private mutating func settleCommands(of call: CallID, _ reason: EndReason, effects: inout [SessionEffect]) {
        var settled: [OutboxItem] = []
        outbox.removeAll { item in
            guard item.call == call, item.sentAt == nil else { return false }
            switch item.request {
            case .report?, .get?: return false  // True and of use after the end as well.
            case .open?, .state?, .close?, .logout?, .updateDevice?, .invite?, .ringing?, .answer?, .decline?,
                .connected?, .hangup?, .update?, .list?, .clearMissed?, nil:
                settled.append(item)
                return true
            }
        }
        for item in settled {
            guard let ticket = item.ticket, let request = item.request else { continue }
            effects.append(.complete(ticket, Self.settlement(of: request, endedBy: reason)))
        }
    }

    // MARK: Time

    /// When a call that still rings ends here while no server is there to say so; nil while one is.
    func localRingDeadline(of call: PhoneCall) -> Duration? {
        guard !isOpen, call.state.isRingingPhase, let expiresAt = call.expiresAt, let offset = serverClockOffset
        else { return nil }
        return .milliseconds(expiresAt.milliseconds - offset) + Self.ringGrace
    }

    mutating func expireRinging(now: Duration, effects: inout [SessionEffect]) {
        for entry in calls {
            guard let deadline = localRingDeadline(of: entry.call), deadline <= now else { continue }
            end(entry.call.id, .ringTimeout, isGuess: true, effects: &effects)
        }
    }
}
