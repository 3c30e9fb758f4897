import CallVocabulary

/// Connects, disconnects and reconnects.
extension ClientSession {
    /// Whether a WebSocket is open or being opened.
    var hasSocket: Bool {
        switch connection {
        case .connecting, .welcoming, .opening, .open, .closing: true
        case .idle, .authorizing, .waiting, .gone: false
        }
    }

    var stateDeadline: Duration? {
        switch connection {
        case .idle, .gone: nil
        case .authorizing(let deadline), .connecting(_, let deadline), .welcoming(_, let deadline),
            .opening(_, let deadline), .closing(_, _, let deadline):
            deadline
        case .open: silenceDeadline
        case .waiting(let until): until
        }
    }

    /// When to probe a silent server; nil while a request is in flight, whose reply or timeout serves as the probe.
    private var silenceDeadline: Duration? {
        let isAsked = outbox.contains { $0.sentAt != nil }
        guard configuration.probesSilence, let silenceLimit, !isAsked else { return nil }
        return lastHeard + silenceLimit
    }

    // MARK: Going online

    mutating func start(
        ticket: CommandTicket?, limit: Duration?, now: Duration, effects: inout [SessionEffect]
    ) {
        comeBack(effects: &effects)
        switch connection {
        case .open:
            // `open` is only reached with a resumable session.
            guard let ticket, let opened = resumable?.opened else { return }
            return effects.append(.complete(ticket, .success(.opened(opened))))
        case .closing(_, let closing, _):
            finishClosing(ticket: closing, now: now, effects: &effects)
            backoff.reset()
            beginAttempt(now: now, effects: &effects)
        case .idle, .gone:
            backoff.reset()
            beginAttempt(now: now, effects: &effects)
        case .waiting:
            // An explicit start skips the backoff: the caller has a reason to try now.
            beginAttempt(now: now, effects: &effects)
        case .authorizing, .connecting, .welcoming, .opening: break
        }
        if let ticket { waiters.append(Waiter(ticket: ticket, deadline: limit.map { now + $0 })) }
    }

    private mutating func beginAttempt(now: Duration, effects: inout [SessionEffect]) {
        attempt += 1
        connection = .authorizing(deadline: now + configuration.connectTimeout)
        effects.append(.fetchToken(attempt: attempt))
    }

