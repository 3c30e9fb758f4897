import CallCore
import CallVocabulary
import GRDB
import StoreInterface

extension StoreReader {
    /// See ``StoreQueries/events(after:limit:bytes:)``.
    func events(after position: Int64, limit: Int, bytes: Int) throws(StoreFailure) -> [StoredEvent] {
        try read { database in
            let row = try SQLRow(database, EventTable.selectPage + " ORDER BY position LIMIT ?")
            row.bind(position)
            row.bind(Int64(max(1, limit)))
            var size = 0
            return try row.all(EventTable.read).prefix { event in
                defer { size += event.body.bytes.count }
                return size <= bytes
            }.map(\.self)
        }
    }

    /// See ``StoreQueries/events(at:)``.
    func events(at positions: [Int64]) throws(StoreFailure) -> [StoredEvent] {
        try read { database in
            let row = try SQLRow(database, EventTable.selectPage + " AND position <= ?")
            return try positions.sorted().compactMap { position in
                row.bind(position - 1)
                row.bind(position)
                return try row.first(EventTable.read)
            }
        }
    }

    /// See ``StoreQueries/lastEvent()``.
    func lastEvent() throws(StoreFailure) -> Int64 {
        try read { database in
            let row = try SQLRow(database, "SELECT seq FROM sqlite_sequence WHERE name = 'event'")
            return try row.first { $0.int() } ?? 0
        }
    }

    /// See ``StoreQueries/eventPosition(before:)``.
    func eventPosition(before time: Instant) throws(StoreFailure) -> Int64 {
        let last = try lastEvent()
        return try read { database in
            let row = try SQLRow(database, "SELECT position FROM event WHERE at >= ? ORDER BY position LIMIT 1")
            row.bind(time)
            return try row.first { $0.int() }.map { $0 - 1 } ?? last
        }
    }
}
