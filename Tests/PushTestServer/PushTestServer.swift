import CallVocabulary
import EventLoop
import HTTP2
import JWTKit
import PushClient
import TLS

/// A small provider on 127.0.0.1: real HTTP/2 over real TLS, with the answers a test gives it.
public final class PushTestServer: Sendable {
    public enum Reaction: Sendable {
        case respond(Int, String = "", [HTTPField] = [])
        /// The status, and half of the body: the end never comes.
        case begin(Int, String)
        case silence
        case refuse
        /// Ends the connection without an answer.
        case hangUp
        case goAway(lastStream: Int32)
        /// So many GOAWAYs, which leave the request in, and no answer.
        case goAways(Int)
    }

    public struct Seen: Sendable {
        /// Connections count from 0 in the order they were accepted.
        public let connection: Int
        public let request: HTTP2ServerRequest
    }

    private let loop: EventLoop
    public let port: UInt16
    /// Every request, as it came.
    public let requests: AsyncStream<Seen>
    private let state: LoopBound<State>

    private final class State {
        var acceptor: SocketAcceptor?
        var accepted = 0
        var answered = 0
    }

    /// - Parameter react: given the connection's and the request's number (over all connections), both from 0.
    public convenience init(
        streamLimit: Int = 100, react: @escaping @Sendable (_ connection: Int, _ request: Int) -> Reaction
    ) async throws {
        try await self.init(streamLimit: streamLimit) { connection, request, _ in react(connection, request) }
    }

    /// - Parameter answer: called on the server's loop with each request.
    public convenience init(answer: @escaping @Sendable (HTTP2ServerRequest) -> Reaction) async throws {
        try await self.init(streamLimit: 100) { _, _, request in answer(request) }
    }

    private init(
        streamLimit: Int, react: @escaping @Sendable (Int, Int, HTTP2ServerRequest) -> Reaction
    ) async throws {
        let certificates = try await PushTestCertificates.shared.value
        let tls = try TLSServerContext(
            certificateChainPEM: certificates.serverPEM, privateKeyPEM: certificates.serverKeyPEM)
        let loop = try EventLoop(name: "apns-test")
        loop.start()
        self.loop = loop
        let (requests, report) = AsyncStream.makeStream(of: Seen.self)
        self.requests = requests
        let made = await loop.run { () -> Result<(UInt16, LoopBound<State>), any Error> in
            Result {
                let state = State()
                let address = SocketAddress(host: "127.0.0.1", port: 0)!  // A numeric address.
                let settings = HTTP2ServerSettings(maxConcurrentStreams: streamLimit)
                let acceptor = try SocketAcceptor(loop: loop, address: address) { [unowned state] descriptor in
                    let number = state.accepted
                    state.accepted += 1
                    var connection: HTTP2ServerConnection?
                    connection = HTTP2ServerConnection.adopt(
                        loop: loop, descriptor: descriptor, tls: tls, settings: settings
                    ) { [unowned state] event in
                        if case .closed = event { connection = nil }
                        guard let connection, case .request(let stream, let request) = event else { return }
                        report.yield(Seen(connection: number, request: request))
                        Self.perform(react(number, state.answered, request), on: connection, stream)
                        state.answered += 1
                    }
                }
                state.acceptor = acceptor
                return (acceptor.address.port, LoopBound(state, on: loop))
            }
        }
        // The loop was just started and runs what it is given.
        (port, state) = try made!.get()
    }

    private static func perform(_ reaction: Reaction, on connection: HTTP2ServerConnection, _ stream: StreamID) {
        switch reaction {
        case .respond(let status, let body, let fields):
            connection.respond(stream, status: status, fields: fields, body: Array(body.utf8))
        case .begin(let status, let body):
            connection.startResponse(stream, status: status, fields: [])
            connection.send(stream, Array(body.utf8))
        case .silence: break
        case .refuse: connection.reset(stream, .refusedStream)
        case .hangUp: connection.close()
        case .goAway(let last): connection.goAway(lastStream: StreamID(rawValue: last), debug: Array("{}".utf8))
        case .goAways(let count): for _ in 0..<count { connection.goAway(lastStream: stream) }
        }
    }

    /// What belongs to the loop is let go of there, also when a test that failed has not stopped the server.
    deinit {
        loop.execute { [state] in state.value.acceptor = nil }
        loop.stop()
    }

    /// How many connections were accepted so far, those included that the kernel has taken and not handed over yet.
    public func connections() async -> Int {
        // The first turn finds them among the events that wait; the second comes after it.
        await loop.run {}
        return await loop.run { [state] in state.value.accepted } ?? 0
    }

    public func stop() async {
        await loop.run { [state] in state.value.acceptor = nil }
        await loop.stopAndWait()
    }
}

extension APNSEndpoint {
    /// Of a ``PushTestServer``, which checks no provider token.
    public static func test(port: UInt16) async throws -> APNSEndpoint {
        let certificates = try await PushTestCertificates.shared.value
        let key = APNSKey(pem: ES256PrivateKey().pemRepresentation, keyID: "KEY1234567", teamID: "TEAM123456")
        return APNSEndpoint(
            environment: .sandbox, host: "127.0.0.1", port: port, key: key,
            trust: .certificateAuthorityPEM(certificates.authorityPEM))
    }
}

extension FCMEndpoint {
    /// Of a ``PushTestServer``, which plays the token endpoint and the registration API as well.
    public static func test(port: UInt16, project: String = "example-1") async throws -> FCMEndpoint {
        let certificates = try await PushTestCertificates.shared.value
        return FCMEndpoint(
            account: try FCMServiceAccount(json: try certificates.serviceAccount(port: port, project: project)),
            host: "127.0.0.1", port: port, trust: .certificateAuthorityPEM(certificates.authorityPEM))
    }
}
