import CallCore
import CallVocabulary

/// A filter of calls; nil conditions match all calls.
public struct CallFilter: Equatable, Sendable {
    public var isLive: Bool?
    public var states: Set<CallState>?
    /// The caller, a callee (by name, as a member of a group, behind an alias), or the owner of a leg.
    public var user: Handle?
    /// Created at or after this.
    public var since: Instant?
    /// Created before this.
    public var until: Instant?
    /// The reason of the end.
    public var reason: EndReason?
    /// Only calls after this one in the list: the last one of the page before.
    public var after: CallCursor?
    /// The most calls, newest first.
    public var limit: Int

    public init(
        isLive: Bool? = nil, states: Set<CallState>? = nil, user: Handle? = nil, since: Instant? = nil,
        until: Instant? = nil, reason: EndReason? = nil, after: CallCursor? = nil, limit: Int = 100
    ) {
        self.isLive = isLive
        self.states = states
        self.user = user
        self.since = since
        self.until = until
        self.reason = reason
        self.after = after
        self.limit = limit
    }
}

/// A position in a list of calls, newest first.
public struct CallCursor: Hashable, Sendable {
    public var createdAt: Instant
    public var call: CallID

    public init(createdAt: Instant, call: CallID) {
        self.createdAt = createdAt
        self.call = call
    }

    public init(_ call: CallRecord) { self.init(createdAt: call.createdAt, call: call.id) }
}

/// A filter of pushes; nil conditions match all pushes.
public struct PushFilter: Equatable, Sendable {
    public var purpose: PushPurpose?
    public var status: ProviderStatus?
    public var report: ReportStatus?
    public var user: Handle?
    public var call: CallID?
    /// Whether the push is open: not sent, not answered, or its report awaited.
    public var isOpen: Bool?
    /// Intended at or after this.
    public var since: Instant?
    /// Intended before this.
    public var until: Instant?
    /// Only pushes after this one in the list: the last one of the page before.
    public var after: PushCursor?
    /// The most pushes, newest first.
    public var limit: Int

    public init(
        purpose: PushPurpose? = nil, status: ProviderStatus? = nil, report: ReportStatus? = nil, user: Handle? = nil,
        call: CallID? = nil, isOpen: Bool? = nil, since: Instant? = nil, until: Instant? = nil,
        after: PushCursor? = nil, limit: Int = 100
    ) {
        self.purpose = purpose
        self.status = status
        self.report = report
        self.user = user
        self.call = call
        self.isOpen = isOpen
        self.since = since
        self.until = until
        self.after = after
        self.limit = limit
    }
}

/// A position in a list of pushes, newest first.
public struct PushCursor: Hashable, Sendable {
    public var intendedAt: Instant
    public var push: PushID

    public init(intendedAt: Instant, push: PushID) {
        self.intendedAt = intendedAt
        self.push = push
    }

    public init(_ push: PushRecord) { self.init(intendedAt: push.intendedAt, push: push.id) }
}

/// A filter of devices; nil conditions match all devices.
public struct DeviceFilter: Equatable, Sendable {
    public var user: Handle?
    /// Only suspended devices, which do not report their pushes and get calls as alerts only.
    public var suspendedOnly: Bool
    /// Only devices that come after this one by user and device: the last one of the page before.
    public var after: DeviceKey?
    /// The most devices.
    public var limit: Int

    public init(user: Handle? = nil, suspendedOnly: Bool = false, after: DeviceKey? = nil, limit: Int = 100) {
        self.user = user
        self.suspendedOnly = suspendedOnly
        self.after = after
        self.limit = limit
    }
}

/// One page of a list.
public struct StorePage<Row: Equatable & Sendable, Cursor: Equatable & Sendable>: Equatable, Sendable {
    public var rows: [Row]
    /// Where the next page begins; nil on the last page. Other pages may be short or empty too.
    public var next: Cursor?
    /// Why rows of an export are left out: a damaged value, with the number of its row.
    public var unreadable: [StoreFailure]

    public init(rows: [Row], next: Cursor?, unreadable: [StoreFailure] = []) {
        self.rows = rows
        self.next = next
        self.unreadable = unreadable
    }
}
