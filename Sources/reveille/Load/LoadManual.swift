import LoadTest

/// What the manual says of `reveille load` besides its help.
enum LoadManual {
    static var appendices: [ManualPage.Appendix] { [loops, stages, figures, doubts, files] }

    private static let loops = ManualPage.Appendix(
        title: "OPEN AND CLOSED LOOP",
        introduction: """
            With --rate the times at which operations are due are drawn before the run, and do not depend on the \
            server. Latency counts from when an operation was due, so it includes the wait for its turn. An operation \
            without a free phone is a failure.

            With --concurrency the next operation begins when one ends. While the server stalls, none begins, and the \
            latencies of all that would have come meanwhile are missing (coordinated omission). Use it for peak \
            throughput and for the cost of an operation, not for the latency that callers see.
            """,
        terms: [])

    private static let stages = ManualPage.Appendix(
        title: "STAGES",
        introduction: """
            A latency counts if its start lies in the measured part. Percentiles have three significant digits.
            """,
        terms: LoadStage.allCases.map { (term: $0.key, meaning: $0.definition) })

    private static let figures = ManualPage.Appendix(
        title: "FIGURES",
        introduction: """
            Figures that a scenario does not have, or that cannot be known, are left out. Capitals are placeholders. \
            An operation is what the scenario does: a session, a call, a message or a resume; of mixed any of them. \
            Keys call it a piece.
            """,
        terms: LoadFigure.all.map { (term: $0.key, meaning: $0.definition) })

    private static let doubts = ManualPage.Appendix(
        title: "DOUBTS",
        introduction: """
            The report warns when its figures are unreliable, which is no failure: \(LoadDoubts.rules).
            """,
        terms: [])

    private static let files = ManualPage.Appendix(
        title: "REPORTS",
        introduction: """
            --json writes one object: report_version, scenario, loop, passed, interrupted, started_at, command, \
            plan, environment, figures, stages, series, failures, audit, violations, doubts. Every figure has its \
            definition beside it, and so it has on the page that --html writes.
            """,
        terms: [])
}
