import RecordTables
import StoreInterface

/// Queries on a realm, on a thread and a connection of their own.
package enum PostgresQueries {
    /// Opens the realm as ``PostgresReader/open(_:waits:patience:)`` does, and starts the thread.
    /// - Parameters:
    ///   - thread: the thread's name, at most 15 bytes.
    ///   - patience: the longest time of one statement.
    package static func open(
        _ address: PostgresAddress, thread: String, waits: Bool = true, patience: Duration = .seconds(600)
    ) throws(StoreFailure) -> any StoreQueries {
        let reader = try PostgresReader.open(address, waits: waits, patience: patience)
        return try ThreadedQueries(reader, path: address.description, thread: thread)
    }
}
