/// A problem of the server, with what to do. There is one list of them: readiness, `reveille check`, `top`, `stats`,
/// `calls watch`, the board, the log and `reveille_problems` all have it.
public struct ServerProblem: Codable, Equatable, Sendable {
    /// How soon a person must act.
    public enum Severity: String, Codable, Sendable, CaseIterable {
        /// In the morning: `severity: ticket` of an alarm.
        case warning
        /// At once: `severity: page`.
        case critical
    }

    /// What is wrong. Each has an alarm in `Resources/prometheus/alerts.yml` with its name: `store_failing` is
    /// `ReveilleStoreFailing`.
    public enum Code: String, Codable, Sendable, CaseIterable {
        case coreStopped = "core_stopped"
        case draining
        case adminSocketMissing = "admin_socket_missing"
        case storeFailing = "store_failing"
        case storeHangs = "store_hangs"
        case storeDamaged = "store_damaged"
        case checkpointsFail = "checkpoints_fail"
        case storeLinked = "store_linked"
        case storeBehind = "store_behind"
        case coreBehind = "core_behind"
        case loopBusy = "loop_busy"
        case noHome = "no_home"
        case noStandby = "no_standby"
        case standbyCutOff = "standby_cut_off"
        /// Of a standby: its files differ from the realm's.
        case secretsDiffer = "secrets_differ"
        case ledgerViolated = "ledger_violated"
        case pushesUnreported = "pushes_unreported"
        case devicesSuspended = "devices_suspended"
        case pushDisconnected = "push_disconnected"
        case pushQueueOld = "push_queue_old"
        case pushesFailing = "pushes_failing"
        case credentialRefused = "credential_refused"
        case tokensRefused = "tokens_refused"
        /// Of a push provider.
        case certificateExpiring = "certificate_expiring"
        case listenerCertificateExpiring = "listener_certificate_expiring"
        /// Any certificate, within a day.
        case certificateEnds = "certificate_ends"
        case certificateExpired = "certificate_expired"
        case authorizationDown = "authorization_down"
        case authorizationFailing = "authorization_failing"
        case identityKeysOld = "identity_keys_old"
        case identityKeysAbsent = "identity_keys_absent"
        case filesMissing = "files_missing"
        case reloadRefused = "reload_refused"
        case webhookFailing = "webhook_failing"
        case webhookBacklog = "webhook_backlog"
        case sessionsRefused = "sessions_refused"
        case callsFailing = "calls_failing"
        case ringingSlow = "ringing_slow"
        case limitsHit = "limits_hit"
        case connectionsFull = "connections_full"
        case descriptorsLow = "descriptors_low"
        case clockSet = "clock_set"
        case machineSuspended = "machine_suspended"
        case logLinesDropped = "log_lines_dropped"

        public var severity: Severity {
            switch self {
            case .coreStopped, .storeFailing, .storeHangs, .storeDamaged, .checkpointsFail, .coreBehind, .loopBusy,
                .noHome, .ledgerViolated, .pushDisconnected, .pushQueueOld, .pushesFailing, .credentialRefused,
                .tokensRefused, .certificateEnds, .certificateExpired, .authorizationDown, .authorizationFailing,
                .identityKeysAbsent, .callsFailing, .ringingSlow, .connectionsFull, .descriptorsLow:
                .critical
            case .adminSocketMissing, .draining, .storeLinked, .storeBehind, .noStandby, .standbyCutOff, .secretsDiffer,
                .pushesUnreported,
                .devicesSuspended, .certificateExpiring, .listenerCertificateExpiring, .identityKeysOld,
                .filesMissing, .reloadRefused, .webhookFailing, .webhookBacklog, .sessionsRefused, .limitsHit,
                .clockSet, .machineSuspended, .logLinesDropped:
                .warning
            }
        }
    }

    public var code: Code
    /// That of the code; so that a reader needs no table.
    public var severity: Severity
    /// Whether the server is not ready because of it.
    public var isUnready: Bool
    /// The listener, endpoint, provider, thread, limit or setting; nil where there is one only.
    public var subject: String?
    /// The topics of a provider's pushes that it concerns: certificates of several apps have one subject. nil for all.
    public var topics: [String]?
    /// The problem and what to do, as text.
    public var words: String

    public init(
        _ code: Code, of subject: String? = nil, isUnready: Bool = false, topics: [String]? = nil, _ words: String
    ) {
        self.code = code
        severity = code.severity
        self.isUnready = isUnready
        self.subject = subject
        self.topics = topics
        self.words = words
    }

    enum CodingKeys: String, CodingKey {
        case code, severity, subject, topics, words
        case isUnready = "is_unready"
    }

    /// The worst first: those that make the server unready, then the critical ones.
    public static func sorted(_ problems: [ServerProblem]) -> [ServerProblem] {
        problems.filter(\.isUnready) + problems.filter { !$0.isUnready && $0.severity == .critical }
            + problems.filter { !$0.isUnready && $0.severity == .warning }
    }
}

/// The answer to `/readyz` for operators who accept JSON. A standby answers it, unlike the requests of administrators.
public struct ReadinessView: Codable, Equatable, Sendable {
    /// Whether clients are sent to this server; false on a standby.
    public var isHome: Bool
    /// Where the home of a standby's realm is, in words; nil on the home, and while the standby finds none.
    public var standsBy: String?
    /// The worst first.
    public var problems: [ServerProblem]

    public init(isHome: Bool, standsBy: String?, problems: [ServerProblem]) {
        self.isHome = isHome
        self.standsBy = standsBy
        self.problems = problems
    }

    enum CodingKeys: String, CodingKey {
        case problems
        case isHome = "is_home"
        case standsBy = "stands_by"
    }
}
