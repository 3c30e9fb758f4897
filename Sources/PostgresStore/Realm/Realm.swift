import CallVocabulary
import StoreInterface
import Synchronization

/// What processes and commands ask of a realm without being its home. Each call opens a connection, and blocks.
package enum Realm {
    private static let patience = Duration.seconds(10)
    /// A reload waits for the check of the configuration.
    private static let checkPatience = Duration.seconds(3)

    private static func connect(_ address: PostgresAddress) throws(StoreFailure) -> PostgresConnection {
        let connection = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "reveille realm", patience: patience))
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

    /// What of the database's settings may lose acknowledged commits, with advice. The realm need not exist yet.
    package static func doubts(_ address: PostgresAddress) throws(StoreFailure) -> [String] {
        try DatabaseDoubts.find(
            PostgresConnection(address, PostgresConnection.Purpose(name: "reveille check", patience: checkPatience)))
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

    /// Reads a content that the nodes of a realm share; stores `content` if there is none.
    /// - Returns: what is stored; nil when nothing is, and `content` is nil.
    package static func keep(
        _ name: String, _ content: [UInt8]?, in address: PostgresAddress
    ) throws(StoreFailure) -> [UInt8]? {
        let connection = try connect(address)
        if let content { try KeptContent.write(name, content, connection) }
        return try KeptContent.read(name, connection)
    }
}

/// Contents that the nodes of a realm share, besides the records: secrets, and how far webhooks are.
enum KeptContent {
    static func read(_ name: String, _ connection: PostgresConnection) throws(StoreFailure) -> [UInt8]? {
        var parameters = PostgresParameters()
        parameters.bind(name)
        return try connection.run("SELECT content FROM kept WHERE name = ?", parameters).bytes(0, 0).map { Array($0) }
    }

    static func write(
        _ name: String, _ content: [UInt8], _ connection: PostgresConnection
    ) throws(StoreFailure) {
        var parameters = PostgresParameters()
        parameters.bind(name)
        content.withUnsafeBytes { parameters.bind(copying: $0) }
        try connection.run(
            "INSERT INTO kept (name, content) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", parameters)
    }

    /// Writes the content if `epoch` is that of the home.
    /// - Returns: false when another process is the home.
    static func replace(
        _ name: String, _ content: [UInt8], epoch: Int64, _ connection: PostgresConnection
    ) throws(StoreFailure) -> Bool {
        var parameters = PostgresParameters()
        parameters.bind(name)
        content.withUnsafeBytes { parameters.bind(copying: $0) }
        parameters.bind(epoch)
        let written = try connection.run(
            """
            INSERT INTO kept (name, content) SELECT ?1::text, ?2::bytea FROM home WHERE epoch = ?3::bigint
            ON CONFLICT (name) DO UPDATE SET content = excluded.content
            """, parameters)
        return written.changedCount == 1
    }
}

/// A content that a home writes again and again, on a connection that is kept. Calls block. May be used from any thread.
package final class KeptState: Sendable {
    private static let patience = Duration.seconds(2)

    private let address: PostgresAddress
    private let name: String
    private let epoch: Int64
    private let connection = Mutex<PostgresConnection?>(nil)

    /// - Parameter epoch: of this process's term as the home.
    package init(_ name: String, in address: PostgresAddress, epoch: Int64) {
        self.address = address
        self.name = name
        self.epoch = epoch
    }

    /// - Returns: nil when nothing was written yet.
    package func read() throws(StoreFailure) -> [UInt8]? {
        try onConnection { connection throws(StoreFailure) in try KeptContent.read(self.name, connection) }
    }

    /// - Throws: ``StoreFailure``: ``StoreFailure/Reason/fenced`` when another process is the home.
    package func write(_ content: [UInt8]) throws(StoreFailure) {
        let isWritten = try onConnection { connection throws(StoreFailure) in
            try KeptContent.replace(self.name, content, epoch: self.epoch, connection)
        }
        guard isWritten else {
            throw StoreFailure(.fenced, path: address.description, detail: "another process is the realm's home")
        }
    }

    private func onConnection<Value: Sendable>(
        _ body: (PostgresConnection) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        try connection.withLock { connection throws(StoreFailure) in
            if connection == nil {
                connection = try PostgresConnection(
                    address, PostgresConnection.Purpose(name: "reveille state", patience: Self.patience))
            }
            guard let used = connection else { preconditionFailure("it was made") }
            do throws(StoreFailure) {
                return try body(used)
            } catch {
                // The next call makes a new one.
                connection = nil
                throw error
            }
        }
    }
}
