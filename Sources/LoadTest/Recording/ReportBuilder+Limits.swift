/// What the server's limits did to the load.
extension ReportBuilder {
    /// What its limit of messages took: it drops candidates without an answer, so that nobody else tells of it.
    var limitDoubts: [String] {
        if let dropped = droppedByLimit {
            guard let dropped = Int(exactly: dropped.rounded()), dropped > 0 else { return [] }
            return [
                "the server dropped \(dropped) messages without an answer, candidates and acks of events, by its rate "
                    + "limit per connection: the figures show that limit, not the server's speed; \(Self.advice)"
            ]
        }
        // One that is gone or is another has lost what was on its way.
        guard !outcome.lostServer, !outcome.wasServerRestarted else { return [] }
        let lost = all.failureCounts.notOver + all.cutShort
        guard case .running = plan.target, plan.scenario == .relay, lost > 0 else { return [] }
        return [
            "\(lost) candidates were sent and did not arrive: a server drops candidates beyond its rate limit per "
                + "connection without an answer, and its metrics, which count them, could not be read; \(Self.advice)"
        ]
    }

    private static let advice =
        "raise its limits.messages_per_second (reveille serve --messages-per-second), or have each phone send less, "
        + "by a "
        + "--rate that is lower or has more --places"

    /// nil where the server does not tell.
    private var droppedByLimit: Double? {
        outcome.ready.flatMap { ready in
            outcome.over.flatMap { ready.growth(until: $0) { $0.droppedByLimit }?.amount }
        }
    }
}
