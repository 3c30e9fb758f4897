import CallVocabulary

/// Decides whether the hook is asked: after ``failuresToOpen`` failures in a row only one question each
/// ``probePause``, until one is answered. Pure.
struct AuthorizationCircuit {
    static let failuresToOpen = 5
    static let probePause = Duration.seconds(3)

    /// In a row.
    private(set) var failures = 0
    /// Set while the circuit is open.
    private var nextProbe: Instant?

    var isOpen: Bool { nextProbe != nil }

    mutating func admits(at now: Instant) -> Bool {
        guard let nextProbe else { return true }
        guard now >= nextProbe else { return false }
        self.nextProbe = now + Self.probePause
        return true
    }

    mutating func succeeded() { (failures, nextProbe) = (0, nil) }

    mutating func failed(at now: Instant) {
        failures += 1
        if failures >= Self.failuresToOpen { nextProbe = now + Self.probePause }
    }
}
