/// What is known of the server's books.
extension ReportBuilder {
    /// - Parameter audit: nil where nobody could read them.
    func auditState(_ audit: ServerAudit?) -> AuditState {
        guard let violations = audit?.violations ?? ledgerViolations else { return .notRead }
        if !violations.isEmpty { return .broken }
        guard let audit else { return .ledgerOnly }
        return audit.wasBroken ? .brokenBefore : .balanced
    }

    func auditDoubts(_ audit: ServerAudit?) -> [String] {
        if let audit {
            guard audit.wasBroken else { return [] }
            return ["the audit found violations before the run; only new ones are reported"]
        }
        // Of a server that was named a way to, it is told why there are no books.
        guard !knowsAdmin else { return [] }
        guard ledgerViolations != nil else { return ["nothing was audited: " + wayToBooks] }
        return [
            "only the push ledger was audited, by the server's metrics: for a full audit, name its "
                + "admin API with --server, or its data folder with --data"
        ]
    }

    private var wayToBooks: String {
        guard outcome.ready?.metrics?.ledgerViolations == nil else {
            return "its metrics, which told of the push ledger before the load, could not be read after it"
        }
        let admin = "name its admin API with --server, its data folder with --data"
        return metricsURL.map { "\(admin), or look whether its metrics are at \($0)" }
            ?? "\(admin), or its metrics with --metrics-url"
    }

    /// Where somebody said that the server's metrics are.
    var metricsURL: String? {
        if case .running(let running) = plan.target { running.metricsURL } else { nil }
    }

    private var knowsAdmin: Bool {
        switch plan.target {
        case .own: true
        case .running(let running): running.admin != nil
        }
    }

    /// Laws that the push ledger of a server elsewhere breaks since the run began, by its metrics; nil where it has
    /// none.
    var ledgerViolations: [String]? {
        guard let before = outcome.ready?.metrics?.ledgerViolations,
            let after = outcome.over?.metrics?.ledgerViolations
        else { return nil }
        return after > before
            ? ["the server's push ledger has \(Int(after - before)) more violations than before the run"] : []
    }
}
