import PostgresStore
import StoreInterface

/// The lease of this process as the home, and the clock of the database. May be used from any thread.
struct HomeLease: Sendable {
    let term: TermView
    /// The database's clock less this machine's at the take-over, in milliseconds.
    let clockOffset: Int64
    private let end = AwaitedValue<TermEnd>()

    init(_ store: PostgresStore) {
        term = store.term
        clockOffset = store.clockOffset
        store.whenTermEnds { [end] in end.give($0) }
    }

    /// Returns when this process has to stop being the home; nil when the task is cancelled.
    func termEnd() async -> TermEnd? { await end.wait() }
}
