import EventJournal
import EventLoop
import LibWebSockets
import Synchronization
import TestCleanup
import Testing
import WebSocketServer

/// What a test handler was told.
enum HandlerEvent: Equatable, Sendable {
    case opened(UInt64)
    case received(UInt64, String)
    case closed(UInt64)
    case batchEnded
    case requested(String)
}

/// Counts how many of its tokens are alive: one hangs on each connection.
final class LifeCount: Sendable {
    private let alive = Atomic<Int>(0)
    var value: Int { alive.load(ordering: .relaxed) }

    final class Token {
        private let count: LifeCount
        init(_ count: LifeCount) {
            self.count = count
            count.alive.add(1, ordering: .relaxed)
        }
        deinit { count.alive.subtract(1, ordering: .relaxed) }
    }
}

/// Sends everything back, keeps a journal, and does what some messages and requests ask.
final class EchoHandler: ShardHandler {
    private let journal: Journal<HandlerEvent>
    private let loop: EventLoop
    private let lives: LifeCount
    private let endings: Journal<WebSocketConnection.Ending>
    private let refusals: Journal<HandshakeRefusal>
    private var connections: [UInt64: WebSocketConnection] = [:]
    private var timer: LoopTimer?
    /// Of the request to `/kept`, which was answered.
    private var kept: HTTPResponder?

    init(
        journal: Journal<HandlerEvent>, lives: LifeCount, loop: EventLoop,
        endings: Journal<WebSocketConnection.Ending> = Journal(), refusals: Journal<HandshakeRefusal> = Journal()
    ) {
        self.journal = journal
        self.lives = lives
        self.endings = endings
        self.refusals = refusals
        self.loop = loop
    }

    func connectionOpened(_ connection: WebSocketConnection) {
        connections[connection.serial] = connection
        connection.state = LifeCount.Token(lives)
        journal.append(.opened(connection.serial))
    }

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        let message = String(decoding: text, as: UTF8.self)
        journal.append(.received(connection.serial, text.count > 100 ? "\(text.count) bytes" : message))
        switch message {
        case "close me": connection.close(code: 3503, reason: "as you wish")
        case "say bye and close me":
            connection.close(after: batch(["bye"]), code: 3503, reason: "as you wish")
        case "make me wait": makeWait(connection)
        case "tell me all":
            makeWait(connection)
            for number in 0..<100 {
                connection.send(later: { $0 += Array("\(number) ".utf8) + [UInt8](repeating: 0x78, count: 60_000) })
            }
            connection.send(Array("that was all".utf8))
        case "make me wait, say bye and close me":
            makeWait(connection)
            connection.close(after: batch(["bye"]), code: 3503, reason: "as you wish")
        case "flood me": while connection.send([UInt8](repeating: 0x78, count: 50_000)) {}
        case "send me three":
            connection.send(batch(["one", String(repeating: "2", count: 300), "three"]))
        case "flood me with batches":
            var number = 0
            while connection.send(batch((0..<5).map { "\(number + $0) " + String(repeating: "x", count: 20_000) })) {
                number += 5
            }
        case "take your time":
            let end = ContinuousClock.now + .milliseconds(30)
            while ContinuousClock.now < end {}
            connection.send(text)
        case "vouch for me": connection.vouch()
        case "who am I": connection.send(Array(connection.peer.utf8))
        case "tell the others":
            for other in connections.values where other !== connection { other.send(text) }
        default: connection.send(text)
        }
    }

    private func makeWait(_ connection: WebSocketConnection) {
        while connection.queuedBytes == 0 { connection.send([UInt8](repeating: 0x78, count: 50_000)) }
    }

    private func batch(_ texts: [String]) -> FrameBatch {
        var batch = FrameBatch()
        for text in texts { batch.append { $0 += text.utf8 } }
        return batch
    }

    func connectionClosed(_ connection: WebSocketConnection) {
        connections[connection.serial] = nil
        endings.append(connection.ending)
        journal.append(.closed(connection.serial))
    }

    func batchEnded() { journal.append(.batchEnded) }

    func handshakeRefused(_ refusal: HandshakeRefusal) { refusals.append(refusal) }

    func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder) {
        if request.path == "/refused" { responder.respond(.text("not here\n", status: 403)) }
    }

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        journal.append(.requested("\(request.method.rawValue) \(request.path)"))
        switch request.path {
        case "/healthz": responder.respond(.text("fine\n"))
        case "/limited": responder.respond(.text("too many\n", status: 429))
        case "/echo":
            let type = request.contentType ?? "none"
            let authorization = request.authorization ?? "none"
            responder.respond(
                HTTPResponse(
                    status: 200, contentType: type,
                    headers: [("X-Target", request.target), ("X-Authorization", authorization), ("X-Bad", "a\r\nb")],
                    body: request.body))
        case "/late", "/later":
            timer = LoopTimer(loop: loop) { responder.respond(.text("at last\n")) }
            timer?.start(after: .milliseconds(request.path == "/late" ? 20 : 1000))
        case "/kept":
            responder.respond(.text("kept\n"))
            kept = responder
        case "/kept/awaited":
            // Again, in vain.
            kept?.respond(.text("kept\n"))
            responder.respond(.text("\(kept?.isAwaited == true)\n"))
        case "/large":
            responder.respond(.text(String(repeating: "y", count: 3_000_000)))
        default: responder.respond(.text("no such resource\n", status: 404))
        }
    }
}

