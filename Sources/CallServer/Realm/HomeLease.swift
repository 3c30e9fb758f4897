import PostgresStore
import StoreInterface

/// The lease of this process as the home. May be used from any thread.
struct HomeLease: Sendable {
    let term: TermView
    private let database: PostgresAddress
    private let kept: KeptConnection
    private let end = AwaitedValue<TermEnd>()

    init(_ store: PostgresStore, in database: PostgresAddress) {
        self.database = database
        term = store.term
        kept = KeptConnection(database, term.key)
        store.whenTermEnds { [end] in end.give($0) }
    }

    /// A content that the next home goes on with. A home that is fenced writes it no more.
    func state(_ name: String) -> KeptState { KeptState(name, on: kept) }

    /// See ``SharedSecrets/provide(hasWebPush:)``. Blocks.
    func provideSecrets(to folder: DataFolder, hasWebPush: Bool) throws {
        try SharedSecrets(database, folder).provide(hasWebPush: hasWebPush)
    }

    /// Returns when this process has to stop being the home; nil when the task is cancelled.
    func termEnd() async -> TermEnd? { await end.wait() }
}
