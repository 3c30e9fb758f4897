/// A push's status at its provider: one axis of the ledger.
///
/// ```
/// intended ─▶ sent ─▶ accepted | rejected | unknown
///     └─────▶ cancelled | expired                     (never on the wire)
/// ```
public enum ProviderStatus: String, Sendable, CaseIterable {
    /// On disk and queued; not on the wire.
    case intended
    /// Committed as sent; the bytes leave after that. No answer yet.
    case sent
    case accepted
    case rejected
    /// It may have been accepted: it is never sent again.
    case unknown
    /// Not needed any more, and never sent.
    case cancelled
    /// It expired before it could be sent.
    case expired
}

/// A push's report by the device: the other axis of the ledger. It starts when the push is `sent`.
///
/// ```
/// awaited ─▶ reported | not_required | filtered | report_failed | acted | unreported ─▶ reported_late
/// ```
public enum ReportStatus: String, Sendable, CaseIterable {
    case awaited
    case reported
    case notRequired = "not_required"
    case filtered
    case reportFailed = "report_failed"
    case unreported
    case reportedLate = "reported_late"
    /// The device acted after the push without reporting it, which proves that the app ran.
    case acted
}

/// The result in a device's `push.report`.
public enum ReportResult: String, Sendable, CaseIterable {
    /// CallKit, or its equivalent, shows the call.
    case reported
    /// The system required no report: the app was in the foreground or in a call.
    case notRequired = "not_required"
    /// The system accepted the report and shows nothing: do not disturb, or a blocked caller.
    case filtered
    case failed

    public var status: ReportStatus {
        switch self {
        case .reported: .reported
        case .notRequired: .notRequired
        case .filtered: .filtered
        case .failed: .reportFailed
        }
    }
}
