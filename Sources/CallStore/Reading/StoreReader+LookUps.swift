import CallCore
import CallVocabulary
import GRDB
import StoreInterface

extension StoreReader {
    /// What the store has of each of `wanted`, in one consistent state.
    public func found(_ wanted: [Wanted]) throws(StoreFailure) -> [Found] {
        try read { database in
            let directory = DirectoryReader(database)
            return try wanted.map { try Self.found($0, directory, database) }
        }
    }

    private static func found(_ wanted: Wanted, _ directory: DirectoryReader, _ database: Database) throws -> Found {
        let call = try wanted.call.flatMap { try readCall($0, database) }
        let holders = try wanted.tokens.flatMap { try directory.holders(of: $0) }
        var seen: Set<Handle> = []
        var names = (wanted.names + wanted.groups + (call?.parties ?? []) + holders).filter { seen.insert($0).inserted }
        var groups = Set(wanted.groups)
        var entries: [DirectoryEntry] = []
        // An alias leads to its user, and a group that is wanted to its members.
        while !names.isEmpty {
            let read = try directory.entries(names)
            entries += read
            names = read.flatMap { entry in
                (entry.aliasOf.map { [$0] } ?? [])
                    + (groups.remove(entry.name) == nil ? [] : entry.group?.members ?? [])
            }.filter { seen.insert($0).inserted }
        }
        return Found(call: call, entries: entries)
    }

    /// Users with a device that was not seen since `time`, among the next devices in the order of their keys.
    /// - Parameters:
    ///   - last: where the slice before ended; nil for the first slice.
    ///   - limit: the number of devices in the slice.
    /// - Returns: the users, and where the slice ends; nil after the last device.
    public func unseenUsers(
        since time: Instant, after last: DeviceKey?, limit: Int
    ) throws(StoreFailure) -> (users: [Handle], end: DeviceKey?) {
        try read { database in
            let start = last == nil ? "" : " WHERE (user, device) > (?, ?)"
            let rows = try SQLRow(
                cached: "SELECT user, device, seen_at FROM device\(start) ORDER BY user, device LIMIT ?", database)
            if let last {
                rows.bind(last.user)
                rows.bind(last.device)
            }
            rows.bind(Int64(limit))
            var users: [Handle] = []
            var end: DeviceKey?
            var count = 0
            for (key, seenAt) in try rows.all({ row throws(StoreFailure) in
                (DeviceKey(user: try row.handle(), device: try row.identifier()), try row.instant())
            }) {
                if seenAt <= time, users.last != key.user { users.append(key.user) }
                end = key
                count += 1
            }
            return (users, count < limit ? nil : end)
        }
    }
}
