import CallVocabulary

/// How a connection comes up, goes down and comes back.
extension ClientSession {
    /// Whether a WebSocket stands or is being opened.
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

    /// nil while something is asked of the server already: its answer, or none, will tell.
    private var silenceDeadline: Duration? {
        guard configuration.probesSilence, let silenceLimit, outbox.isEmpty else { return nil }
        return lastHeard + silenceLimit
    }

    // MARK: Going online

    mutating func start(
        ticket: CommandTicket?, limit: Duration?, now: Duration, effects: inout [SessionEffect]
    ) {
        switch connection {
        case .open:
            // `open` is only reached with a session to resume.
            guard let ticket, let opened = resumable?.opened else { return }
            return effects.append(.complete(ticket, .success(.opened(opened))))
        case .closing:
            if let ticket { effects.append(.complete(ticket, .failure(.closed))) }
            return
        case .idle, .gone:
            backoff.reset()
            beginAttempt(now: now, effects: &effects)
        case .waiting:
            // Whoever asks now has a reason to think that it works now.
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
        guard case .authorizing = connection else { return }
        connection = .connecting(token: token, deadline: now + configuration.connectTimeout)
        effects.append(.connect(attempt: attempt))
    }

    mutating func tokenFailed(_ reason: String, now: Duration, effects: inout [SessionEffect]) {
        guard case .authorizing = connection else { return }
        // A push woke the app before it can reach its own account: the push's token does for this call.
        if let token = calls.last(where: { $0.wakeToken != nil })?.wakeToken {
            tokenFetched(token, now: now, effects: &effects)
        } else {
            lose(reason: "no token: \(reason)", now: now, effects: &effects)
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
            return goAway(.unsupportedProtocol(version: welcome.protocolVersion), effects: &effects)
        }
        serverClockOffset = welcome.time.milliseconds - now.wholeMilliseconds
        maxFrameBytes = welcome.maxFrameBytes
        silenceLimit = welcome.pingInterval > .zero ? welcome.pingInterval * 5 / 2 : nil
        let id = takeRequestID()
        connection = .opening(request: id, deadline: now + configuration.requestTimeout)
        let resume = resumable.map { ResumeRequest(session: $0.session, token: $0.token, lastSeq: lastSeq) }
        let open = SessionOpen(token: token, device: configuration.device, push: pushTokens, resume: resume)
        effects.append(.send(.request(.number(id), .open(open))))
    }

    mutating func opened(_ opened: SessionOpened, now: Duration, effects: inout [SessionEffect]) {
        connection = .open(since: now)
        var bare = opened
        bare.calls = []
        bare.missed = []
        resumable = Resumable(session: opened.session, token: opened.resumeToken, opened: bare)
        pushTokens = nil
        ackDue = nil
        if opened.resumed {
            // `last_seq` said it already.
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
        if !opened.resumed, appState == .background {
            command(.state(.background), ticket: nil, now: now, effects: &effects)
        }
        flush(now: now, effects: &effects)
    }

    /// The server would not open the session.
    mutating func openRefused(_ error: SignalError, now: Duration, effects: inout [SessionEffect]) {
        switch error.code {
        case .rateLimited(let wait), .overloaded(let wait):
            lose(reason: error.message, atLeast: wait, now: now, effects: &effects)
        case .draining, .internalError, .limitReached, .conflict:
            // `conflict`: a live session of this device, which may be the ghost of our own.
            lose(reason: error.message, now: now, effects: &effects)
        case .invalidParams where resumable != nil:
            // What this client remembers of its session is no good; without it there is nothing left to object to.
            resumable = nil
            lose(reason: error.message, now: now, effects: &effects)
        case .invalidParams, .parseError, .invalidRequest, .methodNotFound, .unauthenticated, .forbidden, .notFound,
            .callEnded, .alreadyAnswered, .badState, .tooLarge:
            effects.append(.disconnect)
            goAway(.refused(error), effects: &effects)
        }
    }

    // MARK: Going offline

    mutating func disconnected(
        code: UInt16?, reason: String, now: Duration, effects: inout [SessionEffect]
    ) {
        switch connection {
        case .closing(_, let ticket, _): finishClosing(ticket: ticket, hasSocket: false, effects: &effects)
        case .connecting, .welcoming, .opening, .open:
            if code == CloseCode.loggedOut.rawValue, let logout = takeLogout() {
                return finishLogout(ticket: logout.ticket, hasSocket: false, effects: &effects)
            }
            if let code, !Self.allowsReconnect(code) {
                goAway(.closed(code: code), effects: &effects)
            } else {
                lose(code: code, reason: reason, hasSocket: false, now: now, effects: &effects)
            }
        case .idle, .authorizing, .waiting, .gone: break
        }
    }

    /// The protocol's own codes say it themselves. Others come from what is in between (1001, 1006, 1011…) and pass;
    /// from 3500 on, known or not, the server means it.
    static func allowsReconnect(_ code: UInt16) -> Bool {
        CloseCode(rawValue: code)?.allowsReconnect ?? (code < 3500)
    }

    /// Gives the connection up, if there is one.
    mutating func drop(reason: String, now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .closing(_, let ticket, _): finishClosing(ticket: ticket, effects: &effects)
        case .connecting, .welcoming, .opening, .open: lose(reason: reason, now: now, effects: &effects)
        case .idle, .authorizing, .waiting, .gone: break
        }
    }

    /// The connection is lost, or could not be made: tries again after a while.
    mutating func lose(
        code: UInt16? = nil, reason: String, atLeast floor: Duration = .zero, hasSocket: Bool? = nil, now: Duration,
        effects: inout [SessionEffect]
    ) {
        if hasSocket ?? self.hasSocket { effects.append(.disconnect) }
        if case .open(let since) = connection, now - since >= configuration.stableTime { backoff.reset() }
        attempt += 1
        ackDue = nil
        lastFailure = reason
        let delay = floor + backoff.next(using: &random)
        connection = .waiting(until: now + delay)
        effects.append(.notify(.connection(.down(code: code, reason: reason, retryIn: delay))))
        commandsLost(now: now, effects: &effects)
    }

    mutating func stop(ticket: CommandTicket?, now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .open:
            sendAck(effects: &effects)
            let id = takeRequestID()
            connection = .closing(request: id, ticket: ticket, deadline: now + Self.closeTimeout)
            effects.append(.send(.request(.number(id), .close)))
        case .closing, .idle, .gone:
            if let ticket { effects.append(.complete(ticket, .success(.done))) }
        case .authorizing, .connecting, .welcoming, .opening, .waiting:
            finishClosing(ticket: ticket, effects: &effects)
        }
    }

