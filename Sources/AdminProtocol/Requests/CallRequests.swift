import CallVocabulary

/// Calls, newest first. Live ones alone come from memory; all others from the store.
public struct ListCalls: AdminListRequest {
    public typealias Item = CallView
    public static let method = AdminMethod.callList

    /// Only those whose id begins or ends so, of all in the store. Goes alone.
    public var id: IDPart<CallSubject>?
    /// True: only those that are not over. False: only those that are.
    public var live: Bool?
    /// The caller, a user called, or one with a device in the call.
    public var user: Handle?
    public var reason: EndReason?
    public var state: CallState?
    /// Created at or after this, in ms since the epoch.
    public var sinceMilliseconds: Int64?
    /// Created before this, in ms since the epoch.
    public var untilMilliseconds: Int64?
    /// In one page at most.
    public var limit: Int?
    public var after: String?

    public init(
        live: Bool? = nil, user: Handle? = nil, reason: EndReason? = nil, state: CallState? = nil,
        since: Instant? = nil, until: Instant? = nil, limit: Int? = nil, after: String? = nil
    ) {
        self.live = live
        self.user = user
        self.reason = reason
        self.state = state
        sinceMilliseconds = since?.milliseconds
        untilMilliseconds = until?.milliseconds
        self.limit = limit
        self.after = after
    }

    public init(id: IDPart<CallSubject>) { self.id = id }

    enum CodingKeys: String, CodingKey {
        case id, live, user, reason, state, limit, after
        case sinceMilliseconds = "since_ms"
        case untilMilliseconds = "until_ms"
    }
}

/// One call with all that belongs to it, however old.
public struct GetCall: AdminRequest {
    public typealias Response = CallDetail
    public static let method = AdminMethod.callGet
    public var callID: CallID

    public init(_ callID: CallID) { self.callID = callID }

    enum CodingKeys: String, CodingKey { case callID = "call_id" }
}

/// Ends a live call with the reason `admin`, for everybody. `conflict` when it is over already.
public struct EndCall: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.callEnd
    public var callID: CallID

    public init(_ callID: CallID) { self.callID = callID }

    enum CodingKeys: String, CodingKey { case callID = "call_id" }
}

/// The live calls as they are and as they change.
///
/// The first notifications bring those there are; the last of these has `isComplete`. From then on each brings what has
/// changed since the one before, several changes of a call as one, at most once in `intervalMilliseconds`.
public struct SubscribeToCalls: AdminSubscription {
    public typealias Notification = CallsChanged
    public static let method = AdminMethod.callSubscribe
    /// Only calls that this user made or got.
    public var user: Handle?
    /// 100 to 60,000; 250 when nil.
    public var intervalMilliseconds: Int?

    public init(user: Handle? = nil, intervalMilliseconds: Int? = nil) {
        self.user = user
        self.intervalMilliseconds = intervalMilliseconds
    }

    enum CodingKeys: String, CodingKey {
        case user
        case intervalMilliseconds = "interval_ms"
    }
}

/// `call.changed`.
public struct CallsChanged: Codable, Equatable, Sendable {
    public var subscription: Int
    /// Live calls, new and changed; and those that have ended since, once, with their end.
    public var calls: [CallView]
    /// Calls the subscriber is to forget, having ended. Each was in `calls` with its end, at the latest here.
    public var gone: [CallID]
    /// Everything said before and here together is the whole picture. False while the first picture, or one after the
    /// server has lost track and begins anew, is still coming.
    public var isComplete: Bool
    /// Forget all that was said before: the picture begins anew.
    public var isReset: Bool

    public init(subscription: Int, calls: [CallView], gone: [CallID], isComplete: Bool, isReset: Bool = false) {
        self.subscription = subscription
        self.calls = calls
        self.gone = gone
        self.isComplete = isComplete
        self.isReset = isReset
    }

    enum CodingKeys: String, CodingKey {
        case subscription, calls, gone
        case isComplete = "complete"
        case isReset = "reset"
    }
}
