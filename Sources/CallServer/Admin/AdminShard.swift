import CallCore
import CallVocabulary
import EventLoop
import Logging
import SignalProtocol
import WebSocketServer

/// The admin API's side of the wire: frames to typed requests, the core's answers back to whoever asked.
///
/// Confined to the admin loop.
final class AdminShard: ShardHandler {
    /// Requests under way at most, over all connections: what of the core's inbox administrators may take.
    static let mostRequests = 1024

    /// A request that the core is at work on.
    private struct Pending {
        let connection: UInt64
        let id: RequestID
        let after: String?
    }

    private let core: Mailbox<CoreInput>
    private let log: Logger
    private var connections: [UInt64: WebSocketConnection] = [:]
    private var pending: [AdminRequestID: Pending] = [:]
    private var lastSerial: UInt64 = 0
    /// One buffer for every frame.
    private var frame: [UInt8] = []

    init(core: Mailbox<CoreInput>, log: Logger) {
        self.core = core
        self.log = log
    }

    func connectionOpened(_ connection: WebSocketConnection) {
        connections[connection.serial] = connection
    }

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        switch AdminDecoder.decode(frame: text) {
        case .failure(let failure): send(.error(failure.id, failure.error), on: connection)
        case .success(let call):
            switch call.request {
            case .command(let command, let after): administer(command, after, call.id, on: connection)
            }
        }
    }

    /// What its requests still bring finds nobody and is dropped; they are carried out all the same.
    func connectionClosed(_ connection: WebSocketConnection) {
        connections[connection.serial] = nil
    }

    private func administer(
        _ command: AdminCommand, _ after: String?, _ id: RequestID, on connection: WebSocketConnection
    ) {
        lastSerial += 1
        let request = AdminRequestID(serial: lastSerial)
        guard pending.count < Self.mostRequests, core.post(.administered(request, command)) else {
            let busy = SignalError(.overloaded(retryAfter: .seconds(1)), "The server is busy; try again shortly.")
            return send(.error(id, busy), on: connection)
        }
        pending[request] = Pending(connection: connection.serial, id: id, after: after)
        log.debug("administered", metadata: ["method": "\(command.method.rawValue)", "serial": "\(request.serial)"])
    }

    // MARK: From the core

    func receive(_ messages: inout [AdminMessage]) {
        for message in messages {
            switch message {
            case .answered(let request, let answer): take(answer, to: request)
            }
        }
    }

    private func take(_ answer: Result<AdminReply, AdminRefusal>, to request: AdminRequestID) {
        guard let asked = pending.removeValue(forKey: request) else { return }
        guard let connection = connections[asked.connection] else { return }
        switch answer {
        case .success(let reply):
            let (page, next) = reply.page(after: asked.after)
            send(.reply(asked.id, page, next: next), on: connection)
        case .failure(let refusal): send(.refusal(asked.id, refusal), on: connection)
        }
    }

    // MARK: Frames

    private func send(_ answer: AdminAnswer, on connection: WebSocketConnection) {
        frame.removeAll(keepingCapacity: true)
        AdminEncoder.encode(answer, into: &frame)
        if frame.count > AdminLimits.frame, case .reply(let id, _, _) = answer {
            let error = SignalError(
                .tooLarge(limit: AdminLimits.frame),
                "The answer takes \(frame.count) bytes; a frame has \(AdminLimits.frame). Ask for the lists instead.")
            frame.removeAll(keepingCapacity: true)
            AdminEncoder.encode(.error(id, error), into: &frame)
        }
        connection.send(frame)
    }
}

@available(*, unavailable)
extension AdminShard: Sendable {}
