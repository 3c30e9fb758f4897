import CallVocabulary

/// Commands from the app to the server, and their outcomes.
extension ClientSession {
    // MARK: Commands

    mutating func command(
        _ request: ClientRequest, ticket: CommandTicket?, now: Duration, effects: inout [SessionEffect]
    ) {
        let failure: SoftphoneError? =
            switch connection {
            case .gone(let reason): .gone(reason)
            case .closing: .closed
            case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting:
                leaving != nil
                    ? .closed : outbox.count < Self.outboxLimit ? nil : .queueFull(limit: Self.outboxLimit)
            }
        if let failure {
            if let ticket { effects.append(.complete(ticket, .failure(failure))) }
            return
        }
        guard prepare(request, ticket: ticket, effects: &effects) else { return }
        enqueue(request, ticket: ticket, now: now, effects: &effects)
    }

    /// Sends `request` now, or once a session is open.
    mutating func enqueue(
        _ request: ClientRequest, ticket: CommandTicket?, now: Duration, effects: inout [SessionEffect]
    ) {
        let wait = request.persistence == .kept ? configuration.keepTime : configuration.requestTimeout
        outbox.append(OutboxItem(id: takeRequestID(), request: request, ticket: ticket, waitsUntil: now + wait))
        sendIfServed(at: outbox.count - 1, now: now, effects: &effects)
    }

    mutating func takeRequestID() -> Int64 {
        defer { nextRequest += 1 }
        return nextRequest
    }

    /// Applies a command's effect on this phone before it is sent.
    /// - Returns: false when the command is settled already.
    private mutating func prepare(
        _ request: ClientRequest, ticket: CommandTicket?, effects: inout [SessionEffect]
    ) -> Bool {
        switch request {
        case .open, .session(.close):
            preconditionFailure("the session opens and closes itself: use started and stopped")
        case .owner(.invite(let invite)): noteInvite(invite)
        case .call(.answer(let call, _)):
            if settleIfEnded(call, request, ticket: ticket, effects: &effects) { return false }
            noteAnswer(call)
        case .call(.hangup(let call, _)):
            if settleIfEnded(call, request, ticket: ticket, effects: &effects) { return false }
            if withdrawInvite(call, ticket: ticket, effects: &effects) { return false }
        case .call(.decline(let call, _)), .call(.ringing(let call)), .call(.connected(let call)):
            if settleIfEnded(call, request, ticket: ticket, effects: &effects) { return false }
        case .call(.update(let update)):
            if settleIfEnded(update.call, request, ticket: ticket, effects: &effects) { return false }
        case .session(.state(let state)): appState = state
        case .owner(.updateDevice(let push)): latestTokens = push
        case .call(.report):
            // A push handed over twice is reported once.
            return ticket != nil || !outbox.contains { $0.request == request }
        case .owner(.logout), .call(.get), .owner(.list), .owner(.clearMissed): break
        }
        return true
    }

    /// Withdraws the unsent invite of a call that was hung up.
    /// - Returns: whether that settles the hangup too.
    private mutating func withdrawInvite(
        _ call: CallID, ticket: CommandTicket?, effects: inout [SessionEffect]
    ) -> Bool {
        let waiting = outbox.firstIndex { item in
            guard case .owner(.invite(let invite)) = item.request else { return false }
            return invite.call == call && item.sentAt == nil
        }
        guard let waiting else { return false }
        if outbox[waiting].wasSent {
            // The server may have the invite, so the hangup is sent; repeating the invite would only make a phone ring.
            let invite = outbox.remove(at: waiting)
            if let ticket = invite.ticket {
                effects.append(.complete(ticket, .failure(.callEnded(.cancelled))))
            }
            return false
        }
        end(call, .cancelled, isOwnAct: true, effects: &effects)
        if let ticket { effects.append(.complete(ticket, .success(.callState(.ended, .cancelled)))) }
        return true
    }

    // MARK: Sending

    /// Sends waiting commands, in order.
    mutating func flush(now: Duration, effects: inout [SessionEffect]) {
        for index in outbox.indices where outbox[index].sentAt == nil {
            sendIfServed(at: index, now: now, effects: &effects)
        }
    }

    /// Sends a command unless it must wait: for a session that accepts it, for the server's retry delay, or for an
    /// earlier command on the same call.
    private mutating func sendIfServed(at index: Int, now: Duration, effects: inout [SessionEffect]) {
        let item = outbox[index]
        guard isServed(item.request) else { return }
        if let call = item.request.call {
            let isBehind = outbox[..<index].contains {
                $0.request.call == call && $0.heldUntil.map { now < $0 } ?? false
            }
            if isBehind { return }
        }
        if let heldUntil = item.heldUntil, now < heldUntil { return }
        outbox[index].heldUntil = nil
        outbox[index].sentAt = now
        effects.append(.send(.request(.number(item.id), item.request)))
    }

