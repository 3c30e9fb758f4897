import CallVocabulary

/// Lists entries of the push ledger, newest first.
public struct ListPushes: AdminListRequest {
    public typealias Item = PushView
    public static let method = AdminMethod.pushList
    /// Only pushes whose id begins or ends with this part, among all in the store. Excludes all other filters.
    public var id: IDPart<PushSubject>?
    public var purpose: PushPurpose?
    public var status: ProviderStatus?
    public var report: ReportStatus?
    public var user: Handle?
    public var callID: CallID?
    /// True: only pushes whose outcome is still open. False: only the others.
    public var open: Bool?
    public var limit: Int?
    public var after: String?

    public init(
        purpose: PushPurpose? = nil, status: ProviderStatus? = nil, report: ReportStatus? = nil, user: Handle? = nil,
        callID: CallID? = nil, open: Bool? = nil, limit: Int? = nil, after: String? = nil
    ) {
        self.purpose = purpose
        self.status = status
        self.report = report
        self.user = user
        self.callID = callID
        self.open = open
        self.limit = limit
        self.after = after
    }

    public init(id: IDPart<PushSubject>) { self.id = id }

    enum CodingKeys: String, CodingKey {
        case id, purpose, status, report, user, open, limit, after
        case callID = "call_id"
    }
}

public struct GetPush: AdminRequest {
    public typealias Response = PushView
    public static let method = AdminMethod.pushGet
    public var pushID: PushID

    public init(_ pushID: PushID) { self.pushID = pushID }

    enum CodingKeys: String, CodingKey { case pushID = "push_id" }
}

/// Checks the whole ledger. Takes seconds on a store of millions of pushes.
public struct AuditPushes: AdminRequest {
    public typealias Response = AuditView
    public static let method = AdminMethod.pushAudit
    /// Reports only overdue pushes intended at or after this, in ms since the epoch.
    public var sinceMilliseconds: Int64?

    public init(since: Instant? = nil) { sinceMilliseconds = since?.milliseconds }

    enum CodingKeys: String, CodingKey { case sinceMilliseconds = "since_ms" }
}
