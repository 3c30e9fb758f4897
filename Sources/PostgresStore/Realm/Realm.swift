import CallVocabulary
import StoreInterface

/// What processes and commands ask of a realm without being its home. Each call opens a connection, and blocks.
package enum Realm {
    private static let patience = Duration.seconds(10)
    /// A reload waits for the check of the configuration.
    private static let checkPatience = Duration.seconds(3)

    private static func connect(_ address: PostgresAddress) throws(StoreFailure) -> PostgresConnection {
        let connection = try PostgresConnection(
            address,
            PostgresConnection.Purpose(
                name: "reveille realm", patience: patience, setup: [PostgresConnection.limitsIdleTransactions]))
        guard let version = try PostgresSchema.version(connection) else {
            throw StoreFailure(
                .noStore, path: address.description, detail: "the database has no realm \(address.realm)")
        }
        guard version >= PostgresSchema.firstWithNodes else {
            throw StoreFailure(
                .noStore, path: address.description,
                detail: "the realm's tables are of an earlier version, which knows of no nodes")
        }
        return connection
    }

    /// - Throws: `StoreFailure`.
    package static func status(_ address: PostgresAddress) throws(StoreFailure) -> RealmStatus {
        try RealmTable.status(connect(address))
    }

    /// What of the database may lose acknowledged commits or keeps them waiting. The realm need not exist yet.
    /// - Throws: ``StoreFailure`` for a database that no server would start with.
    package static func warnings(_ address: PostgresAddress) throws(StoreFailure) -> [DatabaseWarning] {
        let connection = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "reveille check", patience: checkPatience))
        try PoolerCheck.run(connection)
        return try DatabaseState.warnings(connection)
    }

    /// Asks the home to give its lease to `node`. The home stops taking requests, commits what is under way, and gives
    /// the lease back.
    /// - Returns: false when there is no home, or `node` is it.
    package static func handOver(
        _ address: PostgresAddress, to node: Identifier<RealmNode>
    ) throws(StoreFailure) -> Bool {
        try RealmTable.handOver(to: node, connect(address))
    }

    /// Removes the realm's tables and its schema.
    package static func remove(_ address: PostgresAddress) throws(StoreFailure) {
        try connect(address).runSimple("DROP SCHEMA \"\(address.realm)\" CASCADE")
    }

    /// The contents of these names that the nodes of a realm share.
    package static func kept(
        _ names: [String], in address: PostgresAddress
    ) throws(StoreFailure) -> [String: [UInt8]] {
        try KeptContent.read(names, connect(address))
    }

    /// Reads a content that the nodes of a realm share; stores `content` if there is none.
    /// - Returns: what is stored; nil when nothing is, and `content` is nil.
    package static func keep(
        _ name: String, _ content: [UInt8]?, in address: PostgresAddress
    ) throws(StoreFailure) -> [UInt8]? {
        let connection = try connect(address)
        if let content {
            try connection.replicated { () throws(StoreFailure) in try KeptContent.write(name, content, connection) }
        }
        return try KeptContent.read(name, connection)
    }

    /// Changes a content that the nodes of a realm share. Of two changes at once the second one waits for the first.
    /// - Parameter body: returns the new content; told the present one, which is empty at first.
    package static func change(
        _ name: String, in address: PostgresAddress, _ body: (_ content: [UInt8]) -> [UInt8]
    ) throws(StoreFailure) {
        let connection = try connect(address)
        try connection.runSimple("BEGIN")
        do throws(StoreFailure) {
            let content = try KeptContent.lock(name, connection)
            try KeptContent.change(name, body(content), connection)
            try connection.replicated { () throws(StoreFailure) in try connection.runSimple("COMMIT") }
        } catch {
            connection.rollBack()
            throw error
        }
    }
}