    mutating func finishClosing(
        ticket: CommandTicket?, hasSocket: Bool? = nil, effects: inout [SessionEffect]
    ) {
        if hasSocket ?? self.hasSocket { effects.append(.disconnect) }
        becomeIdle(failure: .closed, effects: &effects)
        effects.append(.notify(.connection(.offline)))
        if let ticket { effects.append(.complete(ticket, .success(.done))) }
    }

    mutating func finishLogout(
        ticket: CommandTicket?, hasSocket: Bool? = nil, effects: inout [SessionEffect]
    ) {
        // The server has forgotten the device's tokens: the next session has to say them again.
        pushTokens = configuration.push
        finishClosing(ticket: ticket, hasSocket: hasSocket, effects: &effects)
    }

    mutating func goAway(_ reason: GoneReason, effects: inout [SessionEffect]) {
        becomeIdle(failure: .gone(reason), effects: &effects)
        connection = .gone(reason)
        effects.append(.notify(.connection(.gone(reason))))
    }

    /// Ends what runs: waiters and commands fail with `failure`, the calls cannot be reached any more.
    private mutating func becomeIdle(failure: SoftphoneError, effects: inout [SessionEffect]) {
        connection = .idle
        attempt += 1
        resumable = nil
        lastSeq = 0
        ackedSeq = 0
        ackDue = nil
        let tickets = waiters.map(\.ticket) + outbox.compactMap(\.ticket)
        waiters = []
        outbox = []
        for ticket in tickets { effects.append(.complete(ticket, .failure(failure))) }
        while let last = calls.last { end(last.call.id, .connectionLost, isGuess: true, effects: &effects) }
    }

    mutating func abandon(effects: inout [SessionEffect]) {
        if hasSocket { effects.append(.disconnect) }
        calls = []
        ended = []
        // Nothing is left to be told of, so that only the commands' outcomes come out of this.
        becomeIdle(failure: .closed, effects: &effects)
        pushTokens = configuration.push
    }

    // MARK: Time

    mutating func stateExpired(now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .waiting: beginAttempt(now: now, effects: &effects)
        case .closing(_, let ticket, _): finishClosing(ticket: ticket, effects: &effects)
        case .authorizing: lose(reason: "no token in time", now: now, effects: &effects)
        case .connecting: lose(reason: "no connection in time", now: now, effects: &effects)
        case .welcoming: lose(reason: "no welcome in time", now: now, effects: &effects)
        case .opening: lose(reason: "no answer to session.open in time", now: now, effects: &effects)
        case .open: command(.state(appState), ticket: nil, now: now, effects: &effects)
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

    /// Connects now where nothing or only the backoff keeps the phone offline.
    mutating func wake(now: Duration, effects: inout [SessionEffect]) {
        switch connection {
        case .idle, .gone, .waiting: beginAttempt(now: now, effects: &effects)
        case .authorizing, .connecting, .welcoming, .opening, .open, .closing: break
        }
    }
}