    mutating func tokenFetched(_ token: String, now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .authorizing: connect(token, .full, now: now, effects: &effects)
        case .open where grant != .full: upgrade(token, now: now, effects: &effects)
        case .idle, .connecting, .welcoming, .opening, .open, .waiting, .closing, .gone: break
        }
    }

    private mutating func connect(
        _ token: String, _ grant: Grant, now: Duration, effects: inout [SessionEffect]
    ) {
        self.grant = grant
        connection = .connecting(token: token, deadline: now + configuration.connectTimeout)
        effects.append(.connect(attempt: attempt))
    }

    mutating func tokenFailed(_ reason: String, now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .authorizing:
            // A push woke the app before it can fetch a user token: the push's wake token serves for this call.
            if let wake = wakeGrant {
                connect(wake.token, .call(wake.call), now: now, effects: &effects)
            } else {
                lose(reason: reason, now: now, effects: &effects)
            }
        case .open where grant != .full: planUpgrade(now: now)
        case .idle, .connecting, .welcoming, .opening, .open, .waiting, .closing, .gone: break
        }
    }

    mutating func connected(now: Duration) {
        guard case .connecting(let token, let deadline) = connection else { return }
        lastHeard = now
        connection = .welcoming(token: token, deadline: deadline)
    }

    mutating func welcomed(_ welcome: Welcome, now: Duration, effects: inout [SessionEffect]) {
        guard case .welcoming(let token, _) = connection else { return }
        guard welcome.protocolVersion == Self.protocolVersion else {
            effects.append(.disconnect)
            return goAway(.unsupportedProtocol(version: welcome.protocolVersion), now: now, effects: &effects)
        }
        serverClockOffset = (welcome.time + .milliseconds(-now.wholeMilliseconds)).milliseconds
        maxFrameBytes = welcome.maxFrameBytes
        silenceLimit = welcome.pingInterval > .zero ? welcome.pingInterval * 5 / 2 : nil
        let id = takeRequestID()
        connection = .opening(request: id, deadline: now + configuration.requestTimeout)
        let resume = resumable.map { ResumeRequest(session: $0.session, token: $0.token, lastSeq: lastSeq) }
        let push = grant == .full ? pushTokens : nil
        let open = SessionOpen(token: token, device: configuration.device, push: push, resume: resume)
        effects.append(.send(.request(.number(id), .open(open))))
    }

    mutating func opened(_ opened: SessionOpened, now: Duration, effects: inout [SessionEffect]) {
        connection = .open(since: now)
        var bare = opened
        bare.calls = []
        bare.missed = []
        resumable = Resumable(session: opened.session, token: opened.resumeToken, opened: bare)
        offlineSince = nil
        if grant == .full {
            pushTokens = nil
            tokenBackoff.reset()
        }
        planUpgrade(now: now)
        ackDue = nil
        if opened.resumed {
            // The resume request has acknowledged up to `last_seq`.
            ackedSeq = lastSeq
            effects.append(.notify(.connection(.resumed(opened))))
            for call in opened.calls {
                hangUpIfGivenUp(call.call, call.state, by: call.by, now: now, effects: &effects)
            }
        } else {
            lastSeq = 0
            ackedSeq = 0
            effects.append(.notify(.connection(.up(opened))))
            reconcile(with: opened.calls, now: now, effects: &effects)
        }
        for waiter in waiters { effects.append(.complete(waiter.ticket, .success(.opened(opened)))) }
        waiters = []
        let saysState = outbox.contains { if case .session(.state) = $0.request { true } else { false } }
        if !opened.resumed, appState == .background, !saysState {
            enqueue(.state(.background), ticket: nil, now: now, effects: &effects)
        }
        flush(now: now, effects: &effects)
        repeatCandidates(isFresh: !opened.resumed, effects: &effects)
        if let leaving {
            self.leaving = nil
            close(ticket: leaving.ticket, now: now, effects: &effects)
        }
    }

    /// Handles a refused `session.open`.
    mutating func openRefused(_ error: SignalError, now: Duration, effects: inout [SessionEffect]) {
        switch error.code {
        case .rateLimited(let wait), .overloaded(let wait):
            lose(reason: error.message, atLeast: min(wait, Self.longestRetryDelay), now: now, effects: &effects)
        case .draining, .internalError, .limitReached, .conflict:
            // `conflict`: another live session of this device, which may be our own on a dead socket.
            lose(reason: error.message, now: now, effects: &effects)
        case .invalidParams where resumable != nil:
            // The resume data is invalid; without it the server has nothing left to refuse.
            resumable = nil
            lose(reason: error.message, now: now, effects: &effects)
        case .unauthenticated, .forbidden, .notFound:
            if case .call(let call) = grant {
                return wakeTokenRefused(call, reason: error.message, now: now, effects: &effects)
            }
            effects.append(.disconnect)
            goAway(.refused(error), now: now, effects: &effects)
        case .invalidParams, .parseError, .invalidRequest, .methodNotFound, .callEnded, .alreadyAnswered, .badState,
            .tooLarge:
            effects.append(.disconnect)
            goAway(.refused(error), now: now, effects: &effects)
        }
    }

    // MARK: Going offline

    mutating func disconnected(
        code: UInt16?, reason: String, now: Duration, effects: inout [SessionEffect]
    ) {
        switch connection {
        case .closing(_, let ticket, _): finishClosing(ticket: ticket, hasSocket: false, now: now, effects: &effects)
        case .connecting, .welcoming, .opening, .open:
            let isLoggedOut = code == CloseCode.loggedOut.rawValue
            if isLoggedOut, let logout = takeLogout() {
                return finishLogout(ticket: logout.ticket, hasSocket: false, now: now, effects: &effects)
            }
            if let code, !Self.allowsReconnect(code) {
                if code == CloseCode.badToken.rawValue, case .call(let call) = grant {
                    return wakeTokenRefused(call, reason: reason, hasSocket: false, now: now, effects: &effects)
                }
                goAway(.closed(code: code), now: now, effects: &effects)
                if isLoggedOut { pushTokens = latestTokens }
            } else {
                lose(code: code, reason: reason, hasSocket: false, now: now, effects: &effects)
            }
        case .idle, .authorizing, .waiting, .gone: break
        }
    }

    /// Whether to reconnect after the close code. The protocol's own codes define it. Codes of intermediaries (1001,
    /// 1006, 1011…) are transient; codes from 3500 on, known or not, are final.
    static func allowsReconnect(_ code: UInt16) -> Bool {
        CloseCode(rawValue: code)?.allowsReconnect ?? (code < 3500)
    }

    /// Drops the connection, if there is one.
    mutating func drop(reason: String, now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .closing(_, let ticket, _): finishClosing(ticket: ticket, now: now, effects: &effects)
        case .connecting, .welcoming, .opening, .open: lose(reason: reason, now: now, effects: &effects)
        case .idle, .authorizing, .waiting, .gone: break
        }
    }

    /// Handles a connection that was lost or failed: retries after a backoff.
    mutating func lose(
        code: UInt16? = nil, reason: String, atLeast floor: Duration = .zero, hasSocket: Bool? = nil, now: Duration,
        effects: inout [SessionEffect]
    ) {
        if let leaving {
            return finishClosing(ticket: leaving.ticket, hasSocket: hasSocket, now: now, effects: &effects)
        }
        if hasSocket ?? self.hasSocket { effects.append(.disconnect) }
        if case .open(let since) = connection {
            if now - since >= configuration.stableTime { backoff.reset() }
            offlineSince = now
        }
        attempt += 1
        ackDue = nil
        upgradeDue = nil
        lastFailure = reason
        let delay = floor + backoff.next(using: &random)
        connection = .waiting(until: now + delay)
        effects.append(.notify(.connection(.down(code: code, reason: reason, retryIn: delay))))
        commandsLost(now: now, effects: &effects)
    }

    mutating func stop(ticket: CommandTicket?, now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .open: close(ticket: ticket, now: now, effects: &effects)
        case .closing, .idle, .gone:
            if let ticket { effects.append(.complete(ticket, .success(.done))) }
        case .authorizing, .connecting, .welcoming, .opening:
            if leaving != nil {
                if let ticket { effects.append(.complete(ticket, .success(.done))) }
            } else if outbox.contains(where: \.isUnsaid) {
                // An unreported push would count against the device: its report is sent before going offline.
                leaving = Leaving(ticket: ticket, deadline: now + Self.closeTimeout)
            } else {
                finishClosing(ticket: ticket, now: now, effects: &effects)
            }
        case .waiting: finishClosing(ticket: ticket, now: now, effects: &effects)
        }
    }

    private mutating func close(ticket: CommandTicket?, now: Duration, effects: inout [SessionEffect]) {
        sendAck(effects: &effects)
        let id = takeRequestID()
        connection = .closing(request: id, ticket: ticket, deadline: now + Self.closeTimeout)
        effects.append(.send(.request(.number(id), .close)))
    }

    /// Cancels a pending stop.
    private mutating func comeBack(effects: inout [SessionEffect]) {
        if let ticket = leaving?.ticket { effects.append(.complete(ticket, .success(.done))) }
        leaving = nil
    }

    mutating func finishClosing(
        ticket: CommandTicket?, hasSocket: Bool? = nil, now: Duration, effects: inout [SessionEffect]
    ) {
        if hasSocket ?? self.hasSocket { effects.append(.disconnect) }
        leaving = nil
        becomeIdle(failure: .closed, now: now, effects: &effects)
        effects.append(.notify(.connection(.offline)))
        if let ticket { effects.append(.complete(ticket, .success(.done))) }
    }

    mutating func finishLogout(
        ticket: CommandTicket?, hasSocket: Bool? = nil, now: Duration, effects: inout [SessionEffect]
    ) {
        // The server has dropped the device's tokens: the next session registers them again.
        pushTokens = latestTokens
        finishClosing(ticket: ticket, hasSocket: hasSocket, now: now, effects: &effects)
    }

    mutating func goAway(_ reason: GoneReason, now: Duration, effects: inout [SessionEffect]) {
        comeBack(effects: &effects)
        becomeIdle(failure: .gone(reason), now: now, effects: &effects)
        connection = .gone(reason)
        effects.append(.notify(.connection(.gone(reason))))
    }

    /// Stops all activity: waiters and commands fail with `failure`, and calls are unreachable.
    private mutating func becomeIdle(failure: SoftphoneError, now: Duration, effects: inout [SessionEffect]) {
        connection = .idle
        attempt += 1
        resumable = nil
        upgradeDue = nil
        offlineSince = nil
        lastAnswered = 0
        lastSeq = 0
        ackedSeq = 0
        ackDue = nil
        let tickets = waiters.map(\.ticket) + outbox.compactMap(\.ticket)
        waiters = []
        outbox = []
        for ticket in tickets { effects.append(.complete(ticket, .failure(failure))) }
        while let last = calls.last { end(last.call.id, .connectionLost, certainty: .guessed, effects: &effects) }
    }

    mutating func abandon(now: Duration, effects: inout [SessionEffect]) {
        if hasSocket { effects.append(.disconnect) }
        if case .closing(_, let ticket?, _) = connection { effects.append(.complete(ticket, .success(.done))) }
        comeBack(effects: &effects)
        calls = []
        ended = []
        lateWake = nil
        // No event is reported, only the outcomes of commands.
        becomeIdle(failure: .closed, now: now, effects: &effects)
        pushTokens = latestTokens
        appState = .foreground
    }

    // MARK: Time

    mutating func stateExpired(now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .waiting: beginAttempt(now: now, effects: &effects)
        case .closing(_, let ticket, _): finishClosing(ticket: ticket, now: now, effects: &effects)
        case .authorizing: tokenFailed("no token in time", now: now, effects: &effects)
        case .connecting: lose(reason: "no connection in time", now: now, effects: &effects)
        case .welcoming: lose(reason: "no welcome in time", now: now, effects: &effects)
        case .opening: lose(reason: "no answer to session.open in time", now: now, effects: &effects)
        case .open: enqueue(.state(appState), ticket: nil, now: now, effects: &effects)
        case .idle, .gone: break
        }
    }

    mutating func expireWaiters(now: Duration, effects: inout [SessionEffect]) {
        guard waiters.contains(where: { $0.deadline.map { $0 <= now } ?? false }) else { return }
        for waiter in waiters where waiter.deadline.map({ $0 <= now }) ?? false {
            effects.append(.complete(waiter.ticket, .failure(.notConnected(lastFailure: lastFailure))))
        }
        waiters.removeAll { $0.deadline.map { $0 <= now } ?? false }
    }

    /// Reconnects now if only the backoff or a pending stop keeps the phone offline.
    mutating func wake(now: Duration, effects: inout [SessionEffect]) {
        comeBack(effects: &effects)
        switch connection {
        case .idle, .gone, .waiting: beginAttempt(now: now, effects: &effects)
        case .closing(_, let ticket, _):
            finishClosing(ticket: ticket, now: now, effects: &effects)
            beginAttempt(now: now, effects: &effects)
        case .authorizing, .connecting, .welcoming, .opening, .open: break
        }
    }

    /// Shortens the wait for the app's own token when a wake token can be used instead.
    mutating func hurry(now: Duration) {
        guard case .authorizing(let deadline) = connection else { return }
        connection = .authorizing(deadline: min(deadline, now + Self.wakePatience))
    }
}
