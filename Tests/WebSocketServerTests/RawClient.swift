import EventLoop
import Glibc

/// A WebSocket client that does nothing by itself: no pongs, no reading ahead. Its system calls block, on a thread of
/// its own.
final class RawClient: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The longest time that the server may take to end a connection, on any machine.
    static let patience = Duration.seconds(30)

    private let descriptor: Int32
    private let loop: EventLoop

    /// - Parameter source: the client's own address.
    init(port: UInt16, from source: String = "127.0.0.1") throws {
        loop = try EventLoop(name: "raw client")
        loop.start()
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 40, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard Self.withAddress(source, 0, { bind(descriptor, $0, $1) }) == 0,
            Self.withAddress("127.0.0.1", port, { Glibc.connect(descriptor, $0, $1) }) == 0
        else { throw Failure(description: "connect: \(errno)") }
    }

    private static func withAddress(
        _ host: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafeBytes(of: &address) {
            // A variable has an address.
            body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }

    /// What the server takes for the client's address; the handshake is complete.
    func shownAddress() async throws -> String {
        try await sendFrame(opcode: 1, Array("who am I".utf8))
        var bytes: [UInt8] = []
        while frames(in: bytes).isEmpty { bytes += try await readMore() }
        return String(decoding: frames(in: bytes)[0].payload, as: UTF8.self)
    }

    deinit {
        close(descriptor)
        loop.stop()
    }

    private func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        // The loop runs as long as the client lives.
        try await loop.run { Result { try body() } }!.get()
    }

    /// What ``onItsThread(_:)`` gives its body: the client's socket, with system calls that block.
    struct Socket {
        fileprivate let descriptor: Int32

        func write(_ bytes: [UInt8]) throws {
            var position = 0
            while position < bytes.count {
                let sent = bytes[position...].withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { throw Failure(description: "send: \(errno)") }
                position += sent
            }
        }

        /// The next bytes; empty at the end or after a reset.
        func read(upTo count: Int = 65536) throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            let got = recv(descriptor, &bytes, count, 0)
            guard got >= 0 || errno == ECONNRESET else { throw Failure(description: "recv: \(errno)") }
            return Array(bytes.prefix(max(0, got)))
        }

        /// See ``RawClient/handshake(path:subprotocol:more:)``.
        func handshake(
            path: String = "/v1/signal", subprotocol: String? = "reveille.v1", more: String = ""
        ) throws -> String {
            let offer = subprotocol.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
            let request =
                "GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(offer)\(more)"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            try write(Array(request.utf8))
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                let byte = try read(upTo: 1)
                if byte.isEmpty { break }
                head += byte
            }
            return String(decoding: head, as: UTF8.self)
        }

        /// Reads until a frame of this kind has come, and returns its payload.
        func readPayload(of opcode: UInt8) throws -> [UInt8] {
            var bytes: [UInt8] = []
            while true {
                if let frame = frames(in: bytes).last(where: { $0.opcode == opcode }) { return frame.payload }
                let more = try read()
                guard !more.isEmpty else { throw Failure(description: "the connection has ended") }
                bytes += more
            }
        }
    }

    /// Runs `body` on the client's thread, for steps that are to follow each other at once: a task may wait a while for a
    /// thread of Swift's pool, which other tests block.
    func onItsThread<Value: Sendable>(_ body: @escaping @Sendable (Socket) throws -> Value) async throws -> Value {
        try await blocking { [descriptor] in try body(Socket(descriptor: descriptor)) }
    }

    func write(_ bytes: [UInt8]) async throws { try await onItsThread { try $0.write(bytes) } }

    func write(_ text: String) async throws { try await write(Array(text.utf8)) }

    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The next bytes; empty at the end or after a reset.
    func read(upTo count: Int = 65536) async throws -> [UInt8] { try await onItsThread { try $0.read(upTo: count) } }

    /// The next bytes, of which there have to be some.
    func readMore() async throws -> [UInt8] {
        let bytes = try await read()
        guard !bytes.isEmpty else { throw Failure(description: "the connection has ended") }
        return bytes
    }

    func readToEnd() async throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let more = try await read()
            if more.isEmpty { return all }
            all += more
        }
    }

    /// Sends `start` and then `byte` again and again, 20 ms apart, until the server ends the connection.
    /// - Parameters:
    ///   - byte: nil to send nothing more.
    ///   - toClose: whether the first bytes from the server end it too. Without, the server waits 5 s for the answer to
    ///     its close frame.
    /// - Returns: how long that took; ``patience`` when the server did not.
    func drip(after start: [UInt8], byte: UInt8?, toClose: Bool = false) async throws -> Duration {
        try await write(start)
        return try await blocking { [descriptor] in
            let began = ContinuousClock.now
            var sent = byte ?? 0
            while ContinuousClock.now - began < Self.patience {
                var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                if Glibc.poll(&poll, 1, 20) > 0 {
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    if recv(descriptor, &bytes, bytes.count, 0) <= 0 || toClose { break }
                }
                if byte != nil { _ = Glibc.send(descriptor, &sent, 1, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
            }
            return ContinuousClock.now - began
        }
    }

    /// Sends an upgrade request and returns the head of the answer.
    /// - Parameter more: further header lines, each with its end.
    func handshake(
        path: String = "/v1/signal", subprotocol: String? = "reveille.v1", more: String = ""
    ) async throws -> String {
        try await onItsThread { try $0.handshake(path: path, subprotocol: subprotocol, more: more) }
    }

    /// Sends one frame, masked with zeros.
    func sendFrame(opcode: UInt8, isFinal: Bool = true, _ payload: [UInt8]) async throws {
        try await write(Self.frame(opcode: opcode, isFinal: isFinal, payload))
    }

    static func frame(opcode: UInt8, isFinal: Bool = true, _ payload: [UInt8]) -> [UInt8] {
        var frame: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: frame.append(0x80 | UInt8(payload.count))
        case ..<65536: frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: frame += [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        return frame + [0, 0, 0, 0] + payload
    }
}

/// Splits what a server sent into frames: opcode and payload. An incomplete last frame is left out.
func frames(in bytes: [UInt8]) -> [(opcode: UInt8, payload: [UInt8])] {
    var found: [(UInt8, [UInt8])] = []
    var position = 0
    while position + 2 <= bytes.count {
        var length = Int(bytes[position + 1] & 0x7F)
        var start = position + 2
        let extra = length == 126 ? 2 : length == 127 ? 8 : 0
        guard start + extra <= bytes.count else { break }
        if extra > 0 { length = bytes[start..<start + extra].reduce(0) { $0 << 8 | Int($1) } }
        start += extra
        guard start + length <= bytes.count else { break }
        found.append((bytes[position] & 0x0F, Array(bytes[start..<start + length])))
        position = start + length
    }
    return found
}
