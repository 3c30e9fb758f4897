/// How long a commit waits for further batches, so that fewer commits are made under load: one for several batches
/// costs about as much as for one.
struct CommitWindow {
    /// A commit that follows the begin of another sooner waits for the rest of this time.
    static let interval = Duration.microseconds(1500)
    /// After this many waits in a row that brought no second batch, waiting costs time and saves nothing.
    static let mostInVain = 4
    /// How many commits then begin without a wait.
    static let commitsWithoutWait = 64

    private var lastBegan: ContinuousClock.Instant?
    private var hasWaited = false
    private var inVain = 0
    private var withoutWait = 0

    /// - Returns: how long the commit of a batch that came at `now` waits; nil when it begins at once.
    mutating func wait(at now: ContinuousClock.Instant) -> Duration? {
        guard withoutWait == 0, let lastBegan, now - lastBegan < Self.interval else { return nil }
        hasWaited = true
        return Self.interval - (now - lastBegan)
    }

    mutating func commitBegan(at now: ContinuousClock.Instant, batches: Int) {
        lastBegan = now
        if withoutWait > 0 { withoutWait -= 1 }
        guard hasWaited else { return }
        hasWaited = false
        inVain = batches > 1 ? 0 : inVain + 1
        if inVain == Self.mostInVain { (inVain, withoutWait) = (0, Self.commitsWithoutWait) }
    }
}
