import CallCore
import CallVocabulary
import StoreInterface

extension TableQueries {
    /// The devices that match `filter`, with their tokens, by user and device.
    package func devices(_ filter: DeviceFilter) throws -> [DeviceRecord] {
        var conditions = RowConditions()
        conditions.add("user = ?", filter.user) { $0.bind($1) }
        conditions.add("(user, device) > (?, ?)", filter.after) { row, key in
            row.bind(key.user)
            row.bind(key.device)
        }
        if filter.suspendedOnly { conditions.add("suspended_at IS NOT NULL") }
        return try devices(conditions, limit: filter.limit)
    }

    /// One device with its tokens; nil when the store does not have it.
    package func device(_ key: DeviceKey) throws -> DeviceRecord? {
        var conditions = RowConditions()
        conditions.add("user = ? AND device = ?") { row in
            row.bind(key.user)
            row.bind(key.device)
        }
        return try devices(conditions, limit: 1).first
    }

    private func devices(_ conditions: RowConditions, limit: Int) throws -> [DeviceRecord] {
        let row = try source.statement(DeviceTable.layout.select + conditions.sql + " ORDER BY user, device LIMIT ?")
        conditions.bind(to: row)
        row.bind(Int64(max(0, limit)))
        var devices = try row.all(DeviceTable.read)
        let tokens = try source.statement(
            TokenTable.layout.select + " WHERE user = ? AND device = ? ORDER BY position")
        for index in devices.indices {
            tokens.bind(devices[index].key.user)
            tokens.bind(devices[index].key.device)
            devices[index].tokens = try tokens.all(TokenTable.read).map(\.token)
        }
        return devices
    }
}
