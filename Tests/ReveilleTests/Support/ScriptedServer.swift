import AdminProtocol
import CallVocabulary
import EventJournal
import EventLoop
import Foundation
import LibWebSockets
import TestCleanup
import WebSocketServer

/// A server that answers administrators as a test says, on a socket of its own.
final class ScriptedServer: Sendable {
    enum Answer: Sendable {
        case result(any Encodable & Sendable)
        case refused(AdminRefusal)
        case error(AdminError)
        /// What a subscription brings at once.
        case stream([any Encodable & Sendable])
        /// The result, and then the connection is closed.
        case last(any Encodable & Sendable)
        case hangUp
        case silence
    }

    typealias Script = @Sendable (any AdminRequest) -> Answer

    let socket: String
    private let log = Journal<any AdminRequest>()
    private let server: WebSocketServer

    /// What it was asked, in order.
    var asked: [any AdminRequest] { log.entries }

    /// - Parameter readiness: of a server that stands by, which takes no WebSocket; nil for another one.
    private init(_ script: @escaping Script, readiness: ReadinessView? = nil) throws {
        socket = NSTemporaryDirectory() + "scripted-\(UUID().uuidString.prefix(8)).sock"
        var configuration = WebSocketServer.Configuration(address: try SocketAddress(path: socket))
        configuration.soleLoop = "scripted"
        configuration.path = AdminEndpoint.path
        configuration.subprotocol = AdminEndpoint.subprotocol
        configuration.maxFrameBytes = AdminEndpoint.longestFrame
        if readiness != nil { configuration.upgradeRefusal = .text("this server stands by\n", status: 503) }
        server = try WebSocketServer(configuration: configuration) { [log] _, _ in
            ScriptedShard(script: script, readiness: readiness, log: log)
        }
    }

    /// Runs `body` with one.
    static func run<Result>(
        _ script: @escaping Script, readiness: ReadinessView? = nil, _ body: (ScriptedServer) async throws -> Result
    ) async throws -> Result {
        try await Cleanup.run {
            let server = try ScriptedServer(script, readiness: readiness)
            _ = try await server.server.start()
            atEnd { await server.server.stop(closeCode: 3000, reason: "", grace: .zero) }
            return try await body(server)
        }
    }

    /// Runs a command against it.
    func command(_ line: String, width: Int? = nil) async -> CommandRun {
        await CommandRun.of(line.split(separator: " ").map(String.init) + ["--server", socket], width: width)
    }
}

private final class ScriptedShard: ShardHandler {
    private let script: ScriptedServer.Script
    private let readiness: ReadinessView?
    private let log: Journal<any AdminRequest>

    init(script: @escaping ScriptedServer.Script, readiness: ReadinessView?, log: Journal<any AdminRequest>) {
        self.script = script
        self.readiness = readiness
        self.log = log
    }

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard let readiness, request.path == "/readyz", let body = try? JSONEncoder().encode(readiness) else {
            return responder.respond(.text("no such resource\n", status: 404))
        }
        responder.respond(.json(Array(body), status: 503))
    }

    func connectionOpened(_ connection: WebSocketConnection) {}
    func connectionClosed(_ connection: WebSocketConnection) {}

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        guard case .success(let call) = AdminFrameReader.call(text) else {
            return connection.close(code: 1002, reason: "no request")
        }
        log.append(call.request)
        switch script(call.request) {
        case .result(let result): connection.send(AdminFrameWriter.result(id: call.id, result))
        case .refused(let refusal): connection.send(AdminFrameWriter.error(id: call.id, AdminError(refusal)))
        case .error(let error): connection.send(AdminFrameWriter.error(id: call.id, error))
        case .stream(let notifications):
            connection.send(AdminFrameWriter.result(id: call.id, SubscriptionStarted(subscription: 1)))
            for notification in notifications {
                connection.send(AdminFrameWriter.notification(of: type(of: call.request).method, notification))
            }
        case .last(let result):
            connection.send(AdminFrameWriter.result(id: call.id, result))
            connection.close(code: 3000, reason: "the server stops")
        case .hangUp: connection.close(code: 3000, reason: "the server stops")
        case .silence: break
        }
    }
}

@available(*, unavailable)
extension ScriptedShard: Sendable {}