    /// Sends commands again whose retry delay has passed.
    mutating func releaseHeld(now: Duration, effects: inout [SessionEffect]) {
        guard outbox.contains(where: { $0.heldUntil.map { $0 <= now } ?? false }) else { return }
        flush(now: now, effects: &effects)
    }

    // MARK: Outcomes

    /// Removes the request `id` from the outbox.
    private mutating func takeSent(_ id: RequestID) -> OutboxItem? {
        indexOfSent(id).map { outbox.remove(at: $0) }
    }

    private mutating func indexOfSent(_ id: RequestID) -> Int? {
        guard case .number(let number) = id,
            let found = outbox.firstIndex(where: { $0.id == number && $0.sentAt != nil })
        else { return nil }
        lastAnswered = max(lastAnswered, number)
        return found
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
            return finishClosing(ticket: ticket, now: now, effects: &effects)
        case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting, .closing, .gone: break
        }
        guard let item = takeSent(id) else { return }
        if case .owner(.logout) = item.request { return finishLogout(ticket: item.ticket, now: now, effects: &effects) }
        apply(reply, to: item.request, effects: &effects)
        if let ticket = item.ticket { effects.append(.complete(ticket, .success(reply))) }
    }

    mutating func refused(_ id: RequestID?, _ error: SignalError, now: Duration, effects: inout [SessionEffect]) {
        guard let id else {
            // Without a call id the server could not read the message; the command's timeout handles it.
            if let call = error.call { candidatesRefused(call, error, now: now) }
            return
        }
        switch connection {
        case .opening(let request, _) where id == .number(request):
            return openRefused(error, now: now, effects: &effects)
        case .closing(let request, let ticket, _) where id == .number(request):
            return finishClosing(ticket: ticket, now: now, effects: &effects)
        case .idle, .authorizing, .connecting, .welcoming, .opening, .open, .waiting, .closing, .gone: break
        }
        guard let index = indexOfSent(id) else { return }
        if let wait = error.retryDelay, outbox[index].isRepeatedWhenRefused {
            return hold(index, for: wait, now: now)
        }
        let item = outbox.remove(at: index)
        let result = outcome(of: error, for: item.request, effects: &effects)
        if let ticket = item.ticket { effects.append(.complete(ticket, result)) }
    }

    /// Keeps a command that an overloaded server refused, and retries it after the delay: dropped, it would leave a
    /// phone ringing or a push unreported.
    private mutating func hold(_ index: Int, for wait: Duration, now: Duration) {
        let spread = Duration.milliseconds(
            Int64.random(in: 1...configuration.backoffBase.wholeMilliseconds, using: &random))
        outbox[index].sentAt = nil
        outbox[index].heldUntil = now + wait + spread
    }

    // MARK: Lost connections and timeouts

    /// Handles commands in flight when the connection is lost.
    mutating func commandsLost(now: Duration, effects: inout [SessionEffect]) {
        candidatesLost()
        lastAnswered = 0
        var failed: [OutboxItem] = []
        outbox.removeAll { item in
            guard item.sentAt != nil, item.request.persistence == .once else { return false }
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
        // A request has timed out on a connection that was silent since: the connection is dead. Repeatable commands
        // are repeated on a new one instead of failing.
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

    /// Fails a command that was removed from the outbox without a reply.
    private mutating func fail(
        _ item: OutboxItem, _ error: SoftphoneError, now: Duration, effects: inout [SessionEffect]
    ) {
        if let ticket = item.ticket { effects.append(.complete(ticket, .failure(error))) }
        switch item.request {
        case .call(.answer(let call, _)):
            answerFailed(call, effects: &effects)
        case .call(.get(let call)): settleUnlisted(call, effects: &effects)
        case .call(.hangup(let call, _)), .call(.decline(let call, _)):
            // The user is finished with the call, even if the server does not know.
            guard let index = index(of: call) else { return }
            let reason = Self.reason(of: item.request, on: calls[index].call)
            end(call, reason, isOwnAct: true, certainty: .refused, effects: &effects)
        case .owner(.invite(let invite)):
            guard isUnconfirmed(invite.call) else { return }
            end(invite.call, .connectionLost, isTold: false, certainty: .guessed, effects: &effects)
            if case .notConnected = error { return }
            // The server may have the call, and would let it ring without a caller.
            enqueue(.hangup(invite.call, .hangup), ticket: nil, now: now, effects: &effects)
        case .open, .session, .call, .owner: break
        }
    }

    // MARK: Acknowledgements

    /// Notes that an event is handled; one acknowledgement covers many.
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

extension SignalError {
    /// The delay before a retry; nil when a retry would not help.
    var retryDelay: Duration? {
        switch code {
        case .rateLimited(let wait), .overloaded(let wait): min(wait, ClientSession.longestRetryDelay)
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .unauthenticated,
            .forbidden,
            .notFound, .callEnded, .alreadyAnswered, .badState, .tooLarge, .conflict, .limitReached, .draining:
            nil
        }
    }
}
