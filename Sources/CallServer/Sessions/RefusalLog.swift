import CallVocabulary
import LibWebSockets
import Logging
import Synchronization

/// Somebody who was turned away.
struct Refusal: Sendable {
    /// What was refused.
    enum Kind: String, Sendable {
        case session = "session refused"
        case handshake = "handshake refused"
        case request = "request refused"
        case administrator = "administrator refused"
        case abuse = "closed for abuse"
    }

    var kind: Kind
    var peer: PeerAddress
    /// A word of a closed list.
    var reason: String
    /// A sentence for people.
    var detail: String?
    var user: Handle?
    var device: DeviceID?
}

/// Writes a line for who was turned away, at notice, so that the ninth bad token is seen and the nine-thousandth floods
/// nothing: of one reason and one address ``linesEach`` lines in ``window``, then one line with the count of the others.
///
/// Any thread.
final class RefusalLog: Sendable {
    static let linesEach = 5
    static let window = Duration.seconds(60)
    /// Reasons and addresses told apart at a time. Beyond these, addresses are taken together.
    static let mostKeys = 1024

    private struct Key: Hashable {
        let kind: Refusal.Kind
        let reason: String
        /// nil: all that there is no room for.
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

    /// Tells what was withheld in windows that are over. To be called now and then.
    func sweep(now: Instant) {
        tell(entries.withLock { Self.takeEnded(&$0, now) }, now)
    }

    /// Tells what was withheld so far. At the end.
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
            log.notice("\(key.kind.rawValue), and more than were logged", metadata: metadata)
        }
    }
}
