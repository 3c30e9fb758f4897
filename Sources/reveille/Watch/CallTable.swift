import AdminProtocol
import CallVocabulary
import TerminalScreen

/// The table of calls, with the one that is selected: the selection stays on its call wherever the call goes.
struct CallTable {
    var listing: CallListing
    private(set) var selected: CallID?
    /// The person has gone to the selected call. Until then the first row is selected, whichever call is in it, so that
    /// new calls do not go by unseen above the screen.
    private var isHeld = false
    /// Where the selected call was last.
    private var position = 0
    /// The first row that is to be seen.
    private var top = 0
    /// How many are to be seen.
    private var room = 1

    private static let columns: [(title: String, sort: CallSort?, column: ColumnLayout.Column)] = [
        ("STATE", .state, .init(least: 9, most: 10)), ("AGE", .age, .fixed(7)),
        ("FROM", .from, .init(least: 6, most: 34)), ("TO", .to, .init(least: 6, most: 44)),
        ("RING", .devices, .fixed(6, rank: 1)), ("PUSH", nil, .fixed(5, rank: 2)),
        ("REASON", nil, .init(least: 12, most: 18, rank: 3)),
    ]

    /// With the calls' ids as wide as they are, where there is room, else as their shortest parts.
    private static func places(_ shortID: Int, width: Int) -> [ColumnLayout.Place?] {
        let whole = ColumnLayout.places(columns.map(\.column) + [.fixed(36, rank: 4)], width: width)
        guard whole.last == .some(nil) else { return whole }
        return ColumnLayout.places(columns.map(\.column) + [.fixed(shortID, rank: 4)], width: width)
    }

    init(sort: CallSort) { listing = CallListing(sort: sort) }

    /// Keys that move the selection; others do nothing.
    mutating func pressed(_ key: Key) {
        switch key {
        case .up, .character("k"): move(by: -1)
        case .down, .character("j"): move(by: 1)
        case .pageUp, .control("b"): move(by: -room)
        case .pageDown, .control("f"), .character(" "): move(by: room)
        case .home, .character("g"):
            move(by: -listing.rows.count)
            isHeld = false
        case .end, .character("G"): move(by: listing.rows.count)
        case .left, .right, .enter, .tab, .escape, .backspace, .delete, .character, .control: break
        }
    }

    private mutating func move(by rows: Int) {
        guard !listing.rows.isEmpty else { return }
        position = min(max(0, position + rows), listing.rows.count - 1)
        selected = listing.rows[position]
        isHeld = true
    }

    /// The person has something in mind with the selected call.
    mutating func hold() { isHeld = selected != nil }

    /// After another order or filter: the keys that follow are meant for the new rows.
    mutating func refresh(_ board: CallBoard) {
        listing.update(board)
        follow()
    }

    /// Finds the selected call again; when it is gone, the one in its place is selected.
    private mutating func follow() {
        if !isHeld {
            (position, selected) = (0, listing.rows.first)
        } else if let selected, let index = listing.rows.firstIndex(of: selected) {
            position = index
        } else if listing.rows.isEmpty {
            (position, selected) = (0, nil)
        } else {
            position = min(position, listing.rows.count - 1)
            selected = listing.rows[position]
        }
        if position < top { top = position }
        if position >= top + room { top = position - room + 1 }
        top = max(0, min(top, listing.rows.count - room))
    }

    mutating func draw(_ board: CallBoard, rows: Range<Int>, in buffer: inout ScreenBuffer, at time: ScreenTime) {
        room = max(1, rows.count - 1)
        refresh(board)
        let seen = listing.rows.dropFirst(top).prefix(room)
        let ids = ShortIDs(seen)
        let places = Self.places(seen.map { ids[$0].utf8.count }.max() ?? 8, width: buffer.width)
        drawHead(places, row: rows.lowerBound, in: &buffer)
        guard board.isComplete else { return }
        if listing.rows.isEmpty {
            let words = listing.filter.isEmpty ? "no live calls" : "no call matches “\(listing.filter)”"
            buffer.put(words, row: rows.lowerBound + 2, column: 2, style: .dim)
        }
        for (row, id) in zip(rows.dropFirst(), seen) {
            guard let entry = board.entries[id] else { continue }
            let isSelected = id == selected
            draw(entry.call, ids, places, row: row, in: &buffer, at: time)
            if isSelected { buffer.paint(row: row, style: Style(reversed: true)) }
        }
    }

    private func drawHead(_ places: [ColumnLayout.Place?], row: Int, in buffer: inout ScreenBuffer) {
        for (column, place) in zip(Self.columns + [("CALL", nil, .fixed(36))], places) {
            guard let place else { continue }
            let isSorted = column.sort == listing.sort
            // Where the smallest is on top, the arrow points up; of ages the youngest is.
            let arrow = listing.isReversed ? "▼" : "▲"
            let (title, style) = (column.title + (isSorted ? arrow : ""), isSorted ? Style.bold : Style(.cyan))
            if column.sort == .age {
                buffer.put(title, row: row, endingAt: place.start + place.width - 1, style: style)
            } else {
                buffer.put(title, row: row, column: place.start, limit: place.width, style: style)
            }
        }
    }

    private func draw(
        _ call: CallView, _ ids: ShortIDs, _ places: [ColumnLayout.Place?], row: Int, in buffer: inout ScreenBuffer,
        at time: ScreenTime
    ) {
        let isOver = call.state == .ended
        let base = isOver ? Style.dim : .plain
        let reason = call.reason?.rawValue ?? ""
        // Where there is no room for the reason, it says that the call is over too.
        let hasReason = places[6] != nil
        let counts = call.counts ?? CallCounts()
        let texts = [
            isOver && !hasReason ? reason : call.state.rawValue,
            CallWords.clock(CallWords.age(call, wallMilliseconds: time.wallMilliseconds)), call.from.text,
            CallWords.target(call.to), isOver ? "" : "\(counts.ringing)/\(counts.devices)",
            counts.pushes == 0 ? "" : "\(counts.pushesOpen)/\(counts.pushes)", reason,
            places[7]?.width == 36 ? call.callID.description : ids[call.callID],
        ]
        for (index, place) in places.enumerated() {
            guard let place else { continue }
            let style = index == 0 ? Self.style(call.state) : base
            if index == 1 {
                buffer.put(texts[1], row: row, endingAt: place.start + place.width - 1, style: style)
            } else {
                buffer.put(texts[index], row: row, column: place.start, limit: place.width, style: style)
            }
        }
    }

    private static func style(_ state: CallState) -> Style {
        switch state {
        case .routing: .plain
        case .waking: Style(.yellow)
        case .ringing: Style(.cyan)
        case .answered, .connected: Style(.green)
        case .ended: .dim
        }
    }
}
