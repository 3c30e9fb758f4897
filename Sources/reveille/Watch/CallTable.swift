import AdminProtocol
import CallVocabulary
import TerminalScreen

/// The table of calls. The selection stays on its call when rows move.
struct CallTable {
    var listing: CallListing
    private(set) var selected: CallID?
    /// The call that the person has gone to last. Another one may have taken its row since.
    private var chosen: CallID?
    /// The person has gone to the selected call. Until then the first row is selected, whichever call is in it, so that
    /// new calls do not go by unseen above the screen.
    private var isHeld = false
    /// Where the selected call was last.
    private var position = 0
    /// The first visible row.
    private var top = 0
    /// How many are to be seen.
    private var room = 1

    private static let columns: [(title: String, sort: CallSort?, column: ColumnLayout.Column)] = [
        ("STATE", .state, .init(least: 9, most: 10)), ("AGE", .age, .fixed(7)),
        ("FROM", .from, .init(least: 6, most: 34)), ("TO", .to, .init(least: 6, most: 44)),
        ("RING", .devices, .fixed(6, rank: 1)), ("PUSH", nil, .fixed(5, rank: 2)),
        ("REASON", .trouble, .init(least: 12, most: 18, rank: 3)),
    ]

    /// - Parameters:
    ///   - rows: the texts of the visible rows, by column.
    /// - Returns: nil for a column without room, and for an empty one, whose room the others get.
    private static func places(_ rows: [[String]], width: Int) -> [ColumnLayout.Place?] {
        let ids = max(8, rows.map { $0.last?.utf8.count ?? 0 }.max() ?? 0)
        let all = columns.map(\.column) + [.fixed(ids, rank: 4)]
        let kept = all.indices.filter { index in
            all[index].rank == 0 || rows.isEmpty || rows.contains { !$0[index].isEmpty }
        }
        // None is wider than what stands in it.
        let columns = kept.map { index in
            var column = all[index]
            let longest = rows.map { $0[index].columns }.max() ?? column.most
            column.most = max(column.least, min(column.most, longest))
            return column
        }
        var places = [ColumnLayout.Place?](repeating: nil, count: all.count)
        for (index, place) in zip(kept, ColumnLayout.places(columns, width: width)) { places[index] = place }
        return places
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
        hold()
    }

    /// The person has something in mind with the selected call.
    mutating func hold() {
        chosen = selected
        isHeld = selected != nil
    }

    /// Whether the person has gone to the selected call: what ends a call asks for no other.
    var isChosen: Bool { selected != nil && selected == chosen }

    /// After another order or filter: the keys that follow are meant for the new rows.
    mutating func refresh(_ board: CallBoard, at time: ScreenTime) {
        listing.update(board, wallMilliseconds: time.wallMilliseconds)
        follow()
    }

    /// Finds the selected call again; if it is gone, selects the call in its row.
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
        refresh(board, at: time)
        let seen = listing.rows.dropFirst(top).prefix(room)
        let ids = ShortIDs(seen)
        let calls = seen.compactMap { board.entries[$0]?.call }
        let texts = calls.map { Self.texts($0, ids, at: time) }
        let places = Self.places(texts, width: buffer.width)
        drawHead(places, row: rows.lowerBound, in: &buffer)
        guard board.isComplete else { return }
        if listing.rows.isEmpty {
            let words = listing.filter.isEmpty ? "no live calls" : "no call matches “\(listing.filter)”"
            buffer.put(words, row: rows.lowerBound + 2, column: 2, style: .dim)
        }
        for (row, (call, texts)) in zip(rows.dropFirst(), zip(calls, texts)) {
            draw(call, texts, places, row: row, in: &buffer, at: time)
            if call.callID == selected { buffer.paint(row: row, style: Style(reversed: true)) }
        }
    }

    private func drawHead(_ places: [ColumnLayout.Place?], row: Int, in buffer: inout ScreenBuffer) {
        for (column, place) in zip(Self.columns + [("CALL", nil, .fixed(8))], places) {
            guard let place else { continue }
            let isSorted = column.sort == listing.sort
            let arrow = listing.isAscending ? "▲" : "▼"
            let (title, style) = (column.title + (isSorted ? arrow : ""), isSorted ? Style.bold : Style(.cyan))
            if column.sort == .age {
                buffer.put(title, row: row, endingAt: place.start + place.width - 1, style: style)
            } else {
                buffer.put(title, row: row, column: place.start, limit: place.width, style: style)
            }
        }
    }

    /// The texts of the columns.
    private static func texts(_ call: CallView, _ ids: ShortIDs, at time: ScreenTime) -> [String] {
        let isOver = call.state == .ended
        let counts = call.counts ?? CallCounts()
        let trouble = CallTrouble.of(call, wallMilliseconds: time.wallMilliseconds)
        return [
            call.state.rawValue,
            CallWords.clock(CallWords.age(call, wallMilliseconds: time.wallMilliseconds)), call.from.text.shown,
            CallWords.target(call.to).shown, isOver ? "" : "\(counts.ringing)/\(counts.devices)",
            counts.pushes == 0 ? "" : "\(counts.pushesOpen)/\(counts.pushes)",
            call.reason?.rawValue ?? trouble?.words ?? "", ids[call.callID],
        ]
    }

    private func draw(
        _ call: CallView, _ texts: [String], _ places: [ColumnLayout.Place?], row: Int, in buffer: inout ScreenBuffer,
        at time: ScreenTime
    ) {
        let isOver = call.state == .ended
        let base = isOver ? Style.dim : .plain
        let isTroubled = CallTrouble.of(call, wallMilliseconds: time.wallMilliseconds) != nil
        let state = isTroubled ? Style(.red, bold: true) : Self.style(call.state)
        for (index, place) in places.enumerated() {
            guard let place else { continue }
            // Where there is no room for the reason, it says that the call is over too.
            let text = index == 0 && isOver && places[6] == nil ? texts[6] : texts[index]
            let style = index == 0 || index == 6 && isTroubled ? state : base
            switch index {
            case 1: buffer.put(text, row: row, endingAt: place.start + place.width - 1, style: style)
            case 2, 3:
                buffer.put(
                    text.cutInMiddle(to: place.width), row: row, column: place.start, limit: place.width, style: style)
            default: buffer.put(text, row: row, column: place.start, limit: place.width, style: style)
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
