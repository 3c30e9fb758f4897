import AdminProtocol
import CallCore
import CallVocabulary

extension PushView {
    public init(_ push: PushRecord) {
        self.init(
            pushID: push.id, purpose: push.purpose, callID: push.call, user: push.device.user,
            deviceID: push.device.device, token: TokenView(push.token), status: push.status,
            intendedAt: Timestamp(push.intendedAt), expiresAt: Timestamp(push.expiresAt))
        delivery = push.delivery
        report = push.report
        reason = push.reason
        reportError = push.reportError
        sentAt = Timestamp(push.sentAt)
        answeredAt = Timestamp(push.answeredAt)
        reportedAt = Timestamp(push.reportedAt)
        reportDueAt = Timestamp(push.reportDueAt)
    }
}

extension AuditView {
    public init(_ counts: LedgerCounts, violations: [String], overdue: [PushRecord]) {
        var provider: [ProviderStatus: Int] = [:]
        for status in ProviderStatus.allCases { provider[status] = counts.count(status) }
        var report: [ReportStatus: Int] = [:]
        for status in ReportStatus.allCases { report[status] = counts.count(status) }
        self.init(
            balanced: violations.isEmpty && overdue.isEmpty, intended: counts.intended, provider: provider,
            report: report, violations: violations, overdue: overdue.map { PushView($0) })
    }
}