/// A running server with echo handlers.
struct TestServer {
    let server: WebSocketServer
    let address: SocketAddress
    let journal: Journal<HandlerEvent>
    /// The connections that still exist as objects.
    let lives: LifeCount
    /// Of the shards.
    let loops: [EventLoop]
    /// How connections have ended, in order.
    let endings: Journal<WebSocketConnection.Ending>
    /// Who was refused, in order.
    let refusals: Journal<HandshakeRefusal>

    static func start(
        stopsAtEnd: Bool = true, _ adjust: (inout WebSocketServer.Configuration) -> Void = { _ in }
    ) async throws -> TestServer {
        // Numeric, so never nil.
        var configuration = WebSocketServer.Configuration(address: SocketAddress(host: "127.0.0.1", port: 0)!)
        adjust(&configuration)
        let journal = Journal<HandlerEvent>()
        let lives = LifeCount()
        let (endings, refusals) = (Journal<WebSocketConnection.Ending>(), Journal<HandshakeRefusal>())
        let loops = Mutex<[EventLoop]>([])
        let server = try WebSocketServer(configuration: configuration) { _, loop in
            loops.withLock { $0.append(loop) }
            return EchoHandler(
                journal: journal, lives: lives, loop: loop, endings: endings, refusals: refusals)
        }
        let address = try await server.start()
        let started = TestServer(
            server: server, address: address, journal: journal, lives: lives, loops: loops.withLock { $0 },
            endings: endings, refusals: refusals)
        if stopsAtEnd { atEnd { await started.stop() } }
        return started
    }

    var url: WebSocketURL { WebSocketURL(isSecure: false, host: "127.0.0.1", port: address.port, path: "/v1/signal") }

    func stop() async { await server.stop(closeCode: 3000, reason: "shutdown", grace: .milliseconds(300)) }

    /// A client whose handshake is complete.
    func connect() async throws -> RawClient {
        @Sendable func opened(_ entries: [HandlerEvent]) -> Int {
            entries.count { if case .opened = $0 { true } else { false } }
        }
        let before = opened(journal.entries)
        let client = try RawClient(port: address.port)
        #expect(try await client.handshake().hasPrefix("HTTP/1.1 101"))
        // The client may know before the server has counted it.
        try await journal.wait(for: "the connection") { opened($0) > before }
        return client
    }
}

