import PostgresStore
import StoreInterface

/// What commands ask of a realm. Calls block.
public struct RealmControl: Sendable {
    private let database: PostgresAddress

    public init(_ database: PostgresAddress) { self.database = database }

    /// Who serves the realm.
    public func status() throws(StoreFailure) -> RealmStatus { try Realm.status(database) }

    /// Removes the realm and all that is in it. No server may run on it.
    public func remove() throws(StoreFailure) { try Realm.remove(database) }

    /// What of the database may lose acknowledged commits or keeps them waiting.
    public func warnings() throws(StoreFailure) -> [DatabaseWarning] { try Realm.warnings(database) }

    /// Asks the home to hand over to a standby.
    /// - Returns: false when there is no home, or `node` is it.
    public func handOver(to node: RealmNode) throws(StoreFailure) -> Bool {
        try Realm.handOver(database, to: node.id)
    }
}
