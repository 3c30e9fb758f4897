import AdminProtocol
import CallVocabulary

/// Webhook endpoints as text.
enum WebhookText {
    static func table(_ endpoints: [WebhookView]) -> Table {
        Table(
            [
                Table.Column("ENDPOINT"), Table.Column("STATE"), Table.Column("BACKLOG", isRight: true),
                Table.Column("OLDEST", isRight: true), Table.Column("TAKEN", sacrifice: 2, isRight: true),
                Table.Column("LAST FAILURE", sacrifice: 1, least: 20),
            ], of: endpoints
        ) { endpoint in
            [
                Table.Cell(endpoint.name), state(endpoint.state), Table.Cell("\(endpoint.backlog)"),
                Table.Cell(endpoint.oldestAt.map { Moment.coarse(Moment.now - $0.instant) } ?? "-"),
                Table.Cell("\(endpoint.taken)"), Table.Cell(endpoint.lastFailure ?? "-"),
            ]
        }
    }

    private static func state(_ state: WebhookView.State) -> Table.Cell {
        Table.Cell(state.rawValue, state == .active ? .plain : state == .paused ? .dim : .red)
    }

    static func details(_ endpoint: WebhookView) -> [String] {
        var table = Table([Table.Column("ENDPOINT"), Table.Column(endpoint.name)])
        func time(_ time: Timestamp?) -> String { time.map { Moment.full($0.instant) } ?? "-" }
        table.add(["url", endpoint.url])
        let isAll = endpoint.events.count == EventKind.allCases.count
        table.add(["events", isAll ? "all" : endpoint.events.map(\.rawValue).joined(separator: ", ")])
        table.add(["state", endpoint.state.rawValue])
        table.add(["backlog", "\(endpoint.backlog)"])
        table.add(["oldest event", time(endpoint.oldestAt)])
        table.add(["taken", "\(endpoint.taken) since the start of the server"])
        table.add(["failed attempts", "\(endpoint.failedAttempts)"])
        table.add(["given up", "\(endpoint.givenUp)"])
        table.add(["last taken", time(endpoint.lastTakenAt)])
        if let failure = endpoint.lastFailure {
            table.add(["last failure", "\(failure.shown), \(time(endpoint.lastFailureAt))"])
        }
        return table.lines(width: nil)
    }
}
