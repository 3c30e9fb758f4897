/// A connection, or one consistent state of a database, that statements run on.
package protocol StatementSource {
    associatedtype Row: StatementRow & SendableMetatype

    var dialect: SQLDialect { get }

    /// Prepares a statement. Its text is SQL that both databases understand, with question marks for parameters, or SQL
    /// of this source's ``dialect``.
    func statement(_ sql: String) throws -> Row

    /// A statement that is prepared once for the life of the connection. It may be in use once at a time.
    func cachedStatement(_ sql: String) throws -> Row
}
