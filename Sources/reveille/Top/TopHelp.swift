import TerminalScreen

/// What `?` shows in `top`.
enum TopHelp {
    private static let lines: [(key: String, does: String)] = [
        ("+  -", "less often, more often"),
        ("p", "hold the picture still, and go on"),
        ("r", "begin the history of the rate anew"),
        ("q  Ctrl-C", "quit"),
        ("", ""),
        ("rate", "over the last ten seconds; the bars are new calls"),
        ("stage", "of the last minute: how long calls and pushes took for each step"),
        ("pushes", "of the calls in memory: where they stand with the provider"),
        ("reports", "of those sent: what the devices said of them"),
        ("pool", "queue: pushes that wait, and for how long the oldest has"),
        ("", "open: sent and not answered; ok, bad, ?: accepted, rejected, unknown"),
        ("queues", "what waits between the parts of the server, the longest first"),
        ("limits", "bounds that were hit since the start, and how often"),
    ]

    static func draw(rows: Range<Int>, in buffer: inout ScreenBuffer) {
        for (row, line) in zip(rows.dropFirst(), lines) {
            buffer.put(line.key, row: row, column: 2, limit: 12, style: .bold)
            buffer.put(line.does, row: row, column: 14)
        }
    }
}
