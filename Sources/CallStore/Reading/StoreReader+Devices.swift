import CallCore
import CallVocabulary
import StoreInterface

extension StoreReader {
    /// The devices of `user`, or of all users, with their tokens, by user and device.
    public func devices(user: Handle? = nil) throws(StoreFailure) -> [DeviceRecord] {
        try read { try Recovery.devices($0, of: user) }
    }

    /// The devices that match `filter`, with their tokens, by user and device.
    public func devices(_ filter: DeviceFilter) throws(StoreFailure) -> [DeviceRecord] {
        var conditions = RowConditions()
        conditions.add("user = ?", filter.user) { $0.bind($1) }
        conditions.add("(user, device) > (?, ?)", filter.after) { row, key in
            row.bind(key.user)
            row.bind(key.device)
        }
        if filter.suspendedOnly { conditions.add("suspended_at IS NOT NULL") }
        return try readDevices(conditions, limit: filter.limit)
    }

    /// One device with its tokens; nil when the store does not have it.
    public func device(_ key: DeviceKey) throws(StoreFailure) -> DeviceRecord? {
        var conditions = RowConditions()
        conditions.add("user = ? AND device = ?") { row in
            row.bind(key.user)
            row.bind(key.device)
        }
        return try readDevices(conditions, limit: 1).first
    }

    private func readDevices(_ conditions: RowConditions, limit: Int) throws(StoreFailure) -> [DeviceRecord] {
        try read { database in
            let row = try SQLRow(
                database, DeviceTable.layout.select + conditions.sql + " ORDER BY user, device LIMIT ?")
            conditions.bind(to: row)
            row.bind(Int64(max(0, limit)))
            var devices = try row.all(DeviceTable.read)
            let tokens = try SQLRow(
                database, TokenTable.layout.select + " WHERE user = ? AND device = ? ORDER BY position")
            for index in devices.indices {
                tokens.bind(devices[index].key.user)
                tokens.bind(devices[index].key.device)
                devices[index].tokens = try tokens.all(TokenTable.read).map(\.token)
            }
            return devices
        }
    }
}
