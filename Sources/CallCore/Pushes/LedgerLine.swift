import CallVocabulary

/// One line of the push ledger, with both of its axes.
///
/// ```
/// intended ─▶ sent ─▶ accepted | rejected | unknown      awaited ─▶ reported | not_required | filtered |
///     │ ▲       │                                                   report_failed | unreported ─▶ reported_late
///     │ └─refused┘
///     └─────▶ cancelled | expired                        not_required, where no report is owed
/// ```
/// The ledger's counts are kept by ``CallCore``, which alone calls the transitions.
class LedgerLine {
    private(set) var record: PushRecord
    /// The push client has it in its queue.
    var isQueued = false

    init(_ record: PushRecord) { self.record = record }

    var id: PushID { record.id }

    /// On the wire or beyond, and nothing says that the device has got it.
    var isUnheard: Bool { record.report == (record.owesReport ? .awaited : .notRequired) }

    /// How it ends when it is not sent any more.
    func unsentStatus(at now: Instant) -> ProviderStatus { now < record.expiresAt ? .cancelled : .expired }

    func redirect(to token: PushToken) {
        precondition(record.status == .intended, "only what was not sent is redirected")
        record.token = token
    }

    func send(at now: Instant) {
        precondition(record.status == .intended, "a push is sent once")
        record.status = .sent
        record.sentAt = now
        record.report = record.owesReport ? .awaited : .notRequired
    }

    /// The provider certainly did not process it: as if it had never left.
    func takeBack() {
        precondition(record.status == .sent && isUnheard, "only a push on its way comes back")
        record.status = .intended
        record.sentAt = nil
        record.report = nil
    }

    func accept(at now: Instant, reportDueAt: Instant) {
        precondition(record.status == .sent, "an answer belongs to a push that was sent")
        record.status = .accepted
        record.answeredAt = now
        if record.report == .awaited { record.reportDueAt = reportDueAt }
    }

    func reject(_ reason: String, at now: Instant) {
        precondition(record.status == .sent && isUnheard, "only a push nobody has seen is rejected")
        record.status = .rejected
        record.reason = reason
        record.answeredAt = now
        record.report = nil
    }

    func loseTrack(_ reason: String, at now: Instant, reportDueAt: Instant) {
        precondition(record.status == .sent, "an outcome belongs to a push that was sent")
        // A report is proof that it was delivered, so that nothing is unknown about it.
        record.status = isUnheard ? .unknown : .accepted
        record.reason = record.status == .unknown ? reason : nil
        record.answeredAt = now
        if record.report == .awaited { record.reportDueAt = reportDueAt }
    }

    func cancel(_ status: ProviderStatus, reason: String?, at now: Instant) {
        precondition(record.status == .intended, "only what was not sent is cancelled")
        precondition(status == .cancelled || status == .expired, "a push not sent is cancelled or expired")
        record.status = status
        record.reason = reason
        record.answeredAt = now
    }

    /// The device's word. A push whose outcome was not known has been delivered, then.
    func report(_ result: ReportResult, error: String?, at now: Instant) {
        switch record.report {
        case .awaited: record.report = result.status
        case .unreported: record.report = .reportedLate
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate:
            preconditionFailure("a push is reported once")
        }
        record.reportedAt = now
        record.reportError = error
        record.reportDueAt = nil
        if record.status == .unknown {
            record.status = .accepted
            record.reason = nil
        }
    }

    func giveUpReport(at now: Instant) {
        precondition(record.report == .awaited && record.status != .sent, "a report is given up when it is overdue")
        record.report = .unreported
        record.reportedAt = now
        record.reportDueAt = nil
    }
}
