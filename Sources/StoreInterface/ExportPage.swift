import CallVocabulary

/// A page of an export: rows in the order of a time that no longer changes, oldest first.
public struct ExportPage: Equatable, Sendable {
    /// Rows at or after this time, and before that one; nil for no bound.
    public var since: Instant?
    public var until: Instant?
    /// Only rows after this one: the last one of the page before.
    public var after: ExportCursor?
    /// The most rows.
    public var limit: Int

    public init(since: Instant? = nil, until: Instant? = nil, after: ExportCursor? = nil, limit: Int = 100) {
        self.since = since
        self.until = until
        self.after = after
        self.limit = limit
    }
}

/// A position in an export. It stays valid when its row is deleted.
public struct ExportCursor: Hashable, Sendable {
    public var at: Instant
    /// The row's number in the store.
    public var serial: Int64

    public init(at: Instant, serial: Int64) {
        self.at = at
        self.serial = serial
    }
}
