import CallCore
import CallVocabulary
import ClientTokens
import DequeModule
import EventLoop
import LibWebSockets
import Logging
import PushClient
import SignalProtocol
import WebSocketServer

/// One shard's side of the wire protocol: decodes and encodes frames, checks tokens, applies rate limits. No call
/// logic.
///
/// Confined to the shard's loop.
final class SignalShard: ShardHandler {
    /// What the shard shares with other parts of the server.
    struct Environment: Sendable {
        let shard: Int
        let loop: EventLoop
        let core: Mailbox<CoreInput>
        /// The age of the oldest commit that is not durable yet; nil when all are durable.
        let commitWait: @Sendable () -> Duration?
        let tokens: TokenAuthority
        let turn: TurnCredentials
        let routes: HTTPRoutes
        /// See ``SignInByName``; nil when it is off.
        let signInSecret: String?
        let backends: BackendServices
        let clock: ServerClock
        let welcome: Welcome
        /// The initial limits.
        let limits: ConnectionLimits
        let counters: SignalCounters
        let rates: RateLimiters
        let sessions: SessionRecords
        /// Knows the payload profiles that a push token can ask for, and the Web Push services that may be pushed to.
        let push: PushService
        let log: Logger

        /// Counts one more for the key.
        /// - Returns: nil when the limit allows it; otherwise the time for the client to wait.
        func wait(_ limit: RateLimit, _ key: RateLimiter.Key) -> Duration? {
            rates[limit].take(key, now: Int64(loop.milliseconds)).map { rates[limit].spread($0) }
        }

        /// As ``wait(_:_:)``, for all networks of an address.
        func wait(_ limit: RateLimit, networks network: PeerAddress, apart isApart: Bool) -> Duration? {
            rates[limit].take(networks: network, apart: isApart, now: Int64(loop.milliseconds))
                .map { rates[limit].spread($0) }
        }
    }

    /// A weak reference for other threads: the shard, with its timer, must be released on its own loop.
    private struct WeakShard {
        weak var shard: SignalShard?
    }

    /// Inputs gathered before they are passed to the core; fewer when the loop is about to wait.
    private static let mostGathered = 64
    /// Frames for one connection are sent together up to this many bytes, the capacity of one TLS record.
    private static let longestWrite = 16 * 1024

    private let environment: Environment
    private let admission: CallAdmission
    private let tokens: TokenChecker
    private let resources: ShardResources
    private let trace: SessionTrace
    private var limits: ConnectionLimits
    private var connections: [UInt64: WebSocketConnection] = [:]
    /// Connections without a session, ordered by their deadline to open one.
    private var unopened: Deque<(deadline: Instant, serial: UInt64)> = []
    private var unopenedTimer: LoopTimer?
    /// One buffer for all frames that this shard writes.
    private var frames = FrameBatch()
    /// Buffers for payloads relayed to other phones.
    private let payloads = PayloadMemory()
    private var delivery = Delivery<WebSocketConnection>()
    /// Clients' inputs for the core, which gets them in batches.
    private var gathered: [CoreInput] = []

    init(environment: Environment) {
        self.environment = environment
        limits = environment.limits
        tokens = TokenChecker(
            environment.tokens, loop: environment.loop, failures: environment.rates[.failedTokensPerAddress])
        trace = SessionTrace(
            shard: environment.shard, records: environment.sessions, clock: environment.clock, log: environment.log)
        admission = CallAdmission(
            clock: environment.clock, counters: environment.counters, log: environment.log,
            loads: { [loop = environment.loop, core = environment.core.loop] in (loop.load, core.load) },
            commitWait: environment.commitWait)
        resources = ShardResources(environment, tokens: tokens, trace: trace, admission: admission)
        unopenedTimer = LoopTimer(loop: environment.loop) { [weak self] in self?.unopenedAreDue() }
    }

    // MARK: From the clients

    func connectionOpened(_ connection: WebSocketConnection) {
        connections[connection.serial] = connection
        connection.state = ConnectionState(now: environment.clock.now())
        connection.maxFrameBytes = FrameLimits.opening
        var welcome = environment.welcome
        welcome.time = environment.clock.time()
        send(.welcome(welcome), on: connection)
        expectSession(on: connection.serial, by: environment.clock.now() + limits.openWithin)
        if unopened.first?.serial == connection.serial { unopenedTimer?.start(after: limits.openWithin) }
    }

