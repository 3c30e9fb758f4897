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

    struct Stream: Sendable {
        let id: Int32
        let push: PushMachine.PushIndex
        let openedAt: Instant
    }

    let id: PushConnectionID
    private(set) var phase: Phase
    /// What the peer allows now; 0 until its SETTINGS are there.
    var streamLimit = 0
    /// Slots held for pushes that are announced and not yet sent.
    var reserved = 0
    /// Open streams, in the order of their ids and so of their age.
    private(set) var streams = Deque<Stream>()
    /// Of streams whose answer has begun and not ended. Nearly always empty: it is asked for when time is up.
    private var answersSoFar: [Int32: PushAnswer] = [:]
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
    func free(atMost most: Int) -> Int {
        min(streamLimit, most) - streams.count - reserved
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

    /// When the answer is due that is due first; nil while none is awaited.
    func patienceEnds(policy: PushPolicy) -> Instant? {
        streams.first.map { $0.openedAt + policy.requestTimeout }
    }

    mutating func add(_ push: PushMachine.PushIndex, stream: Int32, now: Instant) {
        // Silence counts from when somebody began to wait, not from the last answer of an hour ago.
        if streams.isEmpty, pingSentAt == nil { lastRead = now }
        if let last = streams.last { precondition(last.id < stream, "stream ids only grow") }
        streams.append(Stream(id: stream, push: push, openedAt: now))
    }

    /// Takes the stream out, which is over; nil when it was given up before.
    mutating func remove(stream: Int32) -> Stream? {
        let index = position(of: stream)
        guard index < streams.count, streams[index].id == stream else { return nil }
        if !answersSoFar.isEmpty { answersSoFar[stream] = nil }
        return index == 0 ? streams.removeFirst() : streams.remove(at: index)
    }

    /// Keeps what has come of an answer; of no account when the stream is over.
    mutating func note(_ answer: PushAnswer, of stream: Int32) {
        if index(of: stream) != nil { answersSoFar[stream] = answer }
    }

    func answerSoFar(of stream: Int32) -> PushAnswer? { answersSoFar[stream] }

    /// Takes out the streams above `lastStream`, which the peer has not processed (RFC 9113, 6.8).
    mutating func removeStreams(above lastStream: Int32) -> [PushMachine.PushIndex] {
        let index = lastStream == .max ? streams.count : position(of: lastStream + 1)
        let refused = streams[index...].map(\.push)
        for stream in streams[index...] where !answersSoFar.isEmpty { answersSoFar[stream.id] = nil }
        streams.removeSubrange(index...)
        return refused
    }

    private func index(of stream: Int32) -> Int? {
        let index = position(of: stream)
        return index < streams.count && streams[index].id == stream ? index : nil
    }

    /// The index of the first stream that is not below `stream`.
    private func position(of stream: Int32) -> Int {
        var low = 0
        var high = streams.count
        while low < high {
            let middle = (low + high) / 2
            if streams[middle].id < stream { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
