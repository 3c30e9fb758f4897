import StoreInterface
import Synchronization

/// Contents that the nodes of a realm share, besides the records: secrets, the tokens of backends, the identity
/// provider's keys, and how far webhooks are.
enum KeptContent {
    static func read(_ name: String, _ connection: PostgresConnection) throws(StoreFailure) -> [UInt8]? {
        var parameters = PostgresParameters()
        parameters.bind(name)
        let row = try connection.run("SELECT content FROM kept WHERE name = ?", parameters)
        return row.withBytes(0, 0) { Array($0) }
    }

    /// Those of these names that there are.
    static func read(
        _ names: [String], _ connection: PostgresConnection
    ) throws(StoreFailure) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for name in names { contents[name] = try read(name, connection) }
        return contents
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

    /// Reads a content for ``change(_:_:_:)``, and keeps others from changing it until the end of the transaction. Empty
    /// if there is none.
    static func lock(_ name: String, _ connection: PostgresConnection) throws(StoreFailure) -> [UInt8] {
        try write(name, [], connection)
        var parameters = PostgresParameters()
        parameters.bind(name)
        let row = try connection.run("SELECT content FROM kept WHERE name = ? FOR UPDATE", parameters)
        return row.withBytes(0, 0) { Array($0) } ?? []
    }

    /// Writes another content, after ``lock(_:_:)``.
    static func change(
        _ name: String, _ content: [UInt8], _ connection: PostgresConnection
    ) throws(StoreFailure) {
        var parameters = PostgresParameters()
        content.withUnsafeBytes { parameters.bind(copying: $0) }
        parameters.bind(name)
        try connection.run("UPDATE kept SET content = ? WHERE name = ?", parameters)
    }

    /// Writes the content if `key` is the home's.
    /// - Returns: false when another process is the home.
    static func replace(
        _ name: String, _ content: [UInt8], _ key: TermKey, _ connection: PostgresConnection
    ) throws(StoreFailure) -> Bool {
        var parameters = PostgresParameters()
        parameters.bind(name)
        content.withUnsafeBytes { parameters.bind(copying: $0) }
        parameters.bind(key)
        return try connection.replicated { () throws(StoreFailure) in
            try connection.run(
                """
                INSERT INTO kept (name, content)
                SELECT ?1::text, ?2::bytea FROM home WHERE epoch = ?3::bigint AND term = ?4::uuid
                ON CONFLICT (name) DO UPDATE SET content = excluded.content
                """, parameters
            ).changedCount == 1
        }
    }
}

/// The connection on which a home reads and writes its contents again and again: one for all, which is kept. Calls block,
/// and one waits for the other. May be used from any thread.
package final class KeptConnection: Sendable {
    private static let patience = Duration.seconds(2)

    let address: PostgresAddress
    let key: TermKey
    private let connection = Mutex<PostgresConnection?>(nil)

    /// - Parameter key: of this process's term as the home.
    package init(_ address: PostgresAddress, _ key: TermKey) {
        self.address = address
        self.key = key
    }

    func run<Value: Sendable>(
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

/// A content that a home reads or writes again and again. As ``KeptConnection``, calls block.
package struct KeptState: Sendable {
    private let name: String
    private let connection: KeptConnection

    package init(_ name: String, on connection: KeptConnection) {
        self.name = name
        self.connection = connection
    }

    /// - Returns: nil when nothing was written yet.
    package func read() throws(StoreFailure) -> [UInt8]? {
        try connection.run { connection throws(StoreFailure) in try KeptContent.read(name, connection) }
    }

    /// - Throws: ``StoreFailure``: ``StoreFailure/Reason/fenced`` when another process is the home.
    package func write(_ content: [UInt8]) throws(StoreFailure) {
        let key = connection.key
        let isWritten = try connection.run { connection throws(StoreFailure) in
            try KeptContent.replace(name, content, key, connection)
        }
        guard isWritten else {
            throw StoreFailure(
                .fenced, path: connection.address.description, detail: "another process is the realm's home")
        }
    }
}
