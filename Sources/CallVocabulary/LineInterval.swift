/// Allows one log line of a kind in ten seconds, for lines whose number a peer decides.
public struct LineInterval<Kind: Hashable> {
    private var quietUntil: [Kind: Instant] = [:]

    public init() {}

    /// Whether the line may be written. Counters count what the others would have told.
    public mutating func allows(_ kind: Kind, at now: Instant) -> Bool {
        if let end = quietUntil[kind], now < end { return false }
        quietUntil[kind] = now + .seconds(10)
        return true
    }
}
