import CallVocabulary

/// Commands: from the app to the server, and their outcomes back.
extension ClientSession {
    // MARK: In

    mutating func command(
        _ request: ClientRequest, ticket: CommandTicket?, now: Duration, effects: inout [SessionEffect]
    ) {
        let failure: SoftphoneError? =
            switch connection {
            case .gone(let reason): .gone(reason)
            case .closing: .closed
            case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting:
                outbox.count < Self.outboxLimit ? nil : .queueFull(limit: Self.outboxLimit)
            }
        if let failure {
            if let ticket { effects.append(.complete(ticket, .failure(failure))) }
            return
        }
        guard prepare(request, ticket: ticket, effects: &effects) else { return }
        enqueue(request, ticket: ticket, now: now, effects: &effects)
    }

    /// Sends `request`, now or when a session is open.
    mutating func enqueue(
        _ request: ClientRequest, ticket: CommandTicket?, now: Duration, effects: inout [SessionEffect]
    ) {
        let wait = request.persistence == .kept ? configuration.keepTime : configuration.requestTimeout
        outbox.append(
            OutboxItem(payload: .request(id: takeRequestID(), request), ticket: ticket, waitsUntil: now + wait))
        if isOpen { send(at: outbox.count - 1, now: now, effects: &effects) }
    }

    mutating func takeRequestID() -> Int64 {
        defer { nextRequest += 1 }
        return nextRequest
    }

    /// What a command means before the server has heard of it.
    /// - Returns: false when it is settled already.
    private mutating func prepare(
        _ request: ClientRequest, ticket: CommandTicket?, effects: inout [SessionEffect]
    ) -> Bool {
        switch request {
        case .open, .close: preconditionFailure("the session opens and closes itself: use started and stopped")
        case .invite(let invite): noteInvite(invite)
        case .answer(let call, _):
            if settleIfEnded(call, request, ticket: ticket, effects: &effects) { return false }
            noteAnswer(call)
        case .hangup(let call, _):
            if settleIfEnded(call, request, ticket: ticket, effects: &effects) { return false }
            if withdrawUnsentInvite(call, ticket: ticket, effects: &effects) { return false }
        case .decline(let call, _), .ringing(let call), .connected(let call):
            if settleIfEnded(call, request, ticket: ticket, effects: &effects) { return false }
        case .update(let update):
            if settleIfEnded(update.call, request, ticket: ticket, effects: &effects) { return false }
        case .state(let state): appState = state
        case .logout, .updateDevice, .report, .get, .list, .clearMissed: break
        }
        return true
    }

    mutating func enqueue(_ candidates: CallCandidates, now: Duration, effects: inout [SessionEffect]) {
        guard calls.contains(where: { $0.call.id == candidates.call }), outbox.count < Self.outboxLimit else { return }
        if isOpen { return effects.append(.send(.notification(.candidates(candidates)))) }
        switch connection {
        case .gone, .closing: break
        case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting:
            outbox.append(
                OutboxItem(
                    payload: .candidates(candidates), ticket: nil, waitsUntil: now + configuration.keepTime))
        }
    }

    /// A call that was hung up before the server heard of it never was.
    private mutating func withdrawUnsentInvite(
        _ call: CallID, ticket: CommandTicket?, effects: inout [SessionEffect]
    ) -> Bool {
        let isUnsent = outbox.contains { item in
            guard case .invite(let invite)? = item.request else { return false }
            return invite.call == call && item.sentAt == nil && !item.wasSent
        }
        guard isUnsent else { return false }
        end(call, .cancelled, isOwnAct: true, effects: &effects)
        if let ticket { effects.append(.complete(ticket, .success(.callState(.ended, .cancelled)))) }
        return true
    }

    // MARK: Out

    /// Sends what has waited, in the order it was given.
    mutating func flush(now: Duration, effects: inout [SessionEffect]) {
        for index in outbox.indices where outbox[index].sentAt == nil { send(at: index, now: now, effects: &effects) }
        outbox.removeAll { if case .candidates = $0.payload { true } else { false } }
    }

    private mutating func send(at index: Int, now: Duration, effects: inout [SessionEffect]) {
        outbox[index].sentAt = now
        switch outbox[index].payload {
        case .request(let id, let request): effects.append(.send(.request(.number(id), request)))
        case .candidates(let candidates): effects.append(.send(.notification(.candidates(candidates))))
        }
    }

    // MARK: Outcomes

    /// Takes the request that `id` names out of the outbox.
    private mutating func takeSent(_ id: RequestID) -> OutboxItem? {
        guard case .number(let number) = id else { return nil }
        let found = outbox.firstIndex { item in
            if case .request(number, _) = item.payload { item.sentAt != nil } else { false }
        }
        return found.map { outbox.remove(at: $0) }
    }