/// What a client connection was told.
enum ClientEvent: Equatable, Sendable {
    case opened
    case received(String)
    case closed(UInt16?, String)
    /// The server wants a token.
    case refused
    case failed(String)
}

/// A loop with an lws context, and connections by number. It stops at the end of the test.
final class TestClient: Sendable {
    let loop: EventLoop
    private let context: LoopBound<LWSContext>
    private let connections: LoopBound<Connections>

    private final class Connections {
        var all: [Int: WebSocketClientConnection] = [:]
    }

    init(trust: LWSContext.Trust = .system) async throws {
        let loop = try EventLoop(name: "client")
        loop.start()
        self.loop = loop
        connections = LoopBound(Connections(), on: loop)
        let made = await loop.run {
            Result { LoopBound(try LWSContext(loop: loop, role: .client(trust)), on: loop) }
        }
        // The loop was started just now.
        context = try made!.get()
        atEnd { await self.stop() }
    }

    /// A client with one open connection.
    static func opened(
        to url: WebSocketURL, unixSocket: SocketAddress? = nil, trust: LWSContext.Trust = .system
    ) async throws -> (client: TestClient, journal: Journal<ClientEvent>) {
        let (client, journal) = (try await TestClient(trust: trust), Journal<ClientEvent>())
        await client.connect(to: url, unixSocket: unixSocket, journal: journal)
        try await journal.wait(for: .opened)
        return (client, journal)
    }

    /// What a client is told of a connection that fails.
    static func failure(
        of url: WebSocketURL, unixSocket: SocketAddress? = nil, subprotocol: String = "reveille.v1",
        trust: LWSContext.Trust = .system
    ) async throws -> String {
        let (client, journal) = (try await TestClient(trust: trust), Journal<ClientEvent>())
        await client.connect(to: url, unixSocket: unixSocket, subprotocol: subprotocol, journal: journal)
        let words = try await journal.first("a failure") { if case .failed(let words) = $0 { words } else { nil } }
        await client.stop()
        #expect(journal.entries.count == 1)
        return words
    }

    func connect(
        _ number: Int = 0, to url: WebSocketURL, unixSocket: SocketAddress? = nil,
        subprotocol: String = "reveille.v1", authorization: String? = nil, journal: Journal<ClientEvent>
    ) async {
        _ = await loop.run { [self] in
            connections.value.all[number] = WebSocketClientConnection.connect(
                context: context.value, url: url, unixSocket: unixSocket, subprotocol: subprotocol,
                authorization: authorization
            ) { [weak connections = connections.value] event in
                switch event {
                case .opened: journal.append(.opened)
                case .received(let text):
                    journal.append(
                        .received(text.count > 100 ? "\(text.count) bytes" : String(decoding: text, as: UTF8.self)))
                case .closed(let code, let reason):
                    connections?.all[number] = nil
                    journal.append(.closed(code, reason))
                case .failed(let failure):
                    connections?.all[number] = nil
                    journal.append(failure == .unauthorized ? .refused : .failed(failure.description))
                }
            }
        }
    }

    func send(_ text: String, on number: Int = 0) {
        loop.execute { [self] in connections.value.all[number]?.send(Array(text.utf8)) }
    }

    /// Sends all of them on each connection, in one turn of the loop.
    func send(_ texts: [String], on numbers: Range<Int>) {
        loop.execute { [self] in
            for text in texts { for number in numbers { connections.value.all[number]?.send(Array(text.utf8)) } }
        }
    }

    func close(_ number: Int = 0, code: UInt16 = 1000, reason: String = "") {
        loop.execute { [self] in connections.value.all[number]?.close(code: code, reason: reason) }
    }

    /// Sends, and destroys the context in the same turn of the loop.
    func sendLast(_ text: String, on number: Int = 0) {
        loop.execute { [self] in
            connections.value.all[number]?.send(Array(text.utf8))
            context.value.destroy()
        }
    }

    func stop() async {
        loop.execute { [self] in context.value.destroy() }
        await loop.stopAndWait()
    }
}
