import CallVocabulary

/// One line of the push ledger: a push with its provider status and its report status.
///
/// ```
/// intended ─▶ sent ─▶ accepted | rejected | unknown      awaited ─▶ reported | not_required | filtered |
///     │ ▲       │                        │                          report_failed | acted ─▶ what a report says
///     │ └refused, or not wanted any more └─▶ accepted      └─▶ unreported ─▶ reported_late | acted
///     ├─────▶ cancelled ─▶ intended, once more           not_required, where no report is owed
///     └─────▶ expired
/// ```
/// ``CallCore`` alone calls the transitions, and keeps the ledger's counts.
class LedgerLine {
    /// What the push client does with the push.
    enum Custody {
        /// Nothing: the push is not queued yet, was dropped, or has an outcome.
        case none
        /// It is queued.
        case queued
        /// Its turn has come and `sent` is being committed. No byte leaves until the core has checked once more.
        case committing
        /// The push client was told to send it.
        case released
    }

    private(set) var record: PushRecord
    var custody = Custody.none
    /// The device has used the push's wake token.
    private(set) var hasWoken = false

    init(_ record: PushRecord) { self.record = record }

    var id: PushID { record.id }

    /// Its record is written in this store generation. What it belongs to leaves memory after that.
    func noteWritten(in generation: UInt64) {}

    /// Whether the push may have reached the device: its bytes have been sent.
    var isOut: Bool {
        switch record.status {
        case .sent: custody == .released
        case .accepted, .unknown: true
        case .intended, .rejected, .cancelled, .expired: false
        }
    }

    /// Whether the device has proved that the push arrived, by a report or by its wake token.
    var isDelivered: Bool {
        switch record.report {
        case .reported, .filtered, .reportFailed, .reportedLate: true
        case .notRequired: record.owesReport
        case .acted: hasWoken
        case nil, .awaited, .unreported: false
        }
    }

    /// The final status of a push that is not sent.
    func unsentStatus(at now: Instant) -> ProviderStatus { now < record.expiresAt ? .cancelled : .expired }

    func redirect(to token: PushToken) {
        precondition(record.status == .intended, "only what was not sent is redirected")
        record.token = token
    }

    /// Makes a cancelled push intended again: it was withdrawn because the device was awake, and the device is now out
    /// of reach.
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

    /// Marks the bytes as leaving. The record stays the same: `sent` is on disk.
    func release() {
        precondition(record.status == .sent && custody == .committing, "only what was committed as sent is released")
        custody = .released
    }

    /// Takes back a push that was certainly not processed, as if it had never been sent. The push client has it queued
    /// again.
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
        beginReportTime(until: reportDueAt)
        custody = .none
    }

    /// From the provider's answer, or from when it was given up, the device has some time for its report. An act does not
    /// end that time: a report may follow it.
    private func beginReportTime(until due: Instant) {
        switch record.report {
        case .awaited, .acted: record.reportDueAt = due
        case nil, .reported, .notRequired, .filtered, .reportFailed, .unreported, .reportedLate: break
        }
    }

    func reject(_ reason: String, at now: Instant) {
        precondition(record.status == .sent && !isDelivered, "only a push nobody has seen is rejected")
        record.status = .rejected
        record.reason = reason
        record.answeredAt = now
        // An act since then came from an app that ran without this push.
        record.report = nil
        record.reportedAt = nil
        record.reportDueAt = nil
        custody = .none
    }

    func loseTrack(_ reason: String, at now: Instant, reportDueAt: Instant) {
        precondition(record.status == .sent && !isDelivered, "an outcome belongs to a push that was sent")
        record.status = .unknown
        record.reason = reason
        record.answeredAt = now
        beginReportTime(until: reportDueAt)
        custody = .none
    }

    /// The device has proved that the push arrived, and the provider did not accept it.
    /// - Parameter reason: the provider's answer, or why it is missing.
    func acceptByProof(_ reason: String, reportDueAt: Instant) {
        precondition(record.status == .sent && isDelivered, "only a device proves what its provider does not say")
        record.status = .accepted
        record.reason = "\(proof); \(reason)"
        record.answeredAt = nil
        beginReportTime(until: reportDueAt)
        custody = .none
    }

    /// What the device has proved the push's delivery by.
    private var proof: String {
        record.report == .acted ? "the device used its wake token" : "the device reported it"
    }

    func cancel(_ status: ProviderStatus, reason: String?, at now: Instant) {
        precondition(record.status == .intended, "only what was not sent is cancelled")
        precondition(status == .cancelled || status == .expired, "a push not sent is cancelled or expired")
        record.status = status
        record.reason = reason
        record.answeredAt = now
        custody = .none
    }

    /// Enters the device's report, which is late after the report deadline. A push with an unknown outcome thereby becomes
    /// accepted.
    func report(_ result: ReportResult, error: String?, at now: Instant) {
        let isLate = record.reportDueAt.map { $0 <= now } ?? false
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

    /// The device acted without having reported the push so far.
    func act(byWakeToken: Bool, at now: Instant) {
        precondition(isOut, "only what has left can have woken anybody")
        switch record.report {
        case .awaited:
            record.report = .acted
            record.reportedAt = now
        case .unreported:
            record.report = .acted
            // The deadline was when the server stopped waiting.
            record.reportDueAt = record.reportedAt
            record.reportedAt = now
        case .acted: break
        case nil, .reported, .notRequired, .filtered, .reportFailed, .reportedLate:
            preconditionFailure("an act says nothing where a report is there or none is owed")
        }
        if byWakeToken { hasWoken = true }
        learnDelivery()
    }

    /// Sets an unknown push to accepted. `reason` names the proof, then why the provider's answer is missing.
    private func learnDelivery() {
        guard record.status == .unknown, isDelivered else { return }
        record.status = .accepted
        record.reason = record.reason.map { "\(proof); \($0)" } ?? proof
        record.answeredAt = nil
    }

    func giveUpReport(at now: Instant) {
        precondition(record.report == .awaited && record.status != .sent, "a report is given up when it is overdue")
        record.report = .unreported
        record.reportedAt = now
        record.reportDueAt = nil
    }
}
