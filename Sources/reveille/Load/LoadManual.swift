import LoadTest

/// What the manual says of `reveille load` besides its help.
enum LoadManual {
    static var appendices: [ManualPage.Appendix] { [loops, stages, figures, doubts, files] }

    private static let loops = ManualPage.Appendix(
        title: "OPEN AND CLOSED LOOP",
        introduction: """
            With --rate the moments at which work is due are drawn before the run, and nothing that the server does \
            changes them. Times that count from the start of a piece count from the moment when it was due, so that \
            waiting for its turn is part of them, and what nobody was free for is counted as a failure.

            With --concurrency the next piece begins when one ends. While the server stalls nothing new is begun, \
            and the times of all that would have come meanwhile are missing (coordinated omission). That is right \
            for finding the greatest rate and what a piece costs, and wrong for saying how long callers wait.
            """,
        terms: [])

    private static let stages = ManualPage.Appendix(
        title: "STAGES",
        introduction: """
            A time counts when what it is counted from lies in the part that counts. Percentiles are of all such \
            times, to three digits.
            """,
        terms: LoadStage.allCases.map { (term: $0.key, meaning: $0.definition) })

    private static let figures = ManualPage.Appendix(
        title: "FIGURES",
        introduction: """
            What a scenario does not have, or what cannot be known, is left out. Capitals stand for a name; a PIECE is \
            what the scenario does: a session, a call, a relayed message or a resume, of mixed any of them.
            """,
        terms: LoadFigure.all.map { (term: $0.key, meaning: $0.definition) })

    private static let doubts = ManualPage.Appendix(
        title: "DOUBTS",
        introduction: """
            What makes the figures unreliable is said in the report, and fails nothing: \(LoadDoubts.rules).
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
