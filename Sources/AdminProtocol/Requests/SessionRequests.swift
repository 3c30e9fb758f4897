import CallVocabulary

/// Lists sessions, by user and device: those with a socket, and those that can still be resumed.
public struct ListSessions: AdminListRequest {
    public typealias Item = SessionView
    public static let method = AdminMethod.sessionList
    public var user: Handle?
    public var limit: Int?
    public var after: String?

    public init(user: Handle? = nil, limit: Int? = nil, after: String? = nil) {
        self.user = user
        self.limit = limit
        self.after = after
    }
}

/// Ends the session of a device. Its socket is closed with 3004, after which the app reconnects; it cannot be resumed.
/// Its calls continue as after the permanent loss of the device. Fails with `not_found` when there is none.
public struct DropSession: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.sessionDrop
    public var user: Handle
    public var deviceID: DeviceID

    public init(user: Handle, deviceID: DeviceID) {
        self.user = user
        self.deviceID = deviceID
    }

    enum CodingKeys: String, CodingKey {
        case user
        case deviceID = "device_id"
    }
}
