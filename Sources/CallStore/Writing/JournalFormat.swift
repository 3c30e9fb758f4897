import RecordTables

/// The meaning of a journal's operations: the statements behind their numbers, on the tables of one schema.
///
/// A killed server leaves a journal for the next start, perhaps by a later release, so every released format is kept
/// unchanged. A change to a statement, to its parameters or to ``ValueTag`` is a new format.
struct JournalFormat {
    struct Statement {
        var sql: String
        /// See ``StoreStatement/call``.
        var call: (id: Int32, alive: Int32)?
    }

    /// The format number in each entry.
    let number: Int64
    /// By the number at the start of an operation.
    let statements: [UInt8: Statement]
    /// The statement that writes calls, which the others look up.
    let upsertCall: UInt8
    /// Inserts new calls into histories, as ``HistoryWriter`` runs it; nil when triggers do that.
    let histories: String?

    /// The format of this version.
    static let current = JournalFormat(
        number: 5,
        statements: Dictionary(
            uniqueKeysWithValues: StoreStatement.allCases.map {
                ($0.rawValue, Statement(sql: $0.sql, call: $0.call))
            }),
        upsertCall: StoreStatement.upsertCall.rawValue, histories: HistoryTable.insert(.sqlite))

    /// The format of entries with `number`, beside tables of the version `schema`.
    /// - Returns: nil when no release wrote that combination.
    static func released(_ number: Int64, schema: String) -> JournalFormat? {
        switch (schema, number) {
        case ("v5", 1): ReleasedFormats.v5
        case ("v6", 1), ("v7", 1): ReleasedFormats.v6
        case ("v8", 1): ReleasedFormats.v8
        case ("v9", 2): ReleasedFormats.v9
        case ("v10", 3): ReleasedFormats.v10
        case ("v11", 4): ReleasedFormats.v11
        case ("v12", 5), ("v13", 5), (Schema.newest, current.number): current
        default: nil
        }
    }
}
