import TerminalScreen

/// What `?` shows: keys and terms, with what each does or means.
struct KeyHelp {
    let width: Int
    let lines: [(key: String, does: String)]

    static let watch = KeyHelp(
        width: 20,
        lines: [
            ("arrows, j k", "select a call; the selection stays on it when rows move"),
            ("PgUp PgDn Home End", "scroll by a page; go to the first or last call"),
            ("Enter", "show the call: pushes, devices and timeline"),
            ("e", "end the selected call, after confirmation"),
            ("/", "show only calls with a text in user, state, reason or id"),
            ("Esc", "clear the filter; leave the page of a call"),
            ("s  S", "sort by the next column; the other way round"),
            ("p", "pause and resume updates"),
            ("Ctrl-Z", "suspend; fg resumes"),
            ("q  Ctrl-C", "quit"),
            ("", ""),
            ("sort: trouble", "first calls waking for 8 s, or answered for 5 s without media"),
            ("RING 1/2", "1 of 2 devices of the call rings"),
            ("PUSH 1/3", "1 of 3 pushes has no final state"),
            ("dimmed", "ended a moment ago, with its reason"),
        ])

    static let top = KeyHelp(
        width: 12,
        lines: [
            ("+  -", "longer or shorter refresh interval"),
            ("p", "pause and resume updates"),
            ("r", "clear the rate history"),
            ("q  Ctrl-C", "quit"),
            ("", ""),
            ("rate", "over the last ten seconds; the bars are new calls"),
            ("stage", "of the last minute: how long calls and pushes took for each step"),
            ("pushes", "pushes of calls in memory, by status at the provider"),
            ("reports", "sent pushes, by report status of the device"),
            ("pool", "queue: queued pushes, and the age of the oldest"),
            ("", "open: sent and not answered; ok, bad, ?: accepted, rejected, unknown"),
            ("queues", "internal queues of the server, the longest first"),
            ("limits", "limits hit since the start, with counts"),
        ])

    /// - Parameter isReader: the key that ends a call is left out.
    func draw(rows: Range<Int>, isReader: Bool = false, in buffer: inout ScreenBuffer) {
        for (row, line) in zip(rows.dropFirst(), isReader ? lines.filter { $0.key != "e" } : lines) {
            buffer.put(line.key, row: row, column: 2, limit: width, style: .bold)
            buffer.put(line.does, row: row, column: width + 2)
        }
    }
}
