import CallVocabulary

/// A device: its app, its push tokens, its health.
public struct DeviceView: Codable, Equatable, Sendable {
    public var user: Handle
    public var deviceID: DeviceID
    public var platform: Platform
    public var app: String?
    public var name: String?
    /// In order of registration, oldest first.
    public var tokens: [TokenView]
    /// When it last opened a session.
    public var seenAt: Timestamp
    /// Consecutive VoIP pushes without a report.
    public var unreportedStreak: Int
    public var isSuspended: Bool
    public var suspendedAt: Timestamp?
    /// When a suspended device next gets one VoIP push of a call as a probe.
    public var nextProbeAt: Timestamp?

    public init(
        user: Handle, deviceID: DeviceID, platform: Platform, app: String?, name: String?, tokens: [TokenView],
        seenAt: Timestamp, unreportedStreak: Int, suspendedAt: Timestamp?, nextProbeAt: Timestamp? = nil
    ) {
        self.user = user
        self.deviceID = deviceID
        self.platform = platform
        self.app = app
        self.name = name
        self.tokens = tokens
        self.seenAt = seenAt
        self.unreportedStreak = unreportedStreak
        isSuspended = suspendedAt != nil
        self.suspendedAt = suspendedAt
        self.nextProbeAt = nextProbeAt
    }

    enum CodingKeys: String, CodingKey {
        case user, platform, app, name, tokens
        case deviceID = "device_id"
        case seenAt = "seen_at"
        case unreportedStreak = "unreported_streak"
        case isSuspended = "is_suspended"
        case suspendedAt = "suspended_at"
        case nextProbeAt = "next_probe_at"
    }
}

/// A session of a device.
public struct SessionView: Codable, Equatable, Sendable {
    public enum State: String, Codable, Sendable, CaseIterable {
        /// The session has a socket.
        case online
        /// The session has no socket, and can still be resumed.
        case away
    }

    public var user: Handle
    public var deviceID: DeviceID
    public var platform: Platform
    public var app: String?
    public var state: State
    /// The client's address: address and port of the socket, or the address that a proxy names; nil without a socket.
    public var address: String?
    /// The call whose push wake token opened this session.
    public var wakeCallID: CallID?
    public var openedAt: Timestamp
    /// When the session entered its state.
    public var since: Timestamp

    public init(
        user: Handle, deviceID: DeviceID, platform: Platform, app: String?, state: State, address: String? = nil,
        wakeCallID: CallID?, openedAt: Timestamp, since: Timestamp
    ) {
        self.user = user
        self.deviceID = deviceID
        self.platform = platform
        self.app = app
        self.state = state
        self.address = address
        self.wakeCallID = wakeCallID
        self.openedAt = openedAt
        self.since = since
    }

    enum CodingKeys: String, CodingKey {
        case user, platform, app, state, address, since
        case deviceID = "device_id"
        case wakeCallID = "wake_call_id"
        case openedAt = "opened_at"
    }
}

/// A user in the admin API.
public struct UserView: Codable, Equatable, Sendable {
    public var handle: Handle
    public var callWaiting: Bool
    public var declinePolicy: DeclinePolicy
    public var doNotDisturb: Bool
    public var missedCalls: MissedCallPush
    /// Callers whose calls do not ring.
    public var blocked: [Handle]
    public var forwardBusy: TargetView?
    public var forwardNoAnswer: TargetView?
    public var noAnswerSeconds: Int?
    public var aliases: [Handle]
    /// Names of the groups the user is a member of.
    public var groups: [String]
    public var devices: Int
    public var devicesOnline: Int
    public var liveCalls: Int
    /// The user's tokens from before this time are refused.
    public var revokedBefore: Timestamp?

    public init(_ user: UserSummary) {
        handle = user.handle
        callWaiting = user.policy.callWaiting
        declinePolicy = user.policy.decline
        doNotDisturb = user.policy.doNotDisturb
        missedCalls = user.policy.missedCalls
        blocked = user.rules.blocked
        forwardBusy = user.rules.forwardBusy.map(TargetView.init)
        forwardNoAnswer = user.rules.forwardNoAnswer.map(TargetView.init)
        noAnswerSeconds = user.rules.noAnswerAfter.map { Int($0.components.seconds) }
        aliases = user.aliases
        groups = user.groups
        devices = user.devices
        devicesOnline = user.devicesOnline
        liveCalls = user.liveCalls
        revokedBefore = Timestamp(user.revokedBefore)
    }

    enum CodingKeys: String, CodingKey {
        case handle, blocked, aliases, groups, devices
        case callWaiting = "call_waiting"
        case declinePolicy = "decline_policy"
        case doNotDisturb = "do_not_disturb"
        case missedCalls = "missed_calls"
        case forwardBusy = "forward_busy"
        case forwardNoAnswer = "forward_no_answer"
        case noAnswerSeconds = "no_answer_seconds"
        case devicesOnline = "devices_online"
        case liveCalls = "live_calls"
        case revokedBefore = "revoked_before"
    }
}

public struct GroupView: Codable, Equatable, Sendable {
    public var name: String
    public var strategy: CallGroup.Strategy
    public var members: [Handle]
    /// Seconds by member; nil without delays.
    public var delays: [String: Int]?

    public init(_ group: CallGroup) {
        name = group.name
        strategy = group.strategy
        members = group.members
        guard !group.delays.isEmpty else { return }
        // Handles that differ in their bytes can be equal texts.
        delays = Dictionary(group.delays.map { ($0.key.text, Int($0.value.components.seconds)) }) { $1 }
    }
}

public struct AliasView: Codable, Equatable, Sendable {
    public var alias: Handle
    public var user: Handle

    public init(_ alias: Alias) {
        self.alias = alias.handle
        user = alias.user
    }
}
