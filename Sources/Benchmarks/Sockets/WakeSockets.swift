import Glibc

/// What the socket of a phone that is woken costs a server that does nothing else: a connection is accepted, its WebSocket
/// handshake answered, and it is closed after the phone has closed it. Confined to a thread.
final class WakeSockets {
    /// With a wake token of about 140 characters.
    static let request = Array(
        """
        GET /v1/ws HTTP/1.1\r\nHost: calls.example.org:8443\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Protocol: reveille.v1\r\nAuthorization: Bearer \(String(repeating: "x", count: 140))\r\n\r\n
        """.utf8)
    static let response = Array(
        """
        HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: reveille.v1\r\n\r\n
        """.utf8)

    private static let listenerNumber = 0

    private let phones: Int
    private let loopback: Loopback
    private let epoll: Epoll
    private let thread: PhoneThread
    private var buffer = [UInt8](repeating: 0, count: 2_048)
    /// Bytes of a request that have come, by connection.
    private var received: [Int32: Int] = [:]

    /// - Parameter phones: how many are woken in a lap, all at once.
    init(phones: Int) throws(BenchmarkError) {
        self.phones = phones
        loopback = try Loopback(backlog: phones)
        epoll = try Epoll()
        try epoll.add(loopback.descriptor, as: Self.listenerNumber)
        thread = try PhoneThread { [connector = loopback.connector] next in
            while next() { try Self.wake(phones, connector) }
        }
    }

    /// Ends the phones. To be called once, at the end.
    /// - Returns: what has stopped them before.
    func end() -> BenchmarkError? {
        // Phones that nobody has accepted wait as well.
        shutdown(loopback.descriptor, Int32(SHUT_RDWR))
        for socket in received.keys { close(socket) }
        return thread.end()
    }

    /// Has each phone come and go.
    func lap() throws(BenchmarkError) {
        var left = phones
        thread.startLap()
        while left > 0 {
            for index in 0..<(try epoll.wait()) {
                let number = epoll.number(index)
                if number == Self.listenerNumber {
                    let socket = try loopback.accept()
                    try epoll.add(socket, as: Int(socket))
                    received[socket] = 0
                } else if try !serve(Int32(number)) {
                    left -= 1
                }
            }
        }
    }

    /// - Returns: false when the connection is over.
    private func serve(_ socket: Int32) throws(BenchmarkError) -> Bool {
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count >= 0 else { throw .system("recv") }
        guard count > 0 else {
            close(socket)
            received[socket] = nil
            return false
        }
        received[socket, default: 0] += count
        guard received[socket] == Self.request.count else { return true }
        let sent = send(socket, Self.response, Self.response.count, Int32(MSG_NOSIGNAL))
        guard sent == Self.response.count else { throw .system("send") }
        return true
    }

    /// So many phones connect, upgrade and go, on the phones' thread.
    private static func wake(_ count: Int, _ connector: Loopback.Connector) throws(BenchmarkError) {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        var buffer = [UInt8](repeating: 0, count: 2_048)
        for _ in 0..<count {
            let socket = try connector.connect()
            sockets.append(socket)
            guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
                throw .system("a phone's send")
            }
        }
        for socket in sockets {
            guard recv(socket, &buffer, response.count, Int32(MSG_WAITALL)) == response.count else {
                throw .system("a phone's recv")
            }
        }
    }
}

@available(*, unavailable)
extension WakeSockets: Sendable {}
