import CallVocabulary

/// The circuit breaker of a credential that is refused repeatedly.
public enum PushCircuit: Equatable, Sendable {
    case closed
    /// All pushes wait until then, up to ``PushPolicy/circuitPatience``; the first one after it is the probe.
    case open(until: Instant, reason: String)
    /// One push probes the credential; the others wait for its answer, up to ``PushPolicy/circuitPatience``.
    case probing(PushID, reason: String)

    /// The push that probes the credential.
    public var probe: PushID? {
        if case .probing(let probe, _) = self { probe } else { nil }
    }

    /// Why the circuit is not closed.
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
    /// When it last changed from closed to open; meaningless while it is closed.
    private(set) var openSince = Instant(milliseconds: .min)
    private var coolOff: Backoff
    /// When the probe was admitted.
    private var probedAt = Instant(milliseconds: .min)

    init(policy: PushPolicy) {
        coolOff = Backoff(policy.circuitBackoff)
    }

    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether the push may be sent.
    func lets(_ push: PushID) -> Bool {
        switch state {
        case .closed: true
        case .open: false
        case .probing(let probe, _): probe == push
        }
    }

    /// Records that the provider refused the credential of `push`.
    /// - Parameter isBad: whether the credential was refused often enough to open the circuit.
    /// - Returns: whether the circuit has just opened.
    mutating func refused(
        _ push: PushID, isBad: Bool, reason: String, now: Instant, random: inout some RandomNumberGenerator
    ) -> Bool {
        switch state {
        case .closed:
            guard isBad else { return false }
            openSince = now
        // The push was on the wire when the circuit opened.
        case .open: return false
        case .probing(let probe, _): guard probe == push else { return false }
        }
        state = .open(until: now + coolOff.failed(random: &random), reason: reason)
        return true
    }

    /// Makes `push` the probe if one is due.
    mutating func probe(with push: PushID, now: Instant) {
        guard case .open(let until, let reason) = state, until <= now else { return }
        probedAt = now
        state = .probing(push, reason: reason)
    }

    /// A push ended without a verdict on the credential: if it was the probe, the next push probes.
    mutating func left(_ push: PushID) {
        guard case .probing(push, let reason) = state else { return }
        state = .open(until: probedAt, reason: reason)
    }

    /// Closes the circuit: the provider accepted the credential.
    mutating func close() {
        state = .closed
        coolOff.succeeded()
    }
}
