/// What the operations of a journal mean: the statements that their numbers stand for, on the tables of one schema.
///
/// A server that was killed leaves a journal for the next start, which may be that of a later release: every format that
/// was released stays here as it was. A change to a statement, to its parameters or to ``ValueTag`` is a new format.
struct JournalFormat {
    struct Statement {
        var sql: String
        /// See ``StoreStatement/call``.
        var call: (id: Int32, alive: Int32)?
    }

    /// Stands in each entry.
    let number: Int64
    /// By the number that an operation begins with.
    let statements: [UInt8: Statement]
    /// The statement that writes calls, which the others look up.
    let upsertCall: UInt8
    /// Puts new calls into histories, as ``HistoryWriter`` runs it; nil where triggers do that.
    let histories: String?

    /// That of this version.
    static let current = JournalFormat(
        number: 2,
        statements: Dictionary(
            uniqueKeysWithValues: StoreStatement.allCases.map {
                ($0.rawValue, Statement(sql: $0.sql, call: $0.call))
            }),
        upsertCall: StoreStatement.upsertCall.rawValue, histories: HistoryWriter.insert)

    /// That of entries which bear `number`, beside tables of the version `schema`.
    /// - Returns: nil when no release wrote that.
    static func released(_ number: Int64, schema: String) -> JournalFormat? {
        switch (schema, number) {
        case ("v5", 1): ReleasedFormats.v5
        case ("v6", 1), ("v7", 1): ReleasedFormats.v6
        case ("v8", 1): ReleasedFormats.v8
        case (Schema.newest, current.number): current
        default: nil
        }
    }
}
