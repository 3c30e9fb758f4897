import CallVocabulary

/// Lists calls, newest first. Live calls come from memory; all others from the store.
public struct ListCalls: AdminListRequest {
    public typealias Item = CallView
    public static let method = AdminMethod.callList

    /// Only calls whose id begins or ends with this part, among all in the store. Excludes all other filters.
    public var id: IDPart<CallSubject>?
    /// True: only live calls. False: only ended calls.
    public var live: Bool?
    /// The caller, a callee, or a user with a device in the call.
    public var user: Handle?
    public var reason: EndReason?
    public var state: CallState?
    /// Created at or after this, in ms since the epoch.
    public var sinceMilliseconds: Int64?
    /// Created before this, in ms since the epoch.
    public var untilMilliseconds: Int64?
    /// The most calls in one page.
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

/// Returns one call with its legs, pushes and timeline, from memory or the store.
public struct GetCall: AdminRequest {
    public typealias Response = CallDetail
    public static let method = AdminMethod.callGet
    public var callID: CallID

    public init(_ callID: CallID) { self.callID = callID }

    enum CodingKeys: String, CodingKey { case callID = "call_id" }
}

/// Ends a live call for all parties with the reason `admin`. Fails with `conflict` when the call has ended already.
public struct EndCall: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.callEnd
    public var callID: CallID

    public init(_ callID: CallID) { self.callID = callID }

    enum CodingKeys: String, CodingKey { case callID = "call_id" }
}

/// Reports the live calls and their changes.
///
/// The first notifications contain the present live calls; the last of these has `isComplete`. Each later notification
/// contains the changes since the one before it. Several changes of a call are merged; notifications are at least
/// `intervalMilliseconds` apart.
public struct SubscribeToCalls: AdminSubscription {
    public typealias Notification = CallsChanged
    public static let method = AdminMethod.callSubscribe
    /// Only calls that this user placed or received.
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

/// The parameters of `call.changed`.
public struct CallsChanged: Codable, Equatable, Sendable {
    public var subscription: Int
    /// New and changed live calls, and each call that has ended since, once, in its final state.
    public var calls: [CallView]
    /// Ended calls that the subscriber removes. Each appears in `calls` in its final state, at the latest here.
    public var gone: [CallID]
    /// True when all notifications up to this one contain the whole state. False while the initial state, or the state
    /// after a reset, is incomplete.
    public var isComplete: Bool
    /// The subscriber discards all earlier notifications: the state is sent anew.
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
