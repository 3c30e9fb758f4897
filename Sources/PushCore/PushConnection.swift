import CallVocabulary
import DequeModule

/// A pool machine's state of one connection.
///
/// ```
/// opening ─▶ open ─▶ draining        (and gone from the pool once closed, or drained)
/// ```
struct PushConnection: Sendable {
    enum Phase: Sendable {
        case opening(since: Instant)
        case open
        /// Takes no new requests, after GOAWAY or because the pool retired it; answers are still awaited.
        case draining
    }

    struct Stream: Sendable {
        let id: Int32
        let push: PushMachine.PushIndex
        let openedAt: Instant
    }

    let id: PushConnectionID
    private(set) var phase: Phase
    /// The peer's limit; 0 until its SETTINGS have arrived.
    var streamLimit = 0
    /// Streams reserved for pushes that are announced and not yet sent.
    var reserved = 0
    /// Open streams, by id and therefore by age.
    private(set) var streams = Deque<Stream>()
    /// Answers of streams whose status has arrived and whose body has not ended. Usually empty; used on a timeout.
    private var answersSoFar: [Int32: PushAnswer] = [:]
    /// Whether a push on it was ever answered properly; until then a failure of it delays the next connection.
    var isProven = false
    /// Whether its failure was already counted in the pool's backoff.
    var isBlamed = false
    private(set) var lastRead: Instant
    var pingSentAt: Instant?
    /// No stream is reserved on it until then, because it refused one.
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

    /// Something was read: the connection is alive.
    mutating func heard(now: Instant) {
        lastRead = now
        pingSentAt = nil
    }

    /// Streams that can still be reserved; negative after the peer has lowered its limit.
    func free(atMost most: Int) -> Int {
        min(streamLimit, most) - streams.count - reserved
    }

    /// When the machine must look at the connection next, apart from its streams.
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

    /// When the earliest request times out; nil without requests.
    func patienceEnds(policy: PushPolicy) -> Instant? {
        streams.first.map { $0.openedAt + policy.requestTimeout }
    }

    mutating func add(_ push: PushMachine.PushIndex, stream: Int32, now: Instant) {
        // Silence counts from the first waiting request, not from the last answer before it.
        if streams.isEmpty, pingSentAt == nil { lastRead = now }
        if let last = streams.last { precondition(last.id < stream, "stream ids only grow") }
        streams.append(Stream(id: stream, push: push, openedAt: now))
    }

    /// Removes a stream that has ended; nil when it was given up before.
    mutating func remove(stream: Int32) -> Stream? {
        let index = position(of: stream)
        guard index < streams.count, streams[index].id == stream else { return nil }
        if !answersSoFar.isEmpty { answersSoFar[stream] = nil }
        return index == 0 ? streams.removeFirst() : streams.remove(at: index)
    }

    /// Keeps an incomplete answer; no effect when the stream has ended.
    mutating func note(_ answer: PushAnswer, of stream: Int32) {
        if index(of: stream) != nil { answersSoFar[stream] = answer }
    }

    func answerSoFar(of stream: Int32) -> PushAnswer? { answersSoFar[stream] }

    /// Removes the streams above `lastStream`, which the peer has not processed (RFC 9113, 6.8).
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

    /// The index of the first stream with an id of at least `stream`.
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