    /// Inserts by deadline: at the end, unless a reload has lowered `openWithin`.
    private func expectSession(on serial: UInt64, by deadline: Instant) {
        let place = (unopened.lastIndex { $0.deadline <= deadline } ?? -1) + 1
        unopened.insert((deadline, serial), at: place)
    }

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        guard let state = connection.state as? ConnectionState else { return }
        let verdict = admit(connection, state)
        if verdict == .abuse { return }
        switch SignalDecoder.decode(frame: text, in: payloads) {
        case .failure(let failure):
            guard case .refused(let wait) = verdict else {
                // Most often a session.open. The others of a client without a session say the same: it does not get in.
                if !state.isOpen, state.asked == nil { trace.refused(.invalid, failure.error.message, on: connection) }
                return send(failure.answer, on: connection)
            }
            // A client over its limit is told when to retry, not what was wrong with the frame.
            guard let request = failure.id else { return environment.counters.countDrop(.rateLimited) }
            refuseForNow(request, wait, on: connection)
        case .success(.notification(let notification)):
            take(notification, verdict, connection, state)
        case .success(.answeredNotification(let request, let notification)):
            if case .refused(let wait) = verdict { return refuseForNow(request, wait, on: connection) }
            guard state.isOpen else { return refuseUnopened(request, on: connection) }
            gather(.client(.notified(id(connection), request, notification)))
        case .success(.request(let request, let command)):
            guard case .refused(let wait) = verdict else { return take(command, request, connection, state) }
            if case .open(let open) = command {
                trace.refused(.rateLimited, "Too many messages.", on: connection, device: open.device.id)
            }
            refuseForNow(request, wait, on: connection)
        }
    }

    func takesControlFrame(on connection: WebSocketConnection) -> Bool {
        guard let state = connection.state as? ConnectionState else { return false }
        return admit(connection, state) == .admitted
    }

    /// Counts a frame before it is decoded, and closes the connection of a client that ignores the limits.
    private func admit(_ connection: WebSocketConnection, _ state: ConnectionState) -> ConnectionState.Verdict {
        let verdict = state.admit(now: environment.clock.now(), limits: limits)
        switch verdict {
        case .admitted:
            if let user = state.user, let wait = environment.wait(.messagesPerUser, user) {
                return .refused(retryAfter: wait)
            }
        case .refused: break
        case .abuse:
            trace.abused(connection, state)
            close(connection, .abuse)
        }
        return verdict
    }

    private func take(
        _ notification: ClientNotification, _ verdict: ConnectionState.Verdict, _ connection: WebSocketConnection,
        _ state: ConnectionState
    ) {
        if verdict != .admitted {
            environment.counters.countDrop(.rateLimited)
        } else if !state.isOpen {
            environment.counters.countDrop(.unauthenticated)
        } else {
            gather(.client(.notified(id(connection), nil, notification)))
        }
    }

    private func take(
        _ command: ClientRequest, _ request: RequestID, _ connection: WebSocketConnection, _ state: ConnectionState
    ) {
        switch command {
        case .open(let open):
            switch state.phase {
            case .checking, .opening:
                refuseAgain(request, "A session.open is being worked on already.", on: connection, state)
            case .open: refuseAgain(request, "This connection has a session already.", on: connection, state)
            case .unopened, .refused:
                state.check(at: environment.clock.now())
                connection.maxFrameBytes = FrameLimits.opening
                check(open, request, connection)
            }
        case .session, .call, .owner:
            guard state.isOpen else { return refuseUnopened(request, on: connection) }
            if case .owner(.updateDevice(let push)) = command, let fault = fault(in: push, isUpdate: true) {
                return refuse(request, .invalidParams, fault, on: connection)
            }
            if case .owner(.invite) = command, let refusal = refusal(ofCallOn: connection, state) {
                return send(.error(request, refusal), on: connection)
            }
            gather(.client(.requested(id(connection), request, command)))
        }
    }

    private func refusal(ofCallOn connection: WebSocketConnection, _ state: ConnectionState) -> SignalError? {
        if let user = state.user, let wait = environment.wait(.invitesPerUser, user) {
            return SignalError(
                .rateLimited(retryAfter: wait),
                "You place too many calls; call again in \(wait.wholeMilliseconds) ms.")
        }
        return admission.refusal(for: connection.serial, of: state.holder?.grant.user)
    }

    /// What is wrong with the first token that this server cannot push to, or not as the token asks.
    /// - Parameter isUpdate: the device asks for its tokens alone. A session opens in spite of a subscription that is of
    ///   no use any more, so that the page can make another one.
    private func fault(in tokens: [PushToken]?, isUpdate: Bool = false) -> String? {
        guard let tokens, tokens.contains(where: { $0.profile != nil || $0.provider == .webpush }) else { return nil }
        let names = environment.push.profileNames
        for (index, token) in tokens.enumerated() {
            if let profile = token.profile, !names.contains(profile) {
                return "push[\(index)].profile: expected one of \(names.joined(separator: ", "))."
            }
            if let fault = environment.push.fault(of: token, isUpdate: isUpdate) { return "push[\(index)].\(fault)." }
        }
        return nil
    }

    func batchEnded() {
        passOn()
        trace.flush()
    }

    func handshakeRefused(_ refusal: HandshakeRefusal) { trace.refused(refusal) }

    func requestRefused(status: Int) { trace.refusedByHead(status) }

    func connectionClosed(_ connection: WebSocketConnection) {
        // Its inputs precede its end.
        passOn()
        connections[connection.serial] = nil
        let state = connection.state as? ConnectionState
        if let state { trace.closed(connection, state) }
        connection.state = nil
        // Posted unconditionally, however busy the core is: there is at most one for each connection.
        if state?.isKnownToCore == true { environment.core.postAlways(.connectionLost(id(connection))) }
    }

    func rateRefusal(of request: HTTPRequest) -> HTTPResponse? { resources.rateRefusal(of: request) }

    func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder) { resources.began(request, responder) }

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) { resources.answer(request, responder) }

    // MARK: Tokens

    /// Checks the token, once per session; until then other requests of the connection are refused.
    private func check(_ open: SessionOpen, _ request: RequestID, _ connection: WebSocketConnection) {
        let serial = connection.serial
        tokens.check(open.token, from: connection.network) { [weak self] in
            self?.checked($0, open, request, serial)
        }
    }

    private func checked(
        _ result: TokenChecker.Result, _ open: SessionOpen, _ request: RequestID, _ serial: UInt64
    ) {
        guard let connection = connections[serial], let state = connection.state as? ConnectionState else { return }
        switch result {
        case .failure(.tooMany(let wait)):
            state.putOffCheck()
            let error = SignalError.tooManyFailedTokens(wait)
            trace.refused(.rateLimited, error.message, on: connection, device: open.device.id)
            refuse(request, error.code, error.message, on: connection)
        case .failure(.unsettled(let wait)):
            state.putOffCheck()
            let error = SignalError.tokenKeyUnknown(wait)
            trace.refused(.overloaded, error.message, on: connection, device: open.device.id)
            refuse(request, error.code, error.message, on: connection)
        case .failure(.refused(let refusal)):
            trace.refused(.badToken, refusal.message, on: connection, device: open.device.id)
            refuse(request, .unauthenticated, refusal.message, on: connection)
            close(connection, .badToken)
        case .success(let verified):
            if let bound = verified.device, bound != open.device.id {
                let words = "The token is for another device: \(bound)."
                trace.refused(.badToken, words, on: connection, user: verified.grant.user, device: open.device.id)
                refuse(request, .unauthenticated, words, on: connection)
                return close(connection, .badToken)
            }
            if let fault = fault(in: open.push) {
                state.forgetCheck()
                trace.refused(.invalid, fault, on: connection, user: verified.grant.user, device: open.device.id)
                return refuse(request, .invalidParams, fault, on: connection)
            }
            let holder = ConnectionState.Holder(
                grant: verified.grant, device: open.device.id, signer: verified.key)
            state.handOver(holder)
            connection.maxFrameBytes = nil
            if let wait = environment.wait(.opensPerDevice, RateLimiter.Key(holder.key))
                ?? environment.wait(.opensPerUser, RateLimiter.Key(holder.grant.user))
            {
                state.putOff()
                let words = "Too many sessions are opened for \(holder.grant.user); wait \(wait.wholeMilliseconds) ms."
                trace.refused(.rateLimited, words, on: connection, user: holder.grant.user, device: holder.device)
                return refuse(request, .rateLimited(retryAfter: wait), words, on: connection)
            }
            // After the inputs of the same device on other connections.
            passOn()
            // From here on the core knows the connection, and must be told of its end.
            if !environment.core.post(.client(.opened(id(connection), request, open, verified.grant))) {
                state.putOff()
                trace.refused(
                    .overloaded, "The core is behind.", on: connection, user: verified.grant.user,
                    device: open.device.id)
                refuseBusy(request, on: connection)
            }
        }
    }

    /// Reads pending input first: after a stop of the process it may contain their `session.open`.
    private func unopenedAreDue() {
        let now = environment.clock.now()
        environment.loop.afterReading { [weak self] in self?.closeUnopened(at: now) }
    }

    private func closeUnopened(at now: Instant) {
        var due: [UInt64] = []
        while let first = unopened.first, first.deadline <= now { due.append(unopened.removeFirst().serial) }
        for serial in due {
            guard let connection = connections[serial], let state = connection.state as? ConnectionState,
                !state.isOpen
            else { continue }
            // A request that was read late still gets its full time for the answer.
            if let answerDue = state.answerDue(within: limits.openWithin, at: now) {
                expectSession(on: serial, by: answerDue)
                continue
            }
            // A client that asked in time may reconnect: the delay is the server's.
            let hasAsked = state.asked != nil || state.wasPutOff
            let code = hasAsked ? CloseCode.overloaded : .notOpened
            trace.refused(
                hasAsked ? .overloaded : .notOpened, code.explanation, on: connection,
                user: state.holder?.grant.user, device: state.holder?.device)
            close(connection, code)
        }
        if let next = unopened.first {
            unopenedTimer?.start(after: max(.zero, next.deadline - environment.clock.now()))
        }
    }

    // MARK: From the core

    func receive(_ messages: inout [ShardMessage]) {
        delivery.begin(count: messages.count)
        var keys: Set<KeyFingerprint>?
        for index in messages.indices {
            switch messages[index] {
            // The message is not bound here: a copy would retain all its references.
            case .send(let serial, _):
                if let (connection, state) = connection(serial) {
                    delivery.add(index, to: connection, state)
                } else if case .send(_, let message) = messages[index] {
                    resources.answered(serial, message)
                }
            case .disconnect(let serial, _):
                if let (connection, state) = connection(serial) {
                    delivery.add(index, to: connection, state)
                } else {
                    resources.lost(serial)
                }
            case .limited(let limits): self.limits = limits
            case .keysChanged(let present): keys = present
            }
        }
        let now = environment.clock.time()
        for share in delivery.shares { deliver(share, of: messages, now: now) }
        delivery.end()
        if let keys { endSessions(exceptOf: keys) }
        trace.flush()
    }

    /// Ends the sessions of users' tokens whose key is none of `keys`. With a new token their clients resume them in time.
    private func endSessions(exceptOf keys: Set<KeyFingerprint>) {
        let ended = connections.values.filter { connection in
            guard let signer = (connection.state as? ConnectionState)?.holder?.signer else { return false }
            return !keys.contains(signer)
        }
        for connection in ended { close(connection, .badToken) }
    }

    private func connection(_ serial: UInt64) -> (WebSocketConnection, ConnectionState)? {
        guard let connection = connections[serial], let state = connection.state as? ConnectionState else { return nil }
        return (connection, state)
    }

    /// Writes all messages of one connection.
    private func deliver(_ share: Delivery<WebSocketConnection>.Share, of messages: [ShardMessage], now: Instant) {
        var next: Int? = share.first
        // All that the core tells a new session at once follows the result of its `session.open`.
        var isOpening = false
        while let index = next {
            switch messages[index] {
            case .send(_, let message):
                if let answer = share.state.note(message) {
                    if case .opened = answer { isOpening = true }
                    noted(answer, share.connection, share.state)
                    frames.append { SignalEncoder.encode(withServerDetails(message), now: now, into: &$0) }
                } else if isOpening, share.connection.isBehind {
                    write(to: share.connection)
                    sendLater(message, on: share.connection, now: now)
                } else {
                    frames.append { SignalEncoder.encode(message, now: now, into: &$0) }
                }
                if frames.messageBytes >= Self.longestWrite { write(to: share.connection) }
            case .disconnect(_, let code): close(share.connection, code)
            case .limited, .keysChanged: preconditionFailure("limits and keys are of no connection")
            }
            next = delivery.message(after: index)
        }
        write(to: share.connection)
    }

    /// Sends a message of a session that opens, once the client has read the ones before: as many calls as there are, they
    /// do not fill its queue.
    private func sendLater(_ message: ServerMessage, on connection: WebSocketConnection, now: Instant) {
        let (clock, since) = (environment.clock, environment.clock.now())
        connection.send(later: { SignalEncoder.encode(message, now: now + (clock.now() - since), into: &$0) })
    }

    /// Adds TURN credentials and the VAPID key to the result of `session.open`: the core does not know them.
    private func withServerDetails(_ message: ServerMessage) -> ServerMessage {
        guard case .reply(let request, .opened(var opened)) = message else { return message }
        opened.iceServers = environment.turn.servers(for: opened.user)
        opened.webPushKey = environment.push.applicationServerKey
        return .reply(request, .opened(opened))
    }

    private func noted(
        _ answer: ConnectionState.Answer, _ connection: WebSocketConnection, _ state: ConnectionState
    ) {
        switch answer {
        case .opened(let opened):
            connection.vouch()
            trace.opened(opened, on: connection, state)
        case .refused(let error):
            trace.refused(
                SessionOutcome(error.code, isWake: state.wakeCall != nil), error.message, on: connection,
                user: state.holder?.grant.user, device: state.holder?.device)
        }
    }

    /// Sends the frames in ``frames``.
    private func write(to connection: WebSocketConnection) {
        guard !frames.isEmpty else { return }
        // The listener closes a connection whose queue is full with 3001; its client resumes.
        connection.send(frames)
        frames.removeAll()
    }

    // MARK: Refusals

    private func refuseForNow(_ request: RequestID, _ wait: Duration, on connection: WebSocketConnection) {
        refuse(
            request, .rateLimited(retryAfter: wait), "Too many messages; wait \(wait.wholeMilliseconds) ms.",
            on: connection)
    }

    /// Refuses a second `session.open`.
    private func refuseAgain(
        _ request: RequestID, _ words: String, on connection: WebSocketConnection, _ state: ConnectionState
    ) {
        trace.refused(.badState, words, on: connection, user: state.holder?.grant.user, device: state.holder?.device)
        refuse(request, .badState(nil), words, on: connection)
    }

    private func refuseUnopened(_ request: RequestID, on connection: WebSocketConnection) {
        refuse(request, .unauthenticated, "Open a session first: session.open.", on: connection)
    }

    private func refuseBusy(_ request: RequestID, on connection: WebSocketConnection) {
        refuse(
            request, .overloaded(retryAfter: .seconds(1)), "The server is busy; try again shortly.", on: connection)
    }

    // MARK: To the core

    private func gather(_ input: CoreInput) {
        gathered.append(input)
        if gathered.count >= Self.mostGathered { passOn() }
    }

    /// Passes the gathered inputs to the core, in order.
    private func passOn() {
        guard !gathered.isEmpty else { return }
        environment.core.post(&gathered)
        guard !gathered.isEmpty else { return }
        // The core's inbox is full: refuse the inputs.
        for case .client(let input) in gathered {
            guard let request = input.request else {
                environment.counters.countDrop(.overloaded)
                continue
            }
            if let connection = connections[input.connection.serial] { refuseBusy(request, on: connection) }
        }
        gathered.removeAll()
    }

    // MARK: Frames

    private func id(_ connection: WebSocketConnection) -> ConnectionID {
        ConnectionID(shard: environment.shard, serial: connection.serial)
    }

    private func refuse(
        _ request: RequestID, _ code: SignalError.Code, _ message: String, on connection: WebSocketConnection
    ) {
        send(.error(request, SignalError(code, message)), on: connection)
    }

    private func send(_ message: ServerMessage, on connection: WebSocketConnection) {
        frames.append { SignalEncoder.encode(message, now: environment.clock.time(), into: &$0) }
        write(to: connection)
    }

    /// Sends the frames in ``frames``, then closes.
    private func close(_ connection: WebSocketConnection, _ code: CloseCode) {
        connection.close(after: frames, code: code.rawValue, reason: code.explanation)
        frames.removeAll()
    }
}

@available(*, unavailable)
extension SignalShard: Sendable {}
