import CallVocabulary

/// Whether pushes are sent with a credential that was refused again and again.
public enum PushCircuit: Equatable, Sendable {
    case closed
    /// Every push waits until then, for a while; the first one after it is the probe.
    case open(until: Instant, reason: String)
    /// One push tries the credential; the others wait for its answer, for a while.
    case probing(PushID, reason: String)

    /// The push that tries the credential.
    public var probe: PushID? {
        if case .probing(let probe, _) = self { probe } else { nil }
    }

    /// Why it is not closed.
    public var reason: String? {
        switch self {
        case .closed: nil
        case .open(_, let reason), .probing(_, let reason): reason
        }
    }
}

/// Opens and closes the circuit.
///
/// ```
/// closed ─refused to 3 pushes in a row─▶ open ─cooled off─▶ probing ─taken─▶ closed
///                                     ▲                    │
///                                     └─────refused────────┘
/// ```
struct CircuitBreaker: Sendable {
    private(set) var state = PushCircuit.closed
    /// When it was last closed and opened; of no account while it is closed.
    private(set) var openSince = Instant(milliseconds: .min)
    private var coolOff: Backoff
    /// When the probe was let through.
    private var probedAt = Instant(milliseconds: .min)

    init(policy: PushPolicy) {
        coolOff = Backoff(policy.circuitBackoff)
    }

    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether a push may be sent.
    func lets(_ push: PushID) -> Bool {
        switch state {
        case .closed: true
        case .open: false
        case .probing(let probe, _): probe == push
        }
    }

    /// The credential was refused to `push`.
    /// - Parameter isBad: whether that has happened often enough.
    /// - Returns: whether the circuit has just opened.
    mutating func refused(
        _ push: PushID, isBad: Bool, reason: String, now: Instant, random: inout some RandomNumberGenerator
    ) -> Bool {
        switch state {
        case .closed:
            guard isBad else { return false }
            openSince = now
        // What was on the wire when it opened.
        case .open: return false
        case .probing(let probe, _): guard probe == push else { return false }
        }
        state = .open(until: now + coolOff.failed(random: &random), reason: reason)
        return true
    }

    /// Makes `push` the probe if it is time for one.
    mutating func probe(with push: PushID, now: Instant) {
        guard case .open(let until, let reason) = state, until <= now else { return }
        probedAt = now
        state = .probing(push, reason: reason)
    }

    /// A push has gone without a word about the credential: if it was the probe, the next is.
    mutating func left(_ push: PushID) {
        guard case .probing(push, let reason) = state else { return }
        state = .open(until: probedAt, reason: reason)
    }

    /// The provider took the credential.
    mutating func close() {
        state = .closed
        coolOff.succeeded()
    }
}
