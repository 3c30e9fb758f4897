import CallVocabulary

/// Which calls to read; a condition left out lets all pass.
public struct CallFilter: Equatable, Sendable {
    public var isLive: Bool?
    /// The caller, a user called (by name, as a member of a group, behind an alias), or one with a leg.
    public var user: Handle?
    /// Created at or after this.
    public var since: Instant?
    /// Ended with this.
    public var reason: EndReason?
    /// At most so many, the newest.
    public var limit: Int

    public init(
        isLive: Bool? = nil, user: Handle? = nil, since: Instant? = nil, reason: EndReason? = nil, limit: Int = 100
    ) {
        self.isLive = isLive
        self.user = user
        self.since = since
        self.reason = reason
        self.limit = limit
    }
}

/// Which pushes to read; a condition left out lets all pass.
public struct PushFilter: Equatable, Sendable {
    public var purpose: PushPurpose?
    public var status: ProviderStatus?
    public var report: ReportStatus?
    public var user: Handle?
    public var call: CallID?
    /// Whether something may still become of it: not sent yet, not answered, or its report awaited.
    public var isOpen: Bool?
    /// Intended at or after this.
    public var since: Instant?
    /// At most so many, the newest.
    public var limit: Int

    public init(
        purpose: PushPurpose? = nil, status: ProviderStatus? = nil, report: ReportStatus? = nil, user: Handle? = nil,
        call: CallID? = nil, isOpen: Bool? = nil, since: Instant? = nil, limit: Int = 100
    ) {
        self.purpose = purpose
        self.status = status
        self.report = report
        self.user = user
        self.call = call
        self.isOpen = isOpen
        self.since = since
        self.limit = limit
    }
}
