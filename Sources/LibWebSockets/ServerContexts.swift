import EventLoop
import Glibc

/// What serves the connections of a shard: a context with TLS, or without it one for each range of descriptors' numbers.
///
/// Debian's libwebsockets (4.1.6) is built with its own checks. Whenever a connection without TLS is closed, one of them
/// looks at each number that a descriptor of the context may have, and at each connection that the context has open. So a
/// context has connections of its range only, and knows of no numbers beyond it. It is made when the first one comes. Used on
/// the loop's thread.
package final class ServerContexts {
    /// How many numbers belong to a range, at least.
    package static let narrowest = 4096
    /// Each range has tables for its own numbers and all lower ones, so that there are so many at most.
    private static let most = 32

    private let loop: EventLoop
    private let role: ServerRole
    /// How many numbers belong to each range; nil with TLS, where all are one.
    private let span: Int?
    /// By range; nil for those that no connection has come in.
    private var contexts: [LWSContext?] = []
    private var isDestroyed = false

    /// - Parameters:
    ///   - shards: how many have a part of the connections, whose numbers are in no order.
    ///   - narrowest: as ``narrowest``, with one shard.
    ///   - limit: of this process's descriptors.
    /// - Throws: ``LWSError`` when the library cannot set itself up.
    package init(
        loop: EventLoop, role: ServerRole, shards: Int, narrowest: Int = ServerContexts.narrowest,
        limit: Int = DescriptorLimit.current
    ) throws {
        loop.assertIsCurrent()
        self.loop = loop
        self.role = role
        span = role.tls == nil ? Self.span(limit: limit, shards: shards, narrowest: narrowest) : nil
        _ = try context(for: 0)
    }

    package static func span(limit: Int, shards: Int, narrowest: Int = ServerContexts.narrowest) -> Int {
        max(narrowest, (limit + most - 1) / most) * shards
    }

    /// How many there are.
    package var count: Int { contexts.count { $0 != nil } }

    /// Takes over a connected, non-blocking descriptor.
    /// - Returns: false when that failed; it is closed then, and `descriptorReleased` does not come.
    package func adopt(_ descriptor: Int32) -> Bool {
        guard !isDestroyed, let context = try? context(for: Int(descriptor)) else {
            close(descriptor)
            return false
        }
        return context.adopt(descriptor)
    }

    private func context(for descriptor: Int) throws -> LWSContext {
        let range = span.map { descriptor / $0 } ?? 0
        while contexts.count <= range { contexts.append(nil) }
        if let context = contexts[range] { return context }
        let context = try make(span.map { $0 * (range + 1) })
        contexts[range] = context
        return context
    }

    private func make(_ descriptors: Int?) throws -> LWSContext {
        // Where all numbers up to there are taken, there is none for what the library opens itself.
        if let descriptors, let context = try? LWSContext(loop: loop, role: .server(role), descriptors: descriptors) {
            return context
        }
        return try LWSContext(loop: loop, role: .server(role))
    }

    /// From now on handshakes show this certificate. Connections go on, those in their handshake too. Only where it began
    /// with one.
    package func replaceCertificate(with certificate: TLSCertificate) {
        for context in contexts { context?.replaceCertificate(with: certificate) }
    }

    /// Closes what is open without ceremony and lets go of the library's state, in the next turns of the loop. Only the first
    /// call counts.
    /// - Parameter completion: runs on the loop when nothing is left.
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
