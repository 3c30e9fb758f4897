import CallVocabulary
import Testing

@testable import CallCore

@Suite struct LedgerCountsTests {
    @Test("every pair of the two axes that cannot be is told as a violation, and no other")
    func pairs() {
        for status in ProviderStatus.allCases {
            for report in ReportStatus.allCases.map(Optional.some) + [nil] {
                var ledger = LedgerCounts()
                ledger.add(status: status, report: report)
                let mayHaveArrived = status == .sent || status == .accepted || status == .unknown
                #expect(
                    ledger.violations.isEmpty == (mayHaveArrived == (report != nil)),
                    "\(status) \(String(describing: report))")
                #expect(ledger.intended == 1 && ledger.count(status) == 1)
                ledger.remove(status: status, report: report)
                #expect(ledger == LedgerCounts())
            }
        }
    }

    @Test("leaving a state one was never in is told")
    func negative() {
        var ledger = LedgerCounts()
        ledger.add(status: .sent, report: .awaited)
        ledger.remove(status: .accepted, report: .awaited)
        #expect(!ledger.violations.isEmpty)
    }
}
