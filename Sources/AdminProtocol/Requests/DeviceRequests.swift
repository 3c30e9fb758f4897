import CallVocabulary

/// Lists devices, by user and device.
public struct ListDevices: AdminListRequest {
    public typealias Item = DeviceView
    public static let method = AdminMethod.deviceList
    public var user: Handle?
    /// Only suspended devices: they get alerts instead of VoIP pushes, because they do not report their pushes.
    public var suspended: Bool?
    public var limit: Int?
    public var after: String?

    public init(user: Handle? = nil, suspended: Bool? = nil, limit: Int? = nil, after: String? = nil) {
        self.user = user
        self.suspended = suspended
        self.limit = limit
        self.after = after
    }
}

public struct GetDevice: AdminRequest {
    public typealias Response = DeviceView
    public static let method = AdminMethod.deviceGet
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

/// Ends the suspension of a device that did not report its pushes: calls ring it again.
public struct ResumeDevice: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.deviceResume
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

/// Drops a device with its push tokens, its session and its parts in live calls.
public struct DeleteDevice: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.deviceDelete
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
