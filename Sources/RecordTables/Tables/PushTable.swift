import CallCore
import CallVocabulary
import StoreInterface

package enum PushTable {
    package static let layout = TableLayout(
        name: "push", key: ["id"], fixed: ["call", "intended_at", "purpose"],
        columns: ["id", "purpose", "call", "user", "device"] + TokenTable.tokenColumns + [
            "status", "report", "reason", "report_error", "intended_at", "expires_at", "sent_at", "answered_at",
            "reported_at", "report_due_at",
        ], standsWithCall: true, numbering: "serial")

    /// The condition for an open push. Identical to that of the index `push_open`, which is otherwise not used.
    package static let isOpen = "(status IN ('intended', 'sent') OR report = 'awaited')"

    /// The same for a negation: a missing report counts as not awaited.
    package static let isOpenOrNull = "(status IN ('intended', 'sent') OR coalesce(report, '') = 'awaited')"

    package static let selectOfCall = layout.select + " WHERE \(TableLayout.ofCall) ORDER BY serial"

    package static func bind(_ record: PushRecord, to row: inout OperationBuffer) {
        row.bind(record.id)
        row.bind(record.purpose)
        row.bind(record.call)
        row.bind(record.device.user)
        row.bind(record.device.device)
        TokenTable.bind(record.token, to: &row)
        row.bind(record.status)
        row.bind(record.report)
        row.bind(record.reason)
        row.bind(record.reportError)
        row.bind(record.intendedAt)
        row.bind(record.expiresAt)
        row.bind(record.sentAt)
        row.bind(record.answeredAt)
        row.bind(record.reportedAt)
        row.bind(record.reportDueAt)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> PushRecord {
        let id: PushID = try row.identifier()
        let purpose: PushPurpose = try row.value()
        let call: CallID = try row.identifier()
        let device = DeviceKey(user: try row.handle(), device: try row.identifier())
        let token = try TokenTable.readToken(row)
        let status: ProviderStatus = try row.value()
        let report: ReportStatus? = try row.optionalValue()
        let reason = row.optionalText()
        let reportError = row.optionalText()
        var record = PushRecord(
            id: id, purpose: purpose, call: call, device: device, token: token, intendedAt: try row.instant(),
            expiresAt: try row.instant())
        record.status = status
        record.report = report
        record.reason = reason
        record.reportError = reportError
        record.sentAt = try row.optionalInstant()
        record.answeredAt = try row.optionalInstant()
        record.reportedAt = try row.optionalInstant()
        record.reportDueAt = try row.optionalInstant()
        return record
    }
}
