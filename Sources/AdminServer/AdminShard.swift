import AdminProtocol
import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets
import Logging
import WebSocketServer
import WebhookClient

/// The admin API's wire side: decodes frames to typed requests, and routes each to the core, the store or the process.
///
/// Confined to the admin loop.
package final class AdminShard: ShardHandler {
    package struct Environment: Sendable {
        let core: Mailbox<CoreInput>
        let reads: AdminReads
        let hooks: AdminHooks
        let figures: FigureSources
        /// The server's timeline.
        let now: @Sendable () -> Instant
        let log: Logger
        /// The most records that wait for the monitor.
        package var feedCapacity = MonitorFeed.standardCapacity
        /// Returns the client address of a session's socket; nil when the address is unknown.
        package var address: @Sendable (DeviceKey) -> String? = { _ in nil }
        /// nil: webhooks are unknown methods.
        package var webhooks: WebhookService?
        /// Answers plain HTTP requests; nil: every resource is unknown.
        package var answer: (@Sendable (HTTPRequest, LoopBound<HTTPResponder>) -> Void)?
        /// Whether plain HTTP requests for a path are answered without a token.
        package var isPublic: @Sendable (_ path: String) -> Bool = { _ in false }
        /// Called for each refused handshake.
        package var refused: @Sendable (HandshakeRefusal) -> Void = { _ in }

        package init(
            core: Mailbox<CoreInput>, reads: AdminReads, hooks: AdminHooks, figures: FigureSources,
            now: @escaping @Sendable () -> Instant, log: Logger
        ) {
            self.core = core
            self.reads = reads
            self.hooks = hooks
            self.figures = figures
            self.now = now
            self.log = log
        }
    }

    /// Where a request came from.
    private enum Asker {
        case connection(UInt64, isReading: Bool)
        case backend(BackendQuestion)

        /// Whose share a request takes.
        var share: RequestShares.Asker {
            switch self {
            case .connection(let serial, let isReading): isReading ? .reader(serial) : .administrator(serial)
            case .backend(let question): .backend(question.credential)
            }
        }
    }

    /// A request in progress elsewhere.
    private struct Pending {
        let asker: Asker
        let id: RequestID
        /// The core request; nil for others.
        let request: (any CoreRequest)?
        /// The audit entry of a change.
        let audit: AuditEntry?
        /// A read of the store; nil for others.
        var read: (any StoredRequest)?
        /// A read of the copy in memory; nil for others.
        var live: AdminCall?
    }

    private let environment: Environment
    private var connections: [UInt64: WebSocketConnection] = [:]
    private var pending: [AdminRequestID: Pending] = [:]
    private var reads = RequestShares()
    private var changes = RequestShares()
    private var turns = ReadTurns()
    /// The turns of reads of the copy in memory, which end with a turn of the loop.
    private var liveTurns = ReadTurns()
    private var lastSerial: UInt64 = 0
    /// When the log told last that a connection was closed to make room.
    private var lastWarning: Instant?
    /// Delivers answers from other threads.
    private let mailbox: Mailbox<AdminMessage>
    private let live: LiveQueries

    init(environment: Environment, feed: MonitorFeed, mailbox: Mailbox<AdminMessage>) {
        self.environment = environment
        self.mailbox = mailbox
        live = LiveQueries(environment: environment, feed: feed, mailbox: mailbox)
    }

    package func connectionOpened(_ connection: WebSocketConnection) {
        connections[connection.serial] = connection
        makeRoom()
    }

    /// Closes the oldest connection with the token for reading when administrators might find no place over TCP.
    private func makeRoom() {
        let remote = connections.values.filter { $0.serial >= AdminService.firstSerialOfNetwork && $0.isOpen }
        guard remote.count > AdminService.mostWithReaders,
            let oldest = remote.filter(\.isReading).min(by: { $0.serial < $1.serial })
        else { return }
        oldest.end(
            code: CloseCode.overloaded.rawValue,
            reason: "too many connections: the oldest with the token for reading makes room")
        let now = environment.now()
        if let lastWarning, now - lastWarning < ConnectionPressure.interval { return }
        lastWarning = now
        environment.log.warning(
            "the admin API has too many connections: the oldest with the token for reading are closed",
            metadata: ["address": .string(oldest.peer)])
    }

    package func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        switch AdminFrameReader.call(text) {
        case .failure(let failure): send(AdminFrameWriter.error(id: failure.id, failure.error), on: connection)
        case .success(let call):
            environment.log.debug(
                "asked", metadata: ["method": .string(type(of: call.request).method.rawValue)])
            let credential = connection.isReading ? "admin.read_token_file" : "admin.token_file"
            let audit = AuditEntry(call.request, from: connection.address, credential: credential)
            do throws(AdminError) {
                try take(call, audit, from: Self.asker(connection))
            } catch {
                audit?.write(to: environment.log, error)
                send(AdminFrameWriter.error(id: call.id, error), on: connection)
            }
        }
    }

    private func take(_ question: BackendQuestion) {
        let audit = AuditEntry(question.call.request, from: question.peer, credential: question.credential)
        do throws(AdminError) {
            try take(question.call, audit, from: .backend(question))
        } catch {
            audit?.write(to: environment.log, error)
            question.respond(.failure(error))
        }
    }

    package func handshakeRefused(_ refusal: HandshakeRefusal) {
        environment.refused(refusal)
    }

    package func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard let answer = environment.answer else {
            return responder.respond(.text("no such resource\n", status: 404))
        }
        answer(request, LoopBound(responder, on: mailbox.loop))
    }

    /// Logs requests that the core still performs; their results are not delivered.
    deinit {
        for request in pending.values { request.audit?.writeUnanswered(to: environment.log) }
    }

    /// Answers to the connection's requests are dropped, and reads that wait for their turn. The other requests are still
    /// performed.
    package func connectionClosed(_ connection: WebSocketConnection) {
        connections[connection.serial] = nil
        let share = Self.asker(connection).share
        func isGone(_ read: AdminRequestID) -> Bool { pending[read]?.asker.share == share }
        for read in turns.drop(of: share, where: isGone) + liveTurns.drop(of: share, where: isGone) { _ = end(read) }
        live.connectionClosed(connection)
    }

    private func take(_ call: AdminCall, _ audit: AuditEntry?, from asker: Asker) throws(AdminError) {
        if audit != nil, connection(of: asker)?.isReading == true {
            let method = type(of: call.request).method.rawValue
            throw AdminError(
                SignalError(
                    .forbidden,
                    "\(method) changes something, and this token is for reading: show the one in admin.token_file."))
        }
        if LiveQueries.reads(call.request) {
            let serial = try begin(Pending(asker: asker, id: call.id, request: nil, audit: nil, live: call))
            if liveTurns.add(serial, of: asker.share) { readLive(call, serial, for: asker) }
            return
        }
        let isLive = try live.take(call, on: connection(of: asker)) { [weak self] frame in
            self?.answer(asker, frame, call.id)
        }
        if isLive { return }
        switch call.request {
        case let request as any CoreRequest: try askCore(request, call.id, audit, from: asker)
        case let request as any StoredRequest: try read(request, call.id, from: asker)
        case let request as any WebhookRequest: try ask(request, call.id, audit, from: asker)
        case let drain as Drain:
            guard (0...Drain.longestMilliseconds).contains(drain.deadlineMilliseconds) else {
                throw AdminError(
                    AdminRefusal(
                        .invalidParams, "params.deadline_ms: expected 0 to \(Drain.longestMilliseconds)"))
            }
            environment.core.postAlways(.drainingBegan(within: .milliseconds(drain.deadlineMilliseconds)))
            answer(asker, AdminFrameWriter.result(id: call.id, Done()), call.id)
            audit?.write(to: environment.log, nil)
        case is StopServer:
            answer(asker, AdminFrameWriter.result(id: call.id, Done()), call.id)
            audit?.write(to: environment.log, nil)
            environment.hooks.stop()
        case let request as SetLogLevel:
            guard let level = environment.hooks.setLogLevel(request.level) else {
                throw AdminError(AdminRefusal(.invalidParams, "params.level: no such level"))
            }
            audit?.write(to: environment.log, nil)
            answer(asker, AdminFrameWriter.result(id: call.id, LogLevelView(level: level)), call.id)
        default:
            throw AdminError(
                SignalError(.methodNotFound, "This server does not answer \(type(of: call.request).method.rawValue)."))
        }
    }

    private func askCore(
        _ request: some CoreRequest, _ id: RequestID, _ audit: AuditEntry?, from asker: Asker
    ) throws(AdminError) {
        let command: AdminCommand
        do throws(AdminRefusal) {
            command = try request.command()
        } catch {
            throw AdminError(error)
        }
        let serial = try begin(Pending(asker: asker, id: id, request: request, audit: audit))
        // Before posting: the call's last log line may be written before the core's answer arrives.
        if case .endCall(let call) = command { live.administered(call, by: name(of: asker)) }
        guard environment.core.post(.administered(serial, command)) else {
            _ = end(serial)
            throw Self.busy
        }
    }

    private func read(_ request: some StoredRequest, _ id: RequestID, from asker: Asker) throws(AdminError) {
        let serial = try begin(Pending(asker: asker, id: id, request: nil, audit: nil, read: request))
        if turns.add(serial, of: asker.share) { start(request, serial, id) }
    }

    private func start(_ request: some StoredRequest, _ serial: AdminRequestID, _ id: RequestID) {
        environment.reads.read(request, id) { [mailbox] frame in mailbox.postAlways(.replied(serial, frame, nil)) }
    }

    /// Ends the asker's turn at the store, and begins its next read that is still waited for.
    private func passTurn(of asker: RequestShares.Asker) {
        while let serial = turns.next(of: asker) {
            guard let next = pending[serial], let request = next.read else { continue }
            guard case .backend(let question) = next.asker, question.deadline <= environment.now() else {
                return start(request, serial, next.id)
            }
            _ = end(serial)
            question.respond(.failure(Self.busy))
        }
    }

    /// Answers from the copy in memory. The asker's next such request waits for the next turn of the loop: changes, and
    /// the requests of others, come between.
    private func readLive(_ call: AdminCall, _ serial: AdminRequestID, for asker: Asker) {
        do throws(AdminError) {
            _ = try live.take(call, on: connection(of: asker)) { [weak self] frame in
                self?.finish(serial, frame, nil)
            }
        } catch {
            finish(serial, AdminFrameWriter.error(id: call.id, error), nil)
        }
        mailbox.loop.inNextTurn { [weak self] in self?.passLiveTurn(of: asker.share) }
    }

    private func passLiveTurn(of asker: RequestShares.Asker) {
        while let serial = liveTurns.next(of: asker) {
            guard let next = pending[serial], let call = next.live else { continue }
            return readLive(call, serial, for: next.asker)
        }
    }

    private func ask(
        _ request: some WebhookRequest, _ id: RequestID, _ audit: AuditEntry?, from asker: Asker
    ) throws(AdminError) {
        guard let webhooks = environment.webhooks else {
            throw AdminError(SignalError(.methodNotFound, "This server has no webhooks."))
        }
        let serial = try begin(Pending(asker: asker, id: id, request: nil, audit: audit))
        Task { [mailbox, log = environment.log] in
            do {
                let response = try await request.perform(webhooks)
                mailbox.postAlways(.replied(serial, AdminFrameWriter.result(id: id, response), nil))
            } catch {
                let refusal = AdminReads.refusal(error, log)
                mailbox.postAlways(.replied(serial, AdminFrameWriter.error(id: id, refusal), refusal))
            }
        }
    }

    private func begin(_ request: Pending) throws(AdminError) -> AdminRequestID {
        let share = request.asker.share
        let hasRoom = request.audit == nil ? reads.take(share) : changes.take(share)
        guard hasRoom else { throw Self.busy }
        lastSerial += 1
        let serial = AdminRequestID(serial: lastSerial)
        pending[serial] = request
        return serial
    }

    /// - Returns: the request; nil when it has ended before.
    private func end(_ serial: AdminRequestID) -> Pending? {
        guard let request = pending.removeValue(forKey: serial) else { return nil }
        let share = request.asker.share
        if request.audit == nil { reads.giveBack(share) } else { changes.giveBack(share) }
        return request
    }

    /// Answers a request, and logs its result if it is a change.
    private func finish(_ serial: AdminRequestID, _ frame: [UInt8], _ refusal: AdminError?) {
        guard let asked = end(serial) else { return }
        if asked.read != nil { passTurn(of: asked.asker.share) }
        asked.audit?.write(to: environment.log, refusal)
        answer(asked.asker, frame, asked.id)
    }

    private static var busy: AdminError {
        AdminError(SignalError(.overloaded(retryAfter: .seconds(1)), "The server is busy; try again shortly."))
    }

    // MARK: From other threads

    func receive(_ messages: inout [AdminMessage]) {
        for message in messages {
            switch message {
            case .answered(let serial, let answer):
                live.catchUp()
                guard let asked = end(serial), let request = asked.request else { continue }
                asked.audit?.write(to: environment.log, answer.refusal.map { AdminError($0) })
                self.answer(asked.asker, frame(of: answer, to: request, asked.id), asked.id)
            case .replied(let serial, let frame, let refusal): finish(serial, frame, refusal)
            case .backend(let question): take(question)
            case .fed: live.fed()
            case .feedLost: live.feedLost()
            case .loaded(let load, let result): live.loaded(load, result)
            case .coreFigures(let gather): live.coreFigures(gather)
            case .liveFigures(let completion): completion(live.liveFigures())
            }
        }
    }

    private func frame(
        of answer: Result<AdminReply, AdminRefusal>, to request: some CoreRequest, _ id: RequestID
    ) -> [UInt8] {
        switch answer {
        case .success(let reply):
            guard let response = request.response(reply) else {
                preconditionFailure("the core answered something else than was asked")
            }
            return AdminFrameWriter.result(id: id, response)
        case .failure(let refusal): return AdminFrameWriter.error(id: id, AdminError(refusal))
        }
    }

    // MARK: Frames

    private static func asker(_ connection: WebSocketConnection) -> Asker {
        .connection(connection.serial, isReading: connection.isReading)
    }

    private func connection(of asker: Asker) -> WebSocketConnection? {
        if case .connection(let serial, _) = asker { connections[serial] } else { nil }
    }

    private func name(of asker: Asker) -> String {
        switch asker {
        case .connection(let serial, _): connections[serial]?.peer ?? ""
        case .backend(let question): question.credential
        }
    }

    private func answer(_ asker: Asker, _ frame: [UInt8], _ id: RequestID) {
        switch asker {
        case .connection(let serial, _):
            if let connection = connections[serial] { send(cut(frame, id), on: connection) }
        // A response by HTTP may have any length.
        case .backend(let question): question.answer(frame)
        }
    }

    private func send(_ frame: [UInt8], on connection: WebSocketConnection) { connection.send(frame) }

    /// An error in place of a frame that is too long.
    /// - Parameter id: the request that the frame answers.
    private func cut(_ frame: [UInt8], _ id: RequestID) -> [UInt8] {
        guard frame.count > AdminEndpoint.longestFrame else { return frame }
        let error = SignalError(
            .tooLarge(limit: AdminEndpoint.longestFrame),
            "The answer takes \(frame.count) bytes; a frame has \(AdminEndpoint.longestFrame). Ask for the lists instead."
        )
        return AdminFrameWriter.error(id: id, AdminError(error))
    }
}

@available(*, unavailable)
extension AdminShard: Sendable {}

extension Result<AdminReply, AdminRefusal> {
    /// The error; nil for a success.
    fileprivate var refusal: AdminRefusal? { if case .failure(let refusal) = self { refusal } else { nil } }
}
