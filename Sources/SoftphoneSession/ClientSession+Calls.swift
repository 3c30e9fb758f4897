import CallVocabulary

/// Calls: events from the server, pushes, and the user's commands.
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

    /// Whether to handle the event `seq`; false for one that was handled before, as a resume may repeat events.
    mutating func isNext(_ seq: UInt64, now: Duration, effects: inout [SessionEffect]) -> Bool {
        guard isOpen, seq > lastSeq else { return false }
        guard seq == lastSeq + 1 else {
            // An event was lost on a reliable connection: only a new session has consistent state.
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
            guard let index = index(of: candidates.call), calls[index].isTold else { return }
            // All of them, even repeated ones: after an ICE restart they may be meant again.
            _ = calls[index].news(in: candidates.candidates)
            effects.append(.notify(.candidates(candidates)))
        case .update(let update):
            guard let index = index(of: update.call), calls[index].isTold else { return }
            effects.append(.notify(.update(update)))
        case .peer(let change):
            guard let index = index(of: change.call) else { return }
            switch change.presence {
            case .away: calls[index].call.peerAwaySince = change.at
            case .back: calls[index].call.peerAwaySince = nil
            }
            if calls[index].isTold { effects.append(.notify(.peer(calls[index].call))) }
        case .draining(let deadline): effects.append(.notify(.draining(deadline: deadline)))
        }
    }

    func index(of call: CallID) -> Int? { calls.firstIndex { $0.call.id == call } }

    func endReason(of call: CallID) -> EndReason? { ended.last { $0.id == call }?.reason }

    // MARK: Learning of a call

    private mutating func apply(_ incoming: IncomingCall, now: Duration, effects: inout [SessionEffect]) {
        if hangUpIfRefused(incoming.call, now: now, effects: &effects) { return }
        forgetGuess(incoming.call)
        guard endReason(of: incoming.call) == nil else { return }
        let known = index(of: incoming.call)
        // The phone's own call, offered to the user's other devices.
        if let known, calls[known].call.role == .caller { return }
        let isTold = known.map { calls[$0].isTold } ?? false
        var call = known.map { calls[$0].call } ?? PhoneCall(id: incoming.call, role: .callee, state: .ringing)
        let before = call
        call.from = incoming.from
        call.fromName = incoming.fromName ?? call.fromName
        call.to = incoming.to
        call.video = incoming.video
        call.sdp = incoming.sdp ?? call.sdp
        call.custom = incoming.custom ?? call.custom
        if call.state.isRingingPhase { call.expiresAt = incoming.expiresAt }
        call.push = incoming.push ?? call.push
        call.mergedFrom = call.mergedFrom ?? loser(to: call.id)
        let index = known ?? calls.count
        if known == nil { calls.append(CallEntry(call: call, isTold: true)) }
        calls[index].call = call
        calls[index].isTold = true
        calls[index].isUnlisted = false
        guard isTold else {
            let candidates = calls[index].news(in: incoming.candidates)
            return tell(call, candidates: candidates, now: now, effects: &effects)
        }
        if call != before { effects.append(.notify(.offer(call))) }
        // A new session repeats all earlier candidates.
        let news = calls[index].news(in: incoming.candidates)
        guard !news.isEmpty else { return }
        effects.append(.notify(.candidates(CallCandidates(call: call.id, candidates: news))))
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
        _ = hangUpIfRefused(push.call, now: now, effects: &effects)
        let isOverdue = serverTime(at: now).map { push.expiresAt + Self.ringGrace <= $0 } ?? false
        if !isOverdue { forgetGuess(push.call) }
        let known = index(of: push.call)
        if let reason = endReason(of: push.call) ?? (known == nil && isOverdue ? .ringTimeout : nil) {
            if let token = push.wakeToken { lateWake = (push.call, token) }
            hurry(now: now)
            return effects.append(.notify(.latePush(push, reason)))
        }
        // The phone's own call, offered to the user's other devices.
        if let known, calls[known].call.role == .caller { return }
        var call = known.map { calls[$0].call } ?? PhoneCall(id: push.call, role: .callee, state: .ringing)
        call.from = push.from
        call.fromName = push.fromName ?? call.fromName
        call.video = push.video
        call.custom = push.custom ?? call.custom
        call.expiresAt = call.expiresAt ?? push.expiresAt
        call.push = push.push
        call.mergedFrom = call.mergedFrom ?? loser(to: call.id)
        let isTold = known.map { calls[$0].isTold } ?? false
        let index = known ?? calls.count
        if known == nil { calls.append(CallEntry(call: call, isTold: true)) }
        calls[index].call = call
        calls[index].isTold = true
        calls[index].wakeToken = push.wakeToken ?? calls[index].wakeToken
        calls[index].ringsUntil = calls[index].ringsUntil ?? now + configuration.unclockedRingTime
        if calls[index].wakeToken != nil { hurry(now: now) }
        if !isTold { tell(call, candidates: [], now: now, effects: &effects) }
    }

    // MARK: Commands that make or change a call

    mutating func noteInvite(_ invite: Invite) {
        guard index(of: invite.call) == nil else { return }
        // The id of a failed attempt is used again: the server's reply decides.
        ended.removeAll { $0.id == invite.call }
        // The hangup of the failed attempt is obsolete.
        outbox.removeAll { $0.request == .hangup(invite.call, .hangup) && $0.ticket == nil && $0.sentAt == nil }
        var call = PhoneCall(id: invite.call, role: .caller, state: .routing, video: invite.video)
        call.to = invite.to
        call.custom = invite.custom
        calls.append(CallEntry(call: call, isTold: true))
    }

    /// Notes an answer by call id alone, before anything else is known of the call: later events must not ring.
    mutating func noteAnswer(_ call: CallID) {
        guard let index = index(of: call) else {
            return calls.append(CallEntry(call: PhoneCall(id: call, role: .callee, state: .ringing), isTold: true))
        }
        calls[index].isTold = true
    }

    /// Settles a command on a call that has ended, as the server would.
    mutating func settleIfEnded(
        _ call: CallID, _ request: ClientRequest, ticket: CommandTicket?, effects: inout [SessionEffect]
    ) -> Bool {
        guard let reason = endReason(of: call) else { return false }
        if let ticket { effects.append(.complete(ticket, Self.settlement(of: request, endedBy: reason))) }
        return true
    }

    /// The outcome of a late command, which changes nothing: success if it meant to end the call, otherwise a failure.
    private static func settlement(
        of request: ClientRequest, endedBy reason: EndReason
    ) -> Result<Reply, SoftphoneError> {
        switch request {
        case .call(.hangup), .call(.decline), .call(.ringing), .call(.connected): .success(.callState(.ended, reason))
        case .open, .session, .call, .owner: .failure(.callEnded(reason))
        }
    }

    // MARK: What the server answers

    mutating func apply(_ reply: Reply, to request: ClientRequest, effects: inout [SessionEffect]) {
        switch reply {
        case .invited(let call, let state, let expiresAt):
            change(call, effects: &effects) { $0.takeInvited(state, expiresAt) }
        case .inviteEnded(let call, let reason): end(call, reason, effects: &effects)
        case .won:
            if let call = request.call { won(call, effects: &effects) }
        case .callState(let state, let reason): apply(state, reason, to: request, effects: &effects)
        case .call(let snapshot):
            // The reply concerns a call of another device of this user.
            guard let index = index(of: snapshot.call), calls[index].call.role == snapshot.role else { return }
            calls[index].isUnlisted = false
            apply(snapshot, effects: &effects)
        // No request over a WebSocket has a backend's view as its reply.
        case .done, .opened, .calls, .backendCall: break
        }
    }

    private mutating func apply(
        _ state: CallState, _ reason: EndReason?, to request: ClientRequest, effects: inout [SessionEffect]
    ) {
        guard let call = request.call else { return }
        if let index = index(of: call) { calls[index].isUnlisted = false }
        guard state == .ended else { return change(call, effects: &effects) { $0.advance(to: state) } }
        switch request {
        case .call(.report): break  // About the push: `call.ended` tells of the call.
        case .call(.hangup), .call(.decline): end(call, reason ?? .hangup, isOwnAct: true, effects: &effects)
        case .open, .session, .call, .owner:
            end(call, reason ?? .hangup, effects: &effects)
        }
    }

    private mutating func won(_ id: CallID, effects: inout [SessionEffect]) {
        if let index = index(of: id) { calls[index].isUnlisted = false }
        change(id, effects: &effects) { $0.advance(to: .answered) }
    }

    /// Applies a refusal to the call, and returns the outcome of the command.
    mutating func outcome(
        of error: SignalError, for request: ClientRequest, effects: inout [SessionEffect]
    ) -> Result<Reply, SoftphoneError> {
        switch (request, error.code) {
        case (.call(.answer(let call, _)), .alreadyAnswered(let by)):
            if by.device == configuration.device.id {
                // Our own answer, repeated because the connection broke before the reply.
                won(call, effects: &effects)
                return .success(.won)
            }
            end(call, .answeredElsewhere, by: by, effects: &effects)
        case (.call(.answer(let call, _)), .forbidden), (.call(.answer(let call, _)), .notFound),
            (.call(.ringing(let call)), .forbidden),
            (.call(.ringing(let call)), .notFound):
            // The server has no leg of this phone in the call, so it ends here. A caller's call does not: a caller
            // cannot answer or ring.
            if isCallee(of: call) { end(call, .connectionLost, effects: &effects) }
        case (.call(.connected(let call)), .forbidden), (.call(.connected(let call)), .notFound),
            (.call(.get(let call)), .forbidden),
            (.call(.get(let call)), .notFound):
            end(call, .connectionLost, effects: &effects)
        case (.call(.decline(let call, let reason)), .forbidden), (.call(.decline(let call, let reason)), .notFound):
            guard isCallee(of: call) else { break }
            end(call, reason.endReason, isOwnAct: true, effects: &effects)
            return .success(.callState(.ended, reason.endReason))
        case (.call(.hangup(let call, _)), .forbidden), (.call(.hangup(let call, _)), .notFound):
            // The invite never reached the server, so there is nothing to hang up.
            let reason = index(of: call).map { Self.reason(of: request, on: calls[$0].call) } ?? .cancelled
            end(call, reason, isOwnAct: true, effects: &effects)
            return .success(.callState(.ended, reason))
        case (.owner(.invite(let invite)), _):
            // A call that the server refused never existed; the error tells the app.
            if isUnconfirmed(invite.call) { end(invite.call, .forbidden, isTold: false, effects: &effects) }
        case (_, .callEnded(let reason)):
            if let call = request.call { end(call, reason, effects: &effects) }
            return .failure(.callEnded(reason))
        case (_, _):
            if let call = request.call, request.tellsHowCallStands { settleUnlisted(call, effects: &effects) }
        }
        return .failure(.refused(error))
    }

    private func isCallee(of call: CallID) -> Bool { index(of: call).map { calls[$0].call.role == .callee } ?? false }

    /// Whether this phone placed the call and has heard nothing of it from the server.
    func isUnconfirmed(_ call: CallID) -> Bool {
        guard let known = index(of: call).map({ calls[$0].call }) else { return false }
        return known.role == .caller && known.state == .routing && known.expiresAt == nil
    }

    // MARK: What the server tells

    private mutating func apply(_ change: CallStateChange, effects: inout [SessionEffect]) {
        guard let index = index(of: change.call), calls[index].call.take(change) else { return }
        if calls[index].isTold { effects.append(.notify(.state(calls[index].call))) }
    }

    private mutating func apply(_ ended: CallEnded, effects: inout [SessionEffect]) {
        if let index = index(of: ended.call) {
            calls[index].call.endedAt = ended.at
            calls[index].call.mergedInto = ended.mergedInto
            end(ended.call, ended.reason, by: ended.by, isOwnAct: ended.isOwnAct, effects: &effects)
        } else if let past = self.ended.lastIndex(where: { $0.id == ended.call }) {
            // The reply to the invite told of the end, but not of the call that continues.
            if let winner = ended.mergedInto { merge(past, into: winner, effects: &effects) }
            certify(past, ended.reason)
        } else {
            remember(ended.call, .callee, ended.reason, isTold: false)
        }
    }

    // MARK: Glare

    /// The app's call that lost a glare against `winner`.
    func loser(to winner: CallID) -> CallID? { ended.last { $0.mergedInto == winner && $0.isTold }?.id }

    /// Tells the app after a glare which of the two calls remains.
    private mutating func merge(_ past: Int, into winner: CallID, effects: inout [SessionEffect]) {
        guard ended[past].mergedInto == nil else { return }
        ended[past].mergedInto = winner
        guard ended[past].isTold else { return }
        let loser = ended[past].id
        if let index = index(of: winner) { calls[index].call.mergedFrom = loser }
        effects.append(.notify(.merged(loser, into: winner)))
    }

    /// Lets `body` change a call, and notifies the app of a change.
    /// - Parameter body: returns whether it has changed the call.
    mutating func change(
        _ id: CallID, effects: inout [SessionEffect], _ body: (inout PhoneCall) -> Bool
    ) {
        guard let index = index(of: id), body(&calls[index].call), calls[index].isTold else { return }
        effects.append(.notify(.state(calls[index].call)))
    }

    // MARK: The end

    /// Ends a call on this phone, once.
    /// - Parameters:
    ///   - isTold: false when the outcome of the app's own command reports the end.
    mutating func end(
        _ id: CallID, _ reason: EndReason, by: Party? = nil, isOwnAct: Bool = false, isTold: Bool = true,
        certainty: EndedCall.Certainty = .told, effects: inout [SessionEffect]
    ) {
        guard let index = index(of: id) else { return }
        var entry = calls.remove(at: index)
        if let token = entry.wakeToken { lateWake = (id, token) }
        let past = remember(id, entry.call.role, reason, certainty, isTold: entry.isTold && isTold)
        settleCommands(of: id, reason, effects: &effects)
        defer { if let winner = entry.call.mergedInto { merge(past, into: winner, effects: &effects) } }
        guard entry.isTold, isTold else { return }
        entry.call.state = .ended
        entry.call.reason = reason
        entry.call.by = by
        entry.call.isOwnAct = isOwnAct
        effects.append(.notify(.ended(entry.call)))
    }

    /// - Returns: the index in ``ended``.
    @discardableResult
    mutating func remember(
        _ call: CallID, _ role: CallRole, _ reason: EndReason, _ certainty: EndedCall.Certainty = .told, isTold: Bool
    ) -> Int {
        if ended.count >= Self.endedLimit { ended.removeFirst() }
        ended.append(EndedCall(id: call, role: role, reason: reason, certainty: certainty, isTold: isTold))
        return ended.count - 1
    }

    /// Notes that the server confirms the end of a call.
    private mutating func certify(_ past: Int, _ reason: EndReason) {
        guard ended[past].certainty != .told else { return }
        let old = ended[past]
        ended[past] = EndedCall(
            id: old.id, role: old.role, reason: reason, certainty: .told, isTold: old.isTold,
            mergedInto: old.mergedInto)
    }

    /// Forgets a guessed end: the server still offers the call, so it is announced again.
    mutating func forgetGuess(_ call: CallID) {
        ended.removeAll { $0.id == call && $0.certainty == .guessed }
    }

    /// The reason for which a call ends that the user declines or hangs up.
    static func reason(of request: ClientRequest, on call: PhoneCall) -> EndReason {
        switch request {
        case .call(.decline(_, let reason)): reason.endReason
        case .call(.hangup(_, let reason)) where !call.state.isRingingPhase: reason.endReason
        case .open, .session, .call, .owner:
            call.role == .caller ? .cancelled : .declined
        }
    }

    /// Settles unsent commands about a call that has ended.
    private mutating func settleCommands(of call: CallID, _ reason: EndReason, effects: inout [SessionEffect]) {
        var settled: [OutboxItem] = []
        outbox.removeAll { item in
            guard item.request.call == call, item.sentAt == nil else { return false }
            switch item.request {
            case .call(.report): return false  // True and of use after the end as well.
            case .call(.get): return item.ticket == nil
            case .open, .session, .call, .owner:
                settled.append(item)
                return true
            }
        }
        for item in settled {
            guard let ticket = item.ticket else { continue }
            effects.append(.complete(ticket, Self.settlement(of: item.request, endedBy: reason)))
        }
    }
}