    mutating func takeLogout() -> OutboxItem? {
        outbox.firstIndex { $0.request == .logout && $0.sentAt != nil }.map { outbox.remove(at: $0) }
    }

    mutating func replied(_ id: RequestID, _ reply: Reply, now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .opening(let request, _) where id == .number(request):
            guard case .opened(let result) = reply else {
                return lose(reason: "an answer that does not fit session.open", now: now, effects: &effects)
            }
            return opened(result, now: now, effects: &effects)
        case .closing(let request, let ticket, _) where id == .number(request):
            return finishClosing(ticket: ticket, effects: &effects)
        case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting, .closing, .gone: break
        }
        guard let item = takeSent(id), let request = item.request else { return }
        if case .logout = request { return finishLogout(ticket: item.ticket, effects: &effects) }
        apply(reply, to: request, effects: &effects)
        if let ticket = item.ticket { effects.append(.complete(ticket, .success(reply))) }
    }

    mutating func refused(_ id: RequestID?, _ error: SignalError, now: Duration, effects: inout [SessionEffect]) {
        // Without an id the server could not read what we sent; no command to blame, and its time-out will tell.
        guard let id else { return }
        switch connection {
        case .opening(let request, _) where id == .number(request):
            return openRefused(error, now: now, effects: &effects)
        case .closing(let request, let ticket, _) where id == .number(request):
            return finishClosing(ticket: ticket, effects: &effects)
        case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting, .closing, .gone: break
        }
        guard let item = takeSent(id), let request = item.request else { return }
        let result = outcome(of: error, for: request, effects: &effects)
        if let ticket = item.ticket { effects.append(.complete(ticket, result)) }
    }

    // MARK: Losses and time

    /// What becomes of the commands when the connection is lost.
    mutating func commandsLost(now: Duration, effects: inout [SessionEffect]) {
        var failed: [OutboxItem] = []
        outbox.removeAll { item in
            guard item.sentAt != nil, item.request?.persistence == .once else { return false }
            failed.append(item)
            return true
        }
        for index in outbox.indices where outbox[index].sentAt != nil {
            outbox[index].sentAt = nil
            outbox[index].wasSent = true
        }
        for item in failed { fail(item, .connectionLost, now: now, effects: &effects) }
        expireCommands(now: now, effects: &effects)
    }

    mutating func expireCommands(now: Duration, effects: inout [SessionEffect]) {
        let timeout = configuration.requestTimeout
        // An answer that does not come over a connection where nothing comes: the connection is dead, and what can be
        // repeated is better repeated than given up.
        let isDead = outbox.contains { item in
            guard let sentAt = item.sentAt else { return false }
            return sentAt + timeout <= now && lastHeard < sentAt
        }
        if isDead, isOpen { return lose(reason: "no answer in time", now: now, effects: &effects) }
        guard outbox.contains(where: { $0.deadline(requestTimeout: timeout) <= now }) else { return }
        var expired: [OutboxItem] = []
        outbox.removeAll { item in
            guard item.deadline(requestTimeout: timeout) <= now else { return false }
            expired.append(item)
            return true
        }
        for item in expired {
            let error: SoftphoneError =
                item.sentAt != nil
                ? .timedOut : item.wasSent ? .connectionLost : .notConnected(lastFailure: lastFailure)
            fail(item, error, now: now, effects: &effects)
        }
    }

    /// Gives up on a command that has left the outbox without an answer.
    private mutating func fail(
        _ item: OutboxItem, _ error: SoftphoneError, now: Duration, effects: inout [SessionEffect]
    ) {
        if let ticket = item.ticket { effects.append(.complete(ticket, .failure(error))) }
        if case .answer(let call, _)? = item.request { answerFailed(call, effects: &effects) }
        guard case .invite(let invite)? = item.request else { return }
        end(invite.call, .connectionLost, isTold: false, isGuess: true, effects: &effects)
        if case .notConnected = error { return }
        // The server may have the call, and would let it ring with nobody at this end.
        enqueue(.hangup(invite.call, .hangup), ticket: nil, now: now, effects: &effects)
    }

    // MARK: Acknowledgements

    /// Notes that an event is handled; one acknowledgement stands for many.
    mutating func noteHandled(_ seq: UInt64, now: Duration, effects: inout [SessionEffect]) {
        lastSeq = seq
        if lastSeq - ackedSeq >= UInt64(configuration.ackEvery) {
            sendAck(effects: &effects)
        } else if ackDue == nil {
            ackDue = now + configuration.ackDelay
        }
    }

    mutating func sendAck(effects: inout [SessionEffect]) {
        ackDue = nil
        guard isOpen, lastSeq > ackedSeq else { return }
        ackedSeq = lastSeq
        effects.append(.send(.notification(.ack(seq: lastSeq))))
    }
}
