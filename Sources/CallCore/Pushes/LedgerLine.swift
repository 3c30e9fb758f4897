import CallVocabulary

/// One line of the push ledger, with both of its axes.
///
/// ```
/// intended ─▶ sent ─▶ accepted | rejected | unknown      awaited ─▶ reported | not_required | filtered |
///     │ ▲       │                        │                          report_failed | acted ─▶ what a report says
///     │ └refused, or not wanted any more └─▶ accepted      └─▶ unreported ─▶ reported_late | acted
///     ├─────▶ cancelled ─▶ intended, once more           not_required, where no report is owed
///     └─────▶ expired
/// ```
/// The ledger's counts are kept by ``CallCore``, which alone calls the transitions.
class LedgerLine {
    /// What the push client has of it.
    enum Custody {
        /// Nothing: the push is not in line yet, was dropped, or has had its outcome.
        case none
        /// It is in line.
        case queued
        /// Its turn has come. `sent` is being committed; until the core has looked once more no byte leaves.
        case committing
        /// The push client was told to send it.
        case released
    }

    private(set) var record: PushRecord
    var custody = Custody.none
    /// The device has used the wake token that the push carried.
    private(set) var hasWoken = false

    init(_ record: PushRecord) { self.record = record }

    var id: PushID { record.id }

    /// The push may be at the device: its bytes have left.
    var isOut: Bool {
        switch record.status {
        case .sent: custody == .released
        case .accepted, .unknown: true
        case .intended, .rejected, .cancelled, .expired: false
        }
    }

    /// The device has proved that the push arrived: by a report, or by the wake token in it.
    var isDelivered: Bool {
        switch record.report {
        case .reported, .filtered, .reportFailed, .reportedLate: true
        case .notRequired: record.owesReport
        case .acted: hasWoken
        case nil, .awaited, .unreported: false
        }
    }

    /// How it ends when it is not sent any more.
    func unsentStatus(at now: Instant) -> ProviderStatus { now < record.expiresAt ? .cancelled : .expired }

    func redirect(to token: PushToken) {
        precondition(record.status == .intended, "only what was not sent is redirected")
        record.token = token
    }

    /// It was withdrawn because the device was awake, and now the device is out of reach.
    func reopen(to token: PushToken) {
        precondition(record.status == .cancelled && record.sentAt == nil, "only what was withdrawn is intended again")
        record.status = .intended
        record.token = token
        record.reason = nil
        record.answeredAt = nil
    }

    func send(at now: Instant) {
        precondition(record.status == .intended, "a push is sent once")
        record.status = .sent
        record.sentAt = now
        record.report = record.owesReport ? .awaited : .notRequired
        custody = .committing
    }

    /// Its bytes leave now. The record stays as it is: `sent` is on disk.
    func release() {
        precondition(record.status == .sent && custody == .committing, "only what was committed as sent is released")
        custody = .released
    }

    /// It was certainly not processed: as if it had never left. The push client has it in line again.
    func takeBack() {
        precondition(record.status == .sent && !isDelivered, "only a push on its way comes back")
        record.status = .intended
        record.sentAt = nil
        record.report = nil
        record.reportedAt = nil
        custody = .queued
    }

    func accept(at now: Instant, reportDueAt: Instant) {
        precondition(record.status == .sent, "an answer belongs to a push that was sent")
        record.status = .accepted
        record.answeredAt = now
        if record.report == .awaited { record.reportDueAt = reportDueAt }
        custody = .none
    }

    func reject(_ reason: String, at now: Instant) {
        precondition(record.status == .sent && !isDelivered, "only a push nobody has seen is rejected")
        record.status = .rejected
        record.reason = reason
        record.answeredAt = now
        // An act since then was of an app that ran without this push.
        record.report = nil
        record.reportedAt = nil
        custody = .none
    }

    func loseTrack(_ reason: String, at now: Instant, reportDueAt: Instant) {
        precondition(record.status == .sent && !isDelivered, "an outcome belongs to a push that was sent")
        record.status = .unknown
        record.reason = reason
        record.answeredAt = now
        if record.report == .awaited { record.reportDueAt = reportDueAt }
        custody = .none
    }

    /// The device has proved that the push arrived, and the provider has not said that it took it.
    /// - Parameter reason: what the provider said instead, or why its answer is missing.
    func acceptByProof(_ reason: String) {
        precondition(record.status == .sent && isDelivered, "only a device proves what its provider does not say")
        record.status = .accepted
        record.reason = reason
        record.answeredAt = nil
        custody = .none
    }

    func cancel(_ status: ProviderStatus, reason: String?, at now: Instant) {
        precondition(record.status == .intended, "only what was not sent is cancelled")
        precondition(status == .cancelled || status == .expired, "a push not sent is cancelled or expired")
        record.status = status
        record.reason = reason
        record.answeredAt = now
        custody = .none
    }

    /// The device's word. A push whose outcome was not known has been delivered, then.
    /// - Parameter isLate: whether it was due before; of account where an act took the place of the report.
    func report(_ result: ReportResult, error: String?, isLate: Bool, at now: Instant) {
        switch record.report {
        case .awaited: record.report = result.status
        case .acted: record.report = isLate ? .reportedLate : result.status
        case .unreported: record.report = .reportedLate
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate:
            preconditionFailure("a push is reported once")
        }
        record.reportedAt = now
        record.reportError = error
        record.reportDueAt = nil
        learnDelivery()
    }

    /// The device acted and has not reported the push, so far.
    func act(byWakeToken: Bool, at now: Instant) {
        precondition(isOut, "only what has left can have woken anybody")
        switch record.report {
        case .awaited, .unreported:
            record.report = .acted
            record.reportedAt = now
            record.reportDueAt = nil
        case .acted: break
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate:
            preconditionFailure("an act says nothing where a report is there or none is owed")
        }
        if byWakeToken { hasWoken = true }
        learnDelivery()
    }

    /// `reason` goes on telling why the provider's answer is missing.
    private func learnDelivery() {
        guard record.status == .unknown, isDelivered else { return }
        record.status = .accepted
        record.answeredAt = nil
    }

    func giveUpReport(at now: Instant) {
        precondition(record.report == .awaited && record.status != .sent, "a report is given up when it is overdue")
        record.report = .unreported
        record.reportedAt = now
        record.reportDueAt = nil
    }
}
