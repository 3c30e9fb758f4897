import CallVocabulary
import LibWebSockets
import Logging
import Synchronization

/// A refused client.
struct Refusal: Sendable {
    /// The kind of refusal.
    enum Kind: String, Sendable {
        case session = "session refused"
        case handshake = "handshake refused"
        case request = "request refused"
        case administrator = "administrator refused"
        case abuse = "closed for abuse"
    }

    var kind: Kind
    var peer: PeerAddress
    /// A reason from a closed list.
    var reason: String
    /// The reason as a sentence for people.
    var detail: String?
    var user: Handle?
    var device: DeviceID?
}

extension Refusal {
    init(_ handshake: HandshakeRefusal) {
        self.init(kind: .handshake, peer: handshake.peer, reason: handshake.reason, detail: handshake.detail)
    }
}

/// Logs refused clients at notice, rate-limited so that a flood of bad tokens does not flood the log. For each reason
/// and address there are ``linesEach`` lines in a ``window``, then one line with the count of the others.
///
/// Any thread.
final class RefusalLog: Sendable {
    static let linesEach = 5
    static let window = Duration.seconds(60)
    /// The most pairs of reason and address tracked at a time; beyond, addresses are merged.
    static let mostKeys = 1024

    private struct Key: Hashable {
        let kind: Refusal.Kind
        let reason: String
        /// nil for all addresses beyond ``mostKeys``.
        let network: PeerAddress?
    }

    private struct Entry {
        let since: Instant
        var lines = 0
        var withheld = 0
    }

    private let log: Logger
    private let entries = Mutex<[Key: Entry]>([:])

    init(log: Logger) {
        self.log = log
    }

    func write(_ refusal: Refusal, now: Instant) {
        var ended: [(Key, Entry)] = []
        let isWritten = entries.withLock { entries in
            if entries.count >= Self.mostKeys { ended = Self.takeEnded(&entries, now) }
            var key = Key(kind: refusal.kind, reason: refusal.reason, network: refusal.peer.network)
            if entries[key] == nil, entries.count >= Self.mostKeys {
                key = Key(kind: refusal.kind, reason: refusal.reason, network: nil)
            }
            var entry = entries[key] ?? Entry(since: now)
            if now - entry.since >= Self.window {
                ended.append((key, entry))
                entry = Entry(since: now)
            }
            let isWritten = entry.lines < Self.linesEach
            if isWritten { entry.lines += 1 } else { entry.withheld += 1 }
            entries[key] = entry
            return isWritten
        }
        tell(ended, now)
        if isWritten { write(refusal) }
    }

    /// Logs the counts of ended windows. Call it periodically.
    func sweep(now: Instant) {
        tell(entries.withLock { Self.takeEnded(&$0, now) }, now)
    }

    /// Logs all remaining counts, at the end.
    func finish(now: Instant) {
        let all = entries.withLock { entries in
            defer { entries = [:] }
            return Array(entries)
        }
        tell(all.map { ($0.key, $0.value) }, now)
    }

    private static func takeEnded(_ entries: inout [Key: Entry], _ now: Instant) -> [(Key, Entry)] {
        let ended = entries.filter { now - $0.value.since >= window }
        for key in ended.keys { entries[key] = nil }
        return ended.map { ($0.key, $0.value) }
    }

    private func write(_ refusal: Refusal) {
        var metadata: Logger.Metadata = [
            "address": .string(refusal.peer.description), "reason": .string(refusal.reason),
        ]
        if let user = refusal.user { metadata["user"] = .string(user.text) }
        if let device = refusal.device { metadata["device_id"] = .string(device.description) }
        if let detail = refusal.detail { metadata["detail"] = .string(detail) }
        log.notice("\(refusal.kind.rawValue)", metadata: metadata)
    }

    private func tell(_ ended: [(Key, Entry)], _ now: Instant) {
        for (key, entry) in ended where entry.withheld > 0 {
            var metadata: Logger.Metadata = [
                "more": .stringConvertible(entry.withheld), "reason": .string(key.reason),
                "seconds": .stringConvertible((now - entry.since).wholeMilliseconds / 1000),
            ]
            if let network = key.network { metadata["address"] = .string(network.description) }
            log.notice("\(key.kind.rawValue), repeated", metadata: metadata)
        }
    }
}
