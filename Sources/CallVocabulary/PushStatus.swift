/// What the provider has had to do with a push: one axis of the ledger.
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
    /// It may or may not have been taken: it is never sent again.
    case unknown
    /// Not needed any more, and never sent.
    case cancelled
    /// Its time was over before it could be sent.
    case expired
}

/// What the device has said of a push: the other axis of the ledger. It starts when the push is `sent`.
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
    /// The device acted after the push without reporting it: proof that the app ran.
    case acted
}

/// A device's word on a push, as `push.report` carries it.
public enum ReportResult: String, Sendable, CaseIterable {
    /// CallKit (or its like) shows the call.
    case reported
    /// The system asked for no report: the app was in front or in a call.
    case notRequired = "not_required"
    /// Do Not Disturb or a blocked caller: the system took the report and shows nothing.
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
