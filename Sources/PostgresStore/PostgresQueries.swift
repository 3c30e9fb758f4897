import RecordTables
import StoreInterface

/// Queries on a realm, on a thread and a connection of their own.
package enum PostgresQueries {
    /// Opens the realm as ``PostgresReader/open(_:waits:)`` does, and starts the thread.
    /// - Parameter thread: the thread's name, at most 15 bytes.
    package static func open(
        _ address: PostgresAddress, thread: String, waits: Bool = true
    ) throws(StoreFailure) -> any StoreQueries {
        let reader = try PostgresReader.open(address, waits: waits)
        return try ThreadedQueries(reader, path: address.description, thread: thread)
    }
}
