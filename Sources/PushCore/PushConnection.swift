import CallVocabulary
import DequeModule

/// What a pool's machine knows of one of its connections.
///
/// ```
/// opening ─▶ open ─▶ draining        (and gone from the pool once closed, or drained)
/// ```
struct PushConnection: Sendable {
    enum Phase: Sendable {
        case opening(since: Instant)
        case open
        /// Takes nothing new (GOAWAY, or given up by us); what was sent is awaited.
        case draining
    }

    let id: PushConnectionID
    private(set) var phase: Phase
    /// What the peer allows now; 0 until its SETTINGS are there.
    var streamLimit = 0
    /// Slots held for pushes that are announced and not yet sent.
    var reserved = 0
    /// Open streams, in the order of their ids.
    private(set) var streams = Deque<(stream: Int32, push: PushID)>()
    /// Whether it has ever answered a push as it should: only then was it worth opening.
    var isProven = false
    /// Whether it was held against the pool's backoff already.
    var isBlamed = false
    private(set) var lastRead: Instant
    var pingSentAt: Instant?
    /// Until when nothing is reserved on it, because it refused a stream.
    var pausedUntil: Instant?
    var refusals: Backoff

    init(id: PushConnectionID, policy: PushPolicy, now: Instant) {
        self.id = id
        phase = .opening(since: now)
        lastRead = now
        refusals = Backoff(policy.refusalBackoff)
    }

    var isOpening: Bool {
        if case .opening = phase { true } else { false }
    }

    var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    var isDraining: Bool {
        if case .draining = phase { true } else { false }
    }

    mutating func opened(streamLimit: Int, now: Instant) {
        phase = .open
        self.streamLimit = streamLimit
        heard(now: now)
    }

    mutating func drain() {
        phase = .draining
    }

    /// Something was read: it lives.
    mutating func heard(now: Instant) {
        lastRead = now
        pingSentAt = nil
    }

    /// Streams that may still be reserved; negative after the peer has lowered its limit.
    func free(policy: PushPolicy) -> Int {
        min(streamLimit, policy.streamsPerConnection) - streams.count - reserved
    }

    /// When the machine has to look at the connection next, on the connection's own account.
    func deadline(policy: PushPolicy) -> Instant {
        switch phase {
        case .opening(let since): since + policy.connectTimeout
        case .open, .draining:
            if let pingSentAt {
                pingSentAt + policy.pingTimeout
            } else {
                lastRead + (streams.isEmpty ? policy.idlePingAfter : policy.pingAfter)
            }
        }
    }

    mutating func add(_ push: PushID, stream: Int32, now: Instant) {
        // Silence counts from when somebody began to wait, not from the last answer of an hour ago.
        if streams.isEmpty, pingSentAt == nil { lastRead = now }
        if let last = streams.last { precondition(last.stream < stream, "stream ids only grow") }
        streams.append((stream, push))
    }

    func push(on stream: Int32) -> PushID? {
        let index = position(of: stream)
        return index < streams.count && streams[index].stream == stream ? streams[index].push : nil
    }

    mutating func remove(stream: Int32) {
        let index = position(of: stream)
        precondition(index < streams.count && streams[index].stream == stream, "a stream ends once")
        streams.remove(at: index)
    }

    /// Takes out the streams above `lastStream`, which the peer has not processed (RFC 9113, 6.8).
    mutating func removeStreams(above lastStream: Int32) -> [PushID] {
        let index = lastStream == .max ? streams.count : position(of: lastStream + 1)
        let refused = streams[index...].map(\.push)
        streams.removeSubrange(index...)
        return refused
    }

    /// The index of the first stream that is not below `stream`.
    private func position(of stream: Int32) -> Int {
        var low = 0
        var high = streams.count
        while low < high {
            let middle = (low + high) / 2
            if streams[middle].stream < stream { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
