import CallVocabulary

/// One line of the push ledger.
public struct PushView: Codable, Equatable, Sendable {
    public var pushID: PushID
    public var purpose: PushPurpose
    /// The delivery type at the provider; nil for a token that cannot serve the push's purpose.
    public var delivery: PushDelivery?
    public var callID: CallID
    public var user: Handle
    public var deviceID: DeviceID
    public var token: TokenView
    public var status: ProviderStatus
    public var report: ReportStatus?
    /// The provider's reason for a rejection, or the reason why the outcome is unknown.
    public var reason: String?
    /// The device's error, if its report contains one.
    public var reportError: String?
    public var intendedAt: Timestamp
    public var expiresAt: Timestamp
    public var sentAt: Timestamp?
    public var answeredAt: Timestamp?
    public var reportedAt: Timestamp?
    public var reportDueAt: Timestamp?

    public init(
        pushID: PushID, purpose: PushPurpose, callID: CallID, user: Handle, deviceID: DeviceID, token: TokenView,
        status: ProviderStatus, intendedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.pushID = pushID
        self.purpose = purpose
        self.callID = callID
        self.user = user
        self.deviceID = deviceID
        self.token = token
        self.status = status
        self.intendedAt = intendedAt
        self.expiresAt = expiresAt
    }

    enum CodingKeys: String, CodingKey {
        case purpose, delivery, user, token, status, report, reason
        case pushID = "push_id"
        case callID = "call_id"
        case deviceID = "device_id"
        case reportError = "report_error"
        case intendedAt = "intended_at"
        case expiresAt = "expires_at"
        case sentAt = "sent_at"
        case answeredAt = "answered_at"
        case reportedAt = "reported_at"
        case reportDueAt = "report_due_at"
    }
}

/// A push token without its secret part.
public struct TokenView: Codable, Equatable, Sendable {
    public var provider: PushProvider
    public var kind: PushKind
    public var environment: PushEnvironment
    public var topic: String
    /// The first eight characters and an ellipsis; for Web Push the push service's host and eight characters of the
    /// browser's public key.
    public var token: String
    /// The payload profile that the device asks for; nil for that of the topic.
    public var profile: String?
    /// nil where the time does not belong to the view.
    public var registeredAt: Timestamp?

    public init(_ token: PushToken, registeredAt: Instant? = nil) {
        provider = token.provider
        kind = token.kind
        environment = token.environment
        topic = token.topic
        self.token = token.excerpt
        profile = token.profile
        self.registeredAt = Timestamp(registeredAt)
    }

    enum CodingKeys: String, CodingKey {
        case provider, kind, environment, topic, token, profile
        case registeredAt = "registered_at"
    }
}

/// The result of a check of the whole ledger.
public struct AuditView: Codable, Equatable, Sendable {
    /// Every conservation law holds, and no push is open past its deadline.
    public var balanced: Bool
    public var intended: Int
    /// Pushes by provider status.
    public var provider: [ProviderStatus: Int]
    /// Sent pushes by the status of the device's report.
    public var report: [ReportStatus: Int]
    /// The violated laws, as text.
    public var violations: [String]
    /// Pushes open past their deadline, oldest first: the first hundred.
    public var overdue: [PushView]

    public init(
        balanced: Bool, intended: Int, provider: [ProviderStatus: Int], report: [ReportStatus: Int],
        violations: [String], overdue: [PushView]
    ) {
        self.balanced = balanced
        self.intended = intended
        self.provider = provider
        self.report = report
        self.violations = violations
        self.overdue = overdue
    }
}

extension AuditView {
    /// The conservation laws as sums, as text: intended, sent, and the outcomes.
    public var sums: [String] {
        func count(_ status: ProviderStatus) -> Int { provider[status, default: 0] }
        func list(_ parts: [(String, Int)]) -> String {
            parts.map { "\($0.0) \($0.1)" }.joined(separator: " + ")
        }
        let inFlight = count(.sent)
        let sent = count(.accepted) + count(.rejected) + count(.unknown) + inFlight
        let possible = count(.accepted) + count(.unknown) + inFlight
        return [
            "intended \(intended) = "
                + list([
                    ("cancelled", count(.cancelled)), ("expired", count(.expired)), ("sent", sent),
                    ("queued", count(.intended)),
                ]),
            "sent \(sent) = "
                + list([
                    ("accepted", count(.accepted)), ("rejected", count(.rejected)), ("unknown", count(.unknown)),
                    ("in flight", inFlight),
                ]),
            "accepted, unknown or in flight \(possible) = "
                + list(ReportStatus.allCases.map { ($0.rawValue, report[$0, default: 0]) }),
        ]
    }
}
