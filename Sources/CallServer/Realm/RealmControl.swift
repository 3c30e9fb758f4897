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

    /// Gives the realm a backend's token. Its home takes the token within ``BackendToken/sharedWithin``.
    /// - Parameter line: of ``BackendToken/make(name:role:scope:)``.
    public func add(backendToken line: String) throws(StoreFailure) {
        try Realm.change(BackendToken.standardFile, in: database) { $0 + Array((line + "\n").utf8) }
    }

    /// Takes away all tokens of a backend that the realm has. Its home refuses them within
    /// ``BackendToken/sharedWithin``.
    /// - Returns: how many there were.
    public func revokeBackendTokens(named name: String) throws(StoreFailure) -> Int {
        var count = 0
        try Realm.change(BackendToken.standardFile, in: database) { content in
            let rest = BackendToken.without(name, String(decoding: content, as: UTF8.self))
            count = rest.count
            return Array(rest.text.utf8)
        }
        return count
    }

    /// Asks the home to hand over to a standby.
    /// - Returns: false when there is no home, or `node` is it.
    public func handOver(to node: RealmNode) throws(StoreFailure) -> Bool {
        try Realm.handOver(database, to: node.id)
    }
}
