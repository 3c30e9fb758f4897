import EventLoop
import Glibc
import LibWebSockets

/// Reads the PROXY protocol headers of accepted connections, and not a byte more: the bytes after the header, TLS or
/// HTTP, stay in the kernel for the shard. Confined to the acceptor's loop.
final class ProxyHeaders {
    /// The most connections that wait for the rest of their header. A proxy sends it at once, so the oldest gives way.
    static let mostWaiting = 1024

    /// A connection whose header is not whole.
    private final class Waiting {
        let descriptor: Int32
        let proxy: PeerAddress
        /// In milliseconds of the loop's clock.
        let deadline: UInt64
        var header = ProxyHeader()
        var watch: DescriptorWatch?

        init(_ descriptor: Int32, from proxy: PeerAddress, deadline: UInt64) {
            self.descriptor = descriptor
            self.proxy = proxy
            self.deadline = deadline
        }
    }

    private enum Progress {
        case incomplete
        case whole
        case failed(ProxyHeader.Fault)
        /// The connection ended before its first byte, as a load balancer's check does, or broke.
        case gone
    }

    private let loop: EventLoop
    private let span: Duration
    private let onHeader: (Int32, _ proxy: PeerAddress, ProxyHeader) -> Void
    private let onFault: (_ proxy: PeerAddress, ProxyHeader.Fault) -> Void
    /// By number, in the order of their deadlines.
    private var waiting: [UInt64: Waiting] = [:]
    private var first: UInt64 = 0
    private var next: UInt64 = 0
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - span: the time for a header.
    ///   - onHeader: takes over a descriptor whose header is read.
    ///   - onFault: a descriptor was closed for its header.
    init(
        loop: EventLoop, span: Duration, onHeader: @escaping (Int32, PeerAddress, ProxyHeader) -> Void,
        onFault: @escaping (PeerAddress, ProxyHeader.Fault) -> Void
    ) {
        self.loop = loop
        self.span = span
        self.onHeader = onHeader
        self.onFault = onFault
        timer = LoopTimer(loop: loop) { [weak self] in self?.deadlinePassed() }
    }

    deinit {
        for connection in waiting.values {
            connection.watch = nil
            close(connection.descriptor)
        }
    }

    var count: Int { waiting.count }

    /// Takes over an accepted descriptor. The header has usually arrived with the connection.
    func read(_ descriptor: Int32, from proxy: PeerAddress) {
        let deadline = loop.milliseconds + UInt64(span / .milliseconds(1))
        let connection = Waiting(descriptor, from: proxy, deadline: deadline)
        guard !advance(connection) else { return }
        let number = next
        do {
            connection.watch = try DescriptorWatch(loop: loop, descriptor: descriptor) { [weak self] in
                self?.readable(number)
            }
        } catch {
            close(descriptor)
            return
        }
        if waiting.count >= Self.mostWaiting { expire(first) }
        next += 1
        waiting[number] = connection
        if waiting.count == 1 {
            first = number
            timer?.start(after: span)
        }
    }

    private func readable(_ number: UInt64) {
        guard let connection = waiting[number], advance(connection) else { return }
        remove(number)
    }

    private func remove(_ number: UInt64) {
        waiting[number] = nil
        while first < next, waiting[first] == nil { first += 1 }
    }

    private func expire(_ number: UInt64) {
        guard let connection = waiting[number] else { return }
        // After the process was stopped, the header waits in the kernel.
        if !advance(connection) { end(connection, .failed(.late)) }
        remove(number)
    }

    private func deadlinePassed() {
        while let oldest = waiting[first], oldest.deadline <= loop.milliseconds { expire(first) }
        guard let oldest = waiting[first] else { return }
        timer?.start(after: .milliseconds(Int64(oldest.deadline - loop.milliseconds)))
    }

    /// Reads what has arrived.
    /// - Returns: whether the connection is done with: handed over, or closed.
    private func advance(_ connection: Waiting) -> Bool {
        let progress = Self.read(connection.descriptor, into: &connection.header)
        if case .incomplete = progress { return false }
        end(connection, progress)
        return true
    }

    private func end(_ connection: Waiting, _ progress: Progress) {
        // Before the descriptor is closed, or watched by a shard.
        connection.watch = nil
        switch progress {
        case .incomplete: preconditionFailure("an incomplete header waits")
        case .whole: onHeader(connection.descriptor, connection.proxy, connection.header)
        case .failed(let fault):
            // Told before the proxy sees the close.
            onFault(connection.proxy, fault)
            close(connection.descriptor)
        case .gone: close(connection.descriptor)
        }
    }

    private static func read(_ descriptor: Int32, into header: inout ProxyHeader) -> Progress {
        var bytes = [UInt8](repeating: 0, count: ProxyHeader.longest)
        while true {
            let got = recv(descriptor, &bytes, bytes.count, Int32(MSG_PEEK | MSG_DONTWAIT))
            if got < 0, errno == EINTR { continue }
            if got < 0 { return errno == EAGAIN ? .incomplete : .gone }
            if got == 0 { return header.count == 0 ? .gone : .failed(.ended) }
            let part: (taken: Int, isWhole: Bool)
            do throws(ProxyHeader.Fault) {
                part = try header.read(bytes[..<got])
            } catch {
                return .failed(error)
            }
            // Removes from the kernel what the parser has taken.
            _ = recv(descriptor, &bytes, part.taken, Int32(MSG_DONTWAIT))
            if part.isWhole { return .whole }
        }
    }
}

@available(*, unavailable)
extension ProxyHeaders: Sendable {}
