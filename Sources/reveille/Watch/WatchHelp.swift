import TerminalScreen

/// What `?` shows in `calls watch`.
enum WatchHelp {
    private static let lines: [(key: String, does: String)] = [
        ("arrows, j k", "select a call; the selection stays on it when rows move"),
        ("PgUp PgDn Home End", "further, and to the ends"),
        ("Enter", "the story of the call: pushes, devices, who did what"),
        ("e", "end the call for everybody, after a question"),
        ("/", "show only calls with a text in user, state, reason or id"),
        ("Esc", "clear the filter; back from a story"),
        ("s  S", "sort by the next column; the other way round"),
        ("p", "hold the picture still, and go on"),
        ("Ctrl-Z", "leave for the shell; fg comes back"),
        ("q  Ctrl-C", "quit"),
        ("", ""),
        ("sort: trouble", "first what wakes for 8 s, or is answered for 5 s without media"),
        ("RING 1/2", "1 of 2 devices of the call rings"),
        ("PUSH 1/3", "of 3 pushes, 1 is not settled yet"),
        ("dimmed", "ended a moment ago, with its reason"),
    ]

    static func draw(rows: Range<Int>, in buffer: inout ScreenBuffer) {
        for (row, line) in zip(rows.dropFirst(), lines) {
            buffer.put(line.key, row: row, column: 2, limit: 20, style: .bold)
            buffer.put(line.does, row: row, column: 22)
        }
    }
}
