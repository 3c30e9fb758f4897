import CallVocabulary

/// Counts the pushes by provider status and report status, and checks that the counts add up.
///
/// The conservation laws: an intended push is cancelled, expired, queued or sent. A sent push is accepted, rejected,
/// unknown or in flight. Each push that may have reached a device has exactly one report status, or awaits it.
public struct LedgerCounts: Equatable, Sendable {
    /// Indexed by provider status and report status; the last column counts pushes without a report status.
    private var cells: [Int]

    private static let columns = ReportStatus.allCases.count + 1

    public init() {
        cells = Array(repeating: 0, count: ProviderStatus.allCases.count * Self.columns)
    }

    private static func index(_ status: ProviderStatus, _ report: ReportStatus?) -> Int {
        // Both are members of their `allCases`.
        let row = ProviderStatus.allCases.firstIndex(of: status)!
        let column = report.map { ReportStatus.allCases.firstIndex(of: $0)! } ?? ReportStatus.allCases.count
        return row * columns + column
    }

    public mutating func add(_ count: Int = 1, status: ProviderStatus, report: ReportStatus?) {
        cells[Self.index(status, report)] += count
    }

    public mutating func remove(status: ProviderStatus, report: ReportStatus?) {
        cells[Self.index(status, report)] -= 1
    }

    public func count(_ status: ProviderStatus, _ report: ReportStatus?) -> Int {
        cells[Self.index(status, report)]
    }

    /// All pushes with this provider status.
    public func count(_ status: ProviderStatus) -> Int {
        count(status, nil) + ReportStatus.allCases.reduce(0) { $0 + count(status, $1) }
    }

    /// All pushes with this report status.
    public func count(_ report: ReportStatus) -> Int {
        ProviderStatus.allCases.reduce(0) { $0 + count($1, report) }
    }

    /// All pushes.
    public var intended: Int { cells.reduce(0, +) }
    /// Intended and not yet sent.
    public var queued: Int { count(.intended) }
    /// Sent, with or without an answer.
    public var sent: Int { count(.accepted) + count(.rejected) + count(.unknown) + inFlight }
    /// Sent; the provider has not answered yet.
    public var inFlight: Int { count(.sent) }

    /// Violated conservation laws, as text; empty when the counts add up.
    public var violations: [String] {
        var violations: [String] = []
        for (index, cell) in cells.enumerated() where cell < 0 {
            violations.append("\(cell) pushes in cell \(index): a push left a state that it was never in")
        }
        let notSent = count(.cancelled) + count(.expired)
        if intended != notSent + sent + queued {
            violations.append(
                "intended \(intended) ≠ cancelled and expired \(notSent) + sent \(sent) + queued \(queued)")
        }
        for status in [ProviderStatus.intended, .cancelled, .expired, .rejected] {
            let reported = count(status) - count(status, nil)
            if reported != 0 {
                violations.append("\(reported) pushes are \(status.rawValue) and yet have a report status")
            }
        }
        for status in [ProviderStatus.sent, .accepted, .unknown] where count(status, nil) != 0 {
            violations.append("\(count(status, nil)) pushes are \(status.rawValue) and have no report status")
        }
        return violations
    }
}
