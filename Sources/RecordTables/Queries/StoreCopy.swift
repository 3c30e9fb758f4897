import StoreInterface

/// An open store whose tables are read and written directly.
package protocol CopiedStore {
    associatedtype Source: StatementSource

    /// The folder or address, for failures.
    var place: String { get }
    /// Runs `body` in one transaction. The tables must have all commits.
    func inTransaction<Value>(_ body: (TableQueries<Source>) throws -> Value) throws(StoreFailure) -> Value
}

/// Copies the whole content of a store to an empty one.
package enum StoreCopy {
    /// So many rows are read and inserted by one statement. Their values are below the limits of both databases.
    private static let rowsAtOnce = 200

    /// Copies in one transaction, and checks the copy: the number of rows of each table, and the audit.
    /// - Returns: the number of rows of each table.
    /// - Throws: `StoreFailure`: `notEmpty` when `target` has rows, `copyDiffers` when a check fails. `target` is unchanged then.
    package static func run(
        from source: some CopiedStore, to target: some CopiedStore
    ) throws(StoreFailure) -> [String: Int] {
        let counts = try source.inTransaction { source in
            try target.inTransaction { copy in
                guard try copy.rowCounts().values.allSatisfy({ $0 == 0 }), try copy.lastEvent() == 0 else {
                    throw StoreFailure(.notEmpty, path: target.place, detail: "the store has records")
                }
                try self.copy(source, to: copy)
                let (counts, copied) = (try source.rowCounts(), try copy.rowCounts())
                let (audit, audited) = (try source.audit(), try copy.audit())
                guard counts == copied, audit == audited, try source.lastEvent() == copy.lastEvent() else {
                    throw StoreFailure(.copyDiffers, path: target.place, detail: "the copy differs from its source")
                }
                return counts
            }
        }
        return counts
    }

    private static func copy<Source, Target>(
        _ source: TableQueries<Source>, to target: TableQueries<Target>
    ) throws {
        for part in TableContents.parts {
            var page = TableContents.Page()
            repeat {
                page = try source.rows(of: part, after: page, limit: rowsAtOnce)
                try target.insert(page.rows, into: part)
            } while page.rows.count == rowsAtOnce
        }
        try target.noteLastEvent(try source.lastEvent())
    }
}
