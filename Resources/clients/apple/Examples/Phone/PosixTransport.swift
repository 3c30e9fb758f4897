#if os(Linux)
    import Foundation
    import Glibc
    import ReveilleClient

    /// WebSockets over a plain TCP socket, so that the example also runs where Foundation has none (see
    /// `URLSessionTransport`). It trusts its server: no TLS, and `Sec-WebSocket-Accept` is not checked. For tests.
    struct PosixTransport: WebSocketTransport {
        func connect(
            to url: URL, subprotocol: String, onEvent: @escaping @Sendable (WebSocketEvent) -> Void
        ) -> any WebSocketConnection {
            let connection = PosixConnection()
            // Blocks in reads until the end, so it is no thread of the cooperative pool.
            Thread.detachNewThread { connection.run(url, subprotocol, onEvent) }
            return connection
        }
    }

    // Proof: `lock` guards `descriptor` and all writes to it; `pending` and what reads are of `run`'s thread.
    private final class PosixConnection: WebSocketConnection, @unchecked Sendable {
        private let lock = NSLock()
        private var descriptor: Int32 = -1
        private var pending: [UInt8] = []

        private struct Failure: Error {
            let text: String
        }

        private enum Opcode {
            static let (text, binary, close, ping): (UInt8, UInt8, UInt8, UInt8) = (1, 2, 8, 9)
        }

        func send(_ text: String) { write(Opcode.text, Array(text.utf8)) }

        func close(code: UInt16) {
            write(Opcode.close, [UInt8(code >> 8), UInt8(code & 255)])
            lock.withLock { if descriptor >= 0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
        }

        func run(_ url: URL, _ subprotocol: String, _ onEvent: (WebSocketEvent) -> Void) {
            var ending = WebSocketEvent.closed(code: nil, reason: "")
            do {
                try open(url, subprotocol)
                onEvent(.opened)
                reading: while true {
                    let (opcode, payload) = try frame()
                    switch opcode {
                    case Opcode.text: onEvent(.received(payload))
                    case Opcode.binary: onEvent(.receivedBinary)
                    case Opcode.ping: write(10, payload)
                    case Opcode.close:
                        let code = payload.count > 1 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
                        ending = .closed(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self))
                        break reading
                    default: break
                    }
                }
            } catch {
                ending = .closed(code: nil, reason: "\(error)")
            }
            lock.withLock {
                if descriptor >= 0 { _ = Glibc.close(descriptor) }
                descriptor = -1
            }
            onEvent(ending)
        }

        /// Connects to a numeric IPv4 address, and upgrades.
        private func open(_ url: URL, _ subprotocol: String) throws {
            let (host, port) = (url.host ?? "", UInt16(url.port ?? 80))
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw Failure(text: "no IPv4 address") }
            let result = withUnsafeBytes(of: &address) { bytes in
                // `sockaddr_in` is laid out as a `sockaddr`.
                Glibc.connect(socket, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, UInt32(bytes.count))
            }
            guard result == 0 else {
                _ = Glibc.close(socket)
                throw Failure(text: String(cString: strerror(errno)))
            }
            lock.withLock { descriptor = socket }
            let key = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
            let head = [
                "GET \(url.path) HTTP/1.1", "Host: \(host):\(port)", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Protocol: \(subprotocol)",
                "", "",
            ]
            write(Array(head.joined(separator: "\r\n").utf8))
            var answer: [UInt8] = []
            while !answer.ends(with: "\r\n\r\n".utf8) { answer += try read(1) }
            guard answer.starts(with: "HTTP/1.1 101".utf8) else {
                throw Failure(text: String(decoding: answer, as: UTF8.self))
            }
        }

        /// The server sends whole messages in one frame each.
        private func frame() throws -> (opcode: UInt8, payload: [UInt8]) {
            let head = try read(2)
            guard head[0] & 0x80 != 0 else { throw Failure(text: "a fragment") }
            var length = Int(head[1] & 0x7F)
            if length > 125 { length = try read(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) } }
            return (head[0] & 0x0F, try read(length))
        }

        private func read(_ count: Int) throws -> [UInt8] {
            while pending.count < count {
                var part = [UInt8](repeating: 0, count: 65_536)
                let got = recv(descriptor, &part, part.count, 0)
                guard got > 0 else { throw Failure(text: "the connection is lost") }
                pending += part.prefix(got)
            }
            defer { pending.removeFirst(count) }
            return Array(pending.prefix(count))
        }

        /// Writes a masked frame.
        private func write(_ opcode: UInt8, _ payload: [UInt8]) {
            let count = payload.count
            let length: [UInt8] =
                switch count {
                case ...125: [0x80 | UInt8(count)]
                case ...65_535: [0x80 | 126, UInt8(count >> 8), UInt8(count & 255)]
                default: [0x80 | 127] + (0..<8).reversed().map { UInt8(count >> ($0 * 8) & 255) }
                }
            let mask = (0..<4).map { _ in UInt8.random(in: .min ... .max) }
            write([0x80 | opcode] + length + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] })
        }

        private func write(_ bytes: [UInt8]) {
            lock.withLock {
                var rest = bytes[...]
                while !rest.isEmpty, descriptor >= 0 {
                    let sent = rest.withUnsafeBytes {
                        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    // Ends the read in which the reading thread blocks.
                    guard sent > 0 else { return }
                    rest = rest.dropFirst(sent)
                }
            }
        }
    }

    extension Array where Element == UInt8 {
        fileprivate func ends(with suffix: some Collection<UInt8>) -> Bool {
            self.suffix(suffix.count).elementsEqual(suffix)
        }
    }
#endif
