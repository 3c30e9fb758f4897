import AdminProtocol
import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets
import Logging
import WebSocketServer

/// The admin API's wire side: decodes frames to typed requests, and routes each to the core, the store or the process.
///
/// Confined to the admin loop.
package final class AdminShard: ShardHandler {
    /// The most requests in flight over all connections: the administrators' share of the core's inbox.
    static let mostRequests = 1024

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
        /// Answers plain HTTP requests; nil: every resource is unknown.
        package var answer: (@Sendable (HTTPRequest, LoopBound<HTTPResponder>) -> Void)?
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

    /// A request in progress elsewhere.
    private struct Pending {
        let connection: UInt64
        let id: RequestID
        /// The core request; nil for others.
        let request: (any CoreRequest)?
        /// The audit entry of a change.
        let audit: AuditEntry?
    }

    private let environment: Environment
    private var connections: [UInt64: WebSocketConnection] = [:]
    private var pending: [AdminRequestID: Pending] = [:]
    private var lastSerial: UInt64 = 0
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
    }

    package func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        switch AdminFrameReader.call(text) {
        case .failure(let failure): send(AdminFrameWriter.error(id: failure.id, failure.error), on: connection)
        case .success(let call):
            environment.log.debug(
                "asked", metadata: ["method": .string(type(of: call.request).method.rawValue)])
            let audit = AuditEntry(call.request, from: connection.address, isReading: connection.isReading)
            do throws(AdminError) {
                try take(call, audit, on: connection)
            } catch {
                audit?.write(to: environment.log, error)
                send(AdminFrameWriter.error(id: call.id, error), on: connection)
            }
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

    /// Answers to the connection's requests are dropped; the requests are still performed.
    package func connectionClosed(_ connection: WebSocketConnection) {
        connections[connection.serial] = nil
        live.connectionClosed(connection)
    }

    private func take(
        _ call: AdminCall, _ audit: AuditEntry?, on connection: WebSocketConnection
    ) throws(AdminError) {
        if audit != nil, connection.isReading {
            let method = type(of: call.request).method.rawValue
            throw AdminError(
                SignalError(
                    .forbidden,
                    "\(method) changes something, and this token is for reading: show the one in admin.token_file."))
        }
        let serial = connection.serial
        let isLive = try live.take(call, on: connection) { [weak self] frame in
            guard let self, let connection = connections[serial] else { return }
            send(frame, on: connection, call.id)
        }
        if isLive { return }
        switch call.request {
        case let request as any CoreRequest: try askCore(request, call.id, audit, on: connection)
        case let request as any StoredRequest: try read(request, call.id, on: connection)
        case let drain as Drain:
            guard (0...86_400_000).contains(drain.deadlineMilliseconds) else {
                throw AdminError(AdminRefusal(.invalidParams, "params.deadline_ms: expected 0 to 86400000"))
            }
            environment.core.postAlways(.drainingBegan(within: .milliseconds(drain.deadlineMilliseconds)))
            send(AdminFrameWriter.result(id: call.id, Done()), on: connection)
            audit?.write(to: environment.log, nil)
        case is StopServer:
            send(AdminFrameWriter.result(id: call.id, Done()), on: connection)
            audit?.write(to: environment.log, nil)
            environment.hooks.stop()
        case let request as SetLogLevel:
            guard let level = environment.hooks.setLogLevel(request.level) else {
                throw AdminError(AdminRefusal(.invalidParams, "params.level: no such level"))
            }
            audit?.write(to: environment.log, nil)
            send(AdminFrameWriter.result(id: call.id, LogLevelView(level: level)), on: connection)
        default:
            throw AdminError(
                SignalError(.methodNotFound, "This server does not answer \(type(of: call.request).method.rawValue)."))
        }
    }

    private func askCore(
        _ request: some CoreRequest, _ id: RequestID, _ audit: AuditEntry?, on connection: WebSocketConnection
    ) throws(AdminError) {
        let command: AdminCommand
        do throws(AdminRefusal) {
            command = try request.command()
        } catch {
            throw AdminError(error)
        }
        let serial = try begin(Pending(connection: connection.serial, id: id, request: request, audit: audit))
        // Before posting: the call's last log line may be written before the core's answer arrives.
        if case .endCall(let call) = command { live.administered(call, by: connection.peer) }
        guard environment.core.post(.administered(serial, command)) else {
            pending[serial] = nil
            throw Self.busy
        }
    }

    private func read(
        _ request: some StoredRequest, _ id: RequestID, on connection: WebSocketConnection
    ) throws(AdminError) {
        let serial = try begin(Pending(connection: connection.serial, id: id, request: nil, audit: nil))
        environment.reads.read(request, id) { [mailbox] frame in mailbox.postAlways(.read(serial, frame)) }
    }

    private func begin(_ request: Pending) throws(AdminError) -> AdminRequestID {
        guard pending.count < Self.mostRequests else { throw Self.busy }
        lastSerial += 1
        let serial = AdminRequestID(serial: lastSerial)
        pending[serial] = request
        return serial
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
                guard let asked = pending.removeValue(forKey: serial), let request = asked.request else { continue }
                asked.audit?.write(to: environment.log, answer.refusal.map { AdminError($0) })
                guard let connection = connections[asked.connection] else { continue }
                send(frame(of: answer, to: request, asked.id), on: connection, asked.id)
            case .read(let serial, let frame):
                guard let asked = pending.removeValue(forKey: serial) else { continue }
                guard let connection = connections[asked.connection] else { continue }
                send(frame, on: connection, asked.id)
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

    /// - Parameter id: the request that the frame answers, if the answer may exceed a frame.
    private func send(_ frame: [UInt8], on connection: WebSocketConnection, _ id: RequestID? = nil) {
        guard frame.count > AdminEndpoint.longestFrame, let id else {
            connection.send(frame)
            return
        }
        let error = SignalError(
            .tooLarge(limit: AdminEndpoint.longestFrame),
            "The answer takes \(frame.count) bytes; a frame has \(AdminEndpoint.longestFrame). Ask for the lists instead."
        )
        connection.send(AdminFrameWriter.error(id: id, AdminError(error)))
    }
}

@available(*, unavailable)
extension AdminShard: Sendable {}

extension Result<AdminReply, AdminRefusal> {
    /// The error; nil for a success.
    fileprivate var refusal: AdminRefusal? { if case .failure(let refusal) = self { refusal } else { nil } }
}
