import CallVocabulary

/// A call in a list.
public struct CallView: Codable, Equatable, Sendable {
    public var callID: CallID
    public var state: CallState
    public var from: Handle
    public var fromDeviceID: DeviceID?
    public var fromName: String?
    public var to: TargetView
    /// The length of a list of which `to` has the first handles only.
    public var toCount: Int?
    /// The target that rings or rang last, for a call that was forwarded.
    public var forwardedTo: TargetView?
    public var video: Bool
    public var createdAt: Timestamp
    /// The ring deadline.
    public var ringsUntil: Timestamp
    public var ringingAt: Timestamp?
    public var answeredAt: Timestamp?
    public var answeredBy: Handle?
    public var answeredByDeviceID: DeviceID?
    public var connectedAt: Timestamp?
    /// When the lost connection that ended the call was lost: the end of the conversation.
    public var lostAt: Timestamp?
    public var endedAt: Timestamp?
    public var reason: EndReason?
    /// nil when no user ended the call.
    public var endedBy: Handle?
    public var endedByDeviceID: DeviceID?
    /// The call that replaces this one after a glare.
    public var mergedInto: CallID?
    /// Counts of devices and pushes; only for calls in the server's memory.
    public var counts: CallCounts?

    public init(
        callID: CallID, state: CallState, from: Handle, to: TargetView, video: Bool, createdAt: Timestamp,
        ringsUntil: Timestamp
    ) {
        self.callID = callID
        self.state = state
        self.from = from
        self.to = to
        self.video = video
        self.createdAt = createdAt
        self.ringsUntil = ringsUntil
    }

    enum CodingKeys: String, CodingKey {
        case state, from, to, video, reason, counts
        case callID = "call_id"
        case fromDeviceID = "from_device_id"
        case fromName = "from_name"
        case toCount = "to_count"
        case forwardedTo = "forwarded_to"
        case createdAt = "created_at"
        case ringsUntil = "rings_until"
        case ringingAt = "ringing_at"
        case answeredAt = "answered_at"
        case answeredBy = "answered_by"
        case answeredByDeviceID = "answered_by_device_id"
        case connectedAt = "connected_at"
        case lostAt = "lost_at"
        case endedAt = "ended_at"
        case endedBy = "ended_by"
        case endedByDeviceID = "ended_by_device_id"
        case mergedInto = "merged_into"
    }
}

/// The numbers of devices and pushes of a call.
public struct CallCounts: Codable, Equatable, Sendable {
    /// All devices in the call.
    public var devices: Int
    public var ringing: Int
    /// Devices with a wake-up push in flight.
    public var waking: Int
    public var pushes: Int
    /// Pushes whose outcome is still open.
    public var pushesOpen: Int

    public init(devices: Int = 0, ringing: Int = 0, waking: Int = 0, pushes: Int = 0, pushesOpen: Int = 0) {
        self.devices = devices
        self.ringing = ringing
        self.waking = waking
        self.pushes = pushes
        self.pushesOpen = pushesOpen
    }

    enum CodingKeys: String, CodingKey {
        case devices, ringing, waking, pushes
        case pushesOpen = "pushes_open"
    }
}

/// The callee of a call: `"bob"`, `["bob", "carol"]` or `{"group": "sales"}`.
public struct TargetView: Codable, Hashable, Sendable {
    public var target: CallTarget

    public init(_ target: CallTarget) { self.target = target }

    private enum CodingKeys: String, CodingKey { case group }

    public init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        if (try? single.decode(String.self)) != nil {
            target = .user(try single.decode(Handle.self))
        } else if let users = try? single.decode([Handle].self) {
            target = .users(users)
        } else {
            target = .group(try decoder.container(keyedBy: CodingKeys.self).decode(Handle.self, forKey: .group).text)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch target {
        case .user(let user):
            var container = encoder.singleValueContainer()
            try container.encode(user)
        case .users(let users):
            var container = encoder.singleValueContainer()
            try container.encode(users)
        case .group(let name):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .group)
        }
    }
}

/// A call with its legs, its pushes and its timeline.
public struct CallDetail: Codable, Equatable, Sendable {
    public var call: CallView
    public var legs: [LegView]
    public var pushes: [PushView]
    /// In chronological order.
    public var timeline: [TimelineEntryView]

    public init(call: CallView, legs: [LegView], pushes: [PushView], timeline: [TimelineEntryView]) {
        self.call = call
        self.legs = legs
        self.pushes = pushes
        self.timeline = timeline
    }
}

/// One device's part in a call.
public struct LegView: Codable, Equatable, Sendable {
    public var user: Handle
    public var deviceID: DeviceID
    /// idle, offered, waking, ringing, answered or ended.
    public var state: String
    /// The push's id. A push with this id exists only if one was intended.
    public var pushID: PushID
    public var createdAt: Timestamp
    public var offeredAt: Timestamp?
    public var wokenAt: Timestamp?
    public var ringingAt: Timestamp?
    public var answeredAt: Timestamp?
    public var endedAt: Timestamp?
    public var reason: EndReason?

    public init(user: Handle, deviceID: DeviceID, state: String, pushID: PushID, createdAt: Timestamp) {
        self.user = user
        self.deviceID = deviceID
        self.state = state
        self.pushID = pushID
        self.createdAt = createdAt
    }

    enum CodingKeys: String, CodingKey {
        case user, state, reason
        case deviceID = "device_id"
        case pushID = "push_id"
        case createdAt = "created_at"
        case offeredAt = "offered_at"
        case wokenAt = "woken_at"
        case ringingAt = "ringing_at"
        case answeredAt = "answered_at"
        case endedAt = "ended_at"
    }
}

/// One step of a call's timeline.
public struct TimelineEntryView: Codable, Equatable, Sendable {
    public var at: Timestamp
    /// Time since the invite, in ms.
    public var offsetMilliseconds: Int64
    /// invited, push_intended, push_sent, …
    public var step: String
    public var user: Handle?
    public var deviceID: DeviceID?
    /// The reason of a push's outcome or of the call's end.
    public var detail: String?

    public init(at: Timestamp, offsetMilliseconds: Int64, step: String) {
        self.at = at
        self.offsetMilliseconds = offsetMilliseconds
        self.step = step
    }

    enum CodingKeys: String, CodingKey {
        case at, step, user, detail
        case offsetMilliseconds = "offset_ms"
        case deviceID = "device_id"
    }
}
