import CallVocabulary

public struct GetUser: AdminRequest {
    public typealias Response = UserView
    public static let method = AdminMethod.userGet
    public var user: Handle

    public init(_ user: Handle) { self.user = user }
}

/// Changes a user's policy. Members that are nil stay unchanged; at least one is required.
public struct SetUser: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.userSet
    public var user: Handle
    public var callWaiting: Bool?
    public var declinePolicy: DeclinePolicy?
    public var doNotDisturb: Bool?
    public var missedCalls: MissedCallPush?

    public init(_ user: Handle, _ change: UserPolicyChange) {
        self.user = user
        callWaiting = change.callWaiting
        declinePolicy = change.decline
        doNotDisturb = change.doNotDisturb
        missedCalls = change.missedCalls
    }

    public var change: UserPolicyChange {
        UserPolicyChange(
            callWaiting: callWaiting, decline: declinePolicy, doNotDisturb: doNotDisturb, missedCalls: missedCalls)
    }

    enum CodingKeys: String, CodingKey {
        case user
        case callWaiting = "call_waiting"
        case declinePolicy = "decline_policy"
        case doNotDisturb = "do_not_disturb"
        case missedCalls = "missed_calls"
    }
}

/// Adds callers to the user's block list.
public struct BlockCallers: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.userBlock
    public var user: Handle
    public var callers: [Handle]

    public init(_ user: Handle, _ callers: [Handle]) {
        self.user = user
        self.callers = callers
    }
}

/// Removes callers from the user's block list.
public struct UnblockCallers: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.userUnblock
    public var user: Handle
    public var callers: [Handle]

    public init(_ user: Handle, _ callers: [Handle]) {
        self.user = user
        self.callers = callers
    }
}

/// Sets where calls go that the user does not answer. Replaces the present forwarding; without targets it ends.
public struct ForwardCalls: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.userForward
    public var user: Handle
    /// A user, an alias or a group.
    public var busy: TargetView?
    public var noAnswer: TargetView?
    /// How long the user's devices ring before `noAnswer` is rung; nil: the call's ring time.
    public var noAnswerSeconds: Int?

    public init(_ user: Handle, busy: TargetView?, noAnswer: TargetView?, noAnswerSeconds: Int?) {
        self.user = user
        self.busy = busy
        self.noAnswer = noAnswer
        self.noAnswerSeconds = noAnswerSeconds
    }

    enum CodingKeys: String, CodingKey {
        case user, busy
        case noAnswer = "no_answer"
        case noAnswerSeconds = "no_answer_seconds"
    }
}

/// Logs all devices of the user out, and refuses the user's tokens from before the time.
public struct RevokeTokens: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.userRevoke
    public var user: Handle
    /// In ms since the epoch; nil for now.
    public var beforeMilliseconds: Int64?

    public init(_ user: Handle, before: Instant? = nil) {
        self.user = user
        beforeMilliseconds = before?.milliseconds
    }

    enum CodingKeys: String, CodingKey {
        case user
        case beforeMilliseconds = "before_ms"
    }
}

/// Lists groups, by name.
public struct ListGroups: AdminListRequest {
    public typealias Item = GroupView
    public static let method = AdminMethod.groupList
    public var after: String?

    public init(after: String? = nil) { self.after = after }
}

public struct GetGroup: AdminRequest {
    public typealias Response = GroupView
    public static let method = AdminMethod.groupGet
    public var name: Handle

    public init(_ name: Handle) { self.name = name }
}

/// Creates or replaces the group of this name. Calls in progress keep their members.
public struct SetGroup: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.groupSet
    public var name: Handle
    public var strategy: CallGroup.Strategy
    public var members: [Handle]
    /// Seconds by member. For `all` after the start of the call, for `hunt` after the member before.
    public var delays: [String: Int]?

    public init(name: Handle, strategy: CallGroup.Strategy, members: [Handle], delays: [String: Int]? = nil) {
        self.name = name
        self.strategy = strategy
        self.members = members
        self.delays = delays
    }
}

public struct DeleteGroup: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.groupDelete
    public var name: Handle

    public init(_ name: Handle) { self.name = name }
}

/// Lists aliases, by name.
public struct ListAliases: AdminListRequest {
    public typealias Item = AliasView
    public static let method = AdminMethod.aliasList
    public var after: String?

    public init(after: String? = nil) { self.after = after }
}

/// Creates the alias, or changes its user.
public struct SetAlias: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.aliasSet
    public var alias: Handle
    public var user: Handle

    public init(alias: Handle, user: Handle) {
        self.alias = alias
        self.user = user
    }
}

public struct DeleteAlias: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.aliasDelete
    public var alias: Handle

    public init(_ alias: Handle) { self.alias = alias }
}
