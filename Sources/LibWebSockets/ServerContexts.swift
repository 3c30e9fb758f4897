import EventLoop
import Glibc
import TLS

/// What serves the connections of a shard: one context, or, for many connections without TLS, one for each range of
/// descriptors' numbers.
///
/// Debian's libwebsockets (4.1.6) is built with its own checks. Whenever a connection without TLS is closed, one of them
/// looks at each number that a descriptor of the context may have, and at each connection that the context has open. So a
/// context has connections of its range only, and knows of no numbers beyond it. It is made when the first one comes. Used on
/// the loop's thread.
package final class ServerContexts {
    /// How many numbers belong to a range of a sole shard, at least.
    package static let minimumWidth = 4096
    /// Ranges of a sole shard, at most: each has tables, of 16 bytes a number, for its own numbers and all lower ones.
    private static let mostRanges = 32

    private let loop: EventLoop
    private let role: ServerRole
    /// How many numbers belong to each range; nil where all are one.
    private let width: Int?
    /// By range; nil for those that no connection has come in.
    private var contexts: [LWSContext?] = []
    private var isDestroyed = false

    /// - Parameter width: how many numbers belong to each range, see ``width(connections:shards:hasTLS:limit:)``; nil for one
    ///   range of all.
    /// - Throws: ``LWSError`` when the library cannot set itself up.
    package init(loop: EventLoop, role: ServerRole, width: Int?) throws {
        loop.assertIsCurrent()
        self.loop = loop
        self.role = role
        self.width = width
        _ = try context(for: 0)
    }

    /// How many numbers should belong to a range; nil for one range of all: with few connections, or where their TLS is the
    /// library's own, which closes them without that check.
    /// - Parameters:
    ///   - connections: of all shards together, at most.
    ///   - shards: all take their connections' numbers from the same, so that a range of each has its share of them only.
    ///   - limit: of this process's descriptors.
    package static func width(
        connections: Int, shards: Int, hasTLS: Bool, limit: Int = DescriptorLimit.current
    ) -> Int? {
        guard !hasTLS, connections > minimumWidth else { return nil }
        return max(minimumWidth, (limit + mostRanges - 1) / mostRanges) * shards
    }

    /// How many there are.
    package var count: Int { contexts.count { $0 != nil } }

    /// Takes over a connected, non-blocking descriptor.
    /// - Returns: false when that failed; it is closed then, and `socketReleased` does not come.
    package func adopt(_ descriptor: Int32, as admission: Admission = Admission()) -> Bool {
        // Without a context, for which memory has run out, the next connection tries again.
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
