import EventLoop
import Glibc
import TLS

/// The contexts of a shard: one, or, for many connections without TLS, one for each range of descriptor numbers.
///
/// Debian's libwebsockets (4.1.6) is built with assertions. When a connection without TLS closes, one of them scans
/// every descriptor number of the context and every open connection. A smaller range shortens both scans. A context is
/// created for the first connection in its range. Used on the loop's thread.
package final class ServerContexts {
    /// The fewest descriptor numbers in a range of a sole shard.
    package static let minimumWidth = 4096
    /// The most ranges of a sole shard. Each has tables of 16 bytes a number, for its own and all lower numbers.
    private static let mostRanges = 32

    private let loop: EventLoop
    private let role: ServerRole
    /// The numbers in each range; nil for a single range.
    private let width: Int?
    /// By range; nil before the range's first connection.
    private var contexts: [LWSContext?] = []
    private var isDestroyed = false

    /// - Parameter width: the numbers in each range, see ``width(connections:shards:hasTLS:limit:)``; nil for a single
    ///   range.
    /// - Throws: ``LWSError`` when the library cannot create the context.
    package init(loop: EventLoop, role: ServerRole, width: Int?) throws {
        loop.assertIsCurrent()
        self.loop = loop
        self.role = role
        self.width = width
        _ = try context(for: 0)
    }

    /// The best number of descriptor numbers in each range. nil, a single range, for few connections, or for TLS, where
    /// the library does not scan.
    /// - Parameters:
    ///   - connections: the limit of all shards together.
    ///   - shards: they share the descriptor numbers, so each has a fraction of a range.
    ///   - limit: of this process's descriptors.
    package static func width(
        connections: Int, shards: Int, hasTLS: Bool, limit: Int = DescriptorLimit.current
    ) -> Int? {
        guard !hasTLS, connections > minimumWidth else { return nil }
        return max(minimumWidth, (limit + mostRanges - 1) / mostRanges) * shards
    }

    package var count: Int { contexts.count { $0 != nil } }

    /// Takes over a connected, non-blocking descriptor.
    /// - Returns: false when the adoption failed; the descriptor is closed, and `socketReleased` is not called.
    package func adopt(_ descriptor: Int32, as admission: Admission = Admission()) -> Bool {
        // After a failed creation (memory), the next connection tries again.
        guard !isDestroyed, let context = try? context(for: Int(descriptor)) else {
            close(descriptor)
            return false
        }
        return context.adopt(descriptor, as: admission)
    }

    private func context(for descriptor: Int) throws -> LWSContext {
        let range = width.map { descriptor / $0 } ?? 0
        while contexts.count <= range { contexts.append(nil) }
        if let context = contexts[range] { return context }
        let context = try LWSContext(loop: loop, role: .server(role), numbersBelow: width.map { $0 * (range + 1) })
        contexts[range] = context
        return context
    }

    /// Replaces the certificate for new handshakes. Open connections and handshakes in progress continue. Requires TLS.
    package func replaceCertificate(with certificate: TLSCertificate) {
        for context in contexts { context?.replaceCertificate(with: certificate) }
    }

    /// Closes all connections without a close handshake and frees the library's state, in the next turns of the loop.
    /// Only the first call counts.
    /// - Parameter completion: runs on the loop when all contexts are freed.
    package func destroy(_ completion: @escaping () -> Void) {
        guard !isDestroyed else { return }
        isDestroyed = true
        var left = count
        for case let context? in contexts {
            context.destroy {
                left -= 1
                if left == 0 { completion() }
            }
        }
    }
}

@available(*, unavailable)
extension ServerContexts: Sendable {}
