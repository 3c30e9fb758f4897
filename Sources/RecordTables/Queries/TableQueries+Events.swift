import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// See `StoreQueries.events(after:limit:bytes:)`.
    package func events(after position: Int64, limit: Int, bytes: Int) throws -> [StoredEvent] {
        let row = try source.statement(EventTable.selectPage + " ORDER BY position LIMIT ?")
        row.bind(position)
        row.bind(Int64(max(1, limit)))
        var size = 0
        return try row.all(EventTable.read).prefix { event in
            defer { size += event.body.bytes.count }
            return size <= bytes
        }.map(\.self)
    }

    /// See `StoreQueries.events(at:)`.
    package func events(at positions: [Int64]) throws -> [StoredEvent] {
        let row = try source.statement(EventTable.selectPage + " AND position <= ?")
        return try positions.sorted().compactMap { position in
            row.bind(position - 1)
            row.bind(position)
            return try row.first(EventTable.read)
        }
    }

    /// See `StoreQueries.lastEvent()`.
    package func lastEvent() throws -> Int64 {
        try source.statement(source.dialect.lastEvent).first(EventTable.readPosition) ?? 0
    }

    /// Refuses a store whose next events would soon get positions that no reader takes.
    /// - Throws: `StoreFailure.Reason.unreadableRow`.
    package func refuseLatePositions() throws {
        for sql in [source.dialect.lastEvent, "SELECT position FROM event ORDER BY position DESC LIMIT 1"] {
            _ = try source.statement(sql).first { row throws(StoreFailure) -> Int64 in
                let position = try EventTable.readPosition(row)
                guard position <= EventTable.lastRestored else { throw row.unreadable() }
                return position
            }
        }
    }

    /// See `StoreQueries.eventPosition(before:)`.
    package func eventPosition(before time: Instant) throws -> Int64 {
        let row = try source.statement("SELECT position FROM event WHERE at >= ? ORDER BY position LIMIT 1")
        row.bind(time)
        return try row.first(EventTable.readPosition).map { max(0, $0 - 1) } ?? lastEvent()
    }
}
