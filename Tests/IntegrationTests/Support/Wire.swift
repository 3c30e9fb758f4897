import Foundation
import Glibc
import Synchronization

/// The network between phones and a server: it forwards everything, until a test makes it drop everything silently, or
/// reset connections.
final class Wire: Sendable {
    struct Failure: Error {
        let operation: String
        let errno: Int32
    }

    private enum Condition: Int {
        case up
        /// Data is dropped; neither end is told.
        case silent
        /// Reset, as by a router that lost the connection's state.
        case broken
        case closed
    }

    /// One connection of a phone.
    private final class Link: Sendable {
        let condition = Atomic(Condition.up.rawValue)
    }

    /// The address for phones.
    let address: String
    private let listener: Int32
    private let target: UInt16
    private let links = Mutex<[Link]>([])
    private let isClosed = Atomic(false)
    private let takesConnections = Atomic(true)

    /// - Parameter server: `host:port`, on this machine.
    init(to server: some CustomStringConvertible) throws {
        guard let port = "\(server)".split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Failure(operation: "port of \(server)", errno: EINVAL)
        }
        let (listener, ownPort) = try Self.listener()
        target = port
        self.listener = listener
        address = "127.0.0.1:\(ownPort)"
        Thread.detachNewThread { self.accept() }
    }

    private static func listener() throws -> (descriptor: Int32, port: UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let bound = withLoopback(port: 0) { bind(listener, $0, $1) }
        guard bound == 0, listen(listener, 64) == 0 else { throw Failure(operation: "listen", errno: errno) }
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        guard named == 0 else { throw Failure(operation: "getsockname", errno: errno) }
        return (listener, UInt16(bigEndian: name.sin_port))
    }

    /// Silently drops all data on existing connections; both ends consider them open. Later connections work.
    func goSilent() { set(.silent) }

    /// Resets existing connections, without a close frame or an end of stream. Later connections work unless `forGood`.
    func `break`(forGood: Bool = false) {
        if forGood { takesConnections.store(false, ordering: .releasing) }
        set(.broken)
    }

    func repair() { takesConnections.store(true, ordering: .releasing) }

    func close() {
        isClosed.store(true, ordering: .releasing)
        set(.closed)
    }

    private func set(_ condition: Condition) {
        links.withLock { links in
            for link in links { link.condition.store(condition.rawValue, ordering: .releasing) }
            links = condition == .silent ? links : []
        }
    }

    // MARK: Threads

    /// The longest delay of a thread until it sees a request, in milliseconds.
    private static let patience: Int32 = 10

    private func accept() {
        while !isClosed.load(ordering: .acquiring) {
            var ready = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, Self.patience) > 0 else { continue }
            let phone = Glibc.accept(listener, nil, nil)
            guard phone >= 0 else { continue }
            let server = takesConnections.load(ordering: .acquiring) ? connectToServer() : nil
            guard let server else {
                Self.reset(phone)
                continue
            }
            let link = Link()
            links.withLock { $0.append(link) }
            Thread.detachNewThread { Self.carry(link, phone, server) }
        }
        Glibc.close(listener)
    }

    private func connectToServer() -> Int32? {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard Self.withLoopback(port: target, { connect(server, $0, $1) }) == 0 else {
            Glibc.close(server)
            return nil
        }
        return server
    }

    private static func carry(_ link: Link, _ phone: Int32, _ server: Int32) {
        for end in [phone, server] {
            var noDelay: Int32 = 1
            setsockopt(end, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        }
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var ends = [
            pollfd(fd: phone, events: Int16(POLLIN), revents: 0), pollfd(fd: server, events: Int16(POLLIN), revents: 0),
        ]
        var condition = Condition.up
        carrying: while ends.contains(where: { $0.fd >= 0 }) {
            _ = poll(&ends, 2, patience)
            // Force-unwrap: only raw values of cases are stored.
            condition = Condition(rawValue: link.condition.load(ordering: .acquiring))!
            if condition == .broken || condition == .closed { break }
            for index in ends.indices where ends[index].revents != 0 {
                let count = recv(ends[index].fd, &chunk, chunk.count, 0)
                if count > 0 {
                    if condition == .up, !send(chunk.prefix(count), to: index == 0 ? server : phone) { break carrying }
                } else if condition == .up {
                    break carrying
                } else {
                    // One end has closed; the other must not notice.
                    ends[index].fd = -1
                }
            }
        }
        // Both ends of a silent connection have closed.
        for end in [phone, server] {
            if condition == .broken { reset(end) } else { Glibc.close(end) }
        }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to end: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(end, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }

    private static func reset(_ end: Int32) {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        setsockopt(end, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
        Glibc.close(end)
    }

    private static func withLoopback<Value>(
        port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
    ) -> Value {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
