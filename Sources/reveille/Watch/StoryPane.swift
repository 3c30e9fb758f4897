import AdminProtocol
import CallCore
import CallVocabulary
import TerminalScreen

/// One call with all that has happened to it, as `call.get` tells it; asked for again when the call has changed.
struct StoryPane: Equatable {
    /// A call that changes all the time is not asked for more often.
    private static let interval = Duration.milliseconds(500)

    let id: CallID
    private var detail: CallDetail?
    private var failure: String?
    /// The call's revision on the board when it was asked for last.
    private var askedRevision: Int?
    private var askedAt: Duration?
    private var isAsking = false
    /// Requests the story again: the server may be another one.
    var isStale = true
    private var scroll = 0

    init(id: CallID) { self.id = id }

    /// Whether to ask now; then it counts as asked.
    /// - Parameter revision: of the call on the board; nil when it is not there any more.
    mutating func isWanted(_ revision: Int?, isUp: Bool, at now: Duration) -> Bool {
        if !isUp { isAsking = false }
        guard isUp, !isAsking, isStale || (revision != nil && revision != askedRevision) else { return false }
        if let askedAt, !isStale, now - askedAt < Self.interval { return false }
        (isAsking, isStale, askedRevision, askedAt) = (true, false, revision, now)
        return true
    }

    mutating func arrived(_ detail: CallDetail?, _ failure: String?) {
        isAsking = false
        // The last that was known stays to be read.
        if let detail { self.detail = detail }
        self.failure = failure
    }

    mutating func pressed(_ key: Key) {
        switch key {
        case .up, .character("k"): scroll -= 1
        case .down, .character("j"): scroll += 1
        case .pageUp: scroll -= 10
        case .pageDown, .character(" "): scroll += 10
        case .home, .character("g"): scroll = 0
        case .end, .character("G"): scroll = lines.count
        case .left, .right, .enter, .tab, .escape, .backspace, .delete, .character, .control: break
        }
    }

    /// Limits the scroll position for this number of visible rows.
    mutating func limitScroll(to rows: Int) {
        scroll = max(0, min(scroll, lines.count - max(1, rows - Self.headRows)))
    }

    private static let headRows = 4
    /// The width of the longest common step, so that users align in a column.
    private static let stepWidth = 29

    func draw(_ board: CallBoard, rows: Range<Int>, in buffer: inout ScreenBuffer, at time: ScreenTime) {
        buffer.put("call \(id)", row: rows.lowerBound, column: 0, style: .bold)
        // What the board knows is newer than the story.
        guard let call = board.entries[id]?.call ?? detail?.call else {
            drawNothing(rows: rows.dropFirst(2), in: &buffer)
            return
        }
        drawHead(call, row: rows.lowerBound + 1, in: &buffer, at: time)
        guard let detail else {
            drawNothing(rows: rows.dropFirst(3), in: &buffer)
            return
        }
        var start = Self.headRows
        if failure == nil {
            drawCounts(call, detail, row: rows.lowerBound + 2, in: &buffer)
        } else {
            start = max(start, 3 + drawNothing(rows: rows.dropFirst(2), in: &buffer))
        }
        for (row, line) in zip(rows.dropFirst(start), lines.dropFirst(scroll)) {
            line.draw(into: &buffer, row: row)
        }
    }

    /// However long the names are, how the call stands is to be seen.
    private func drawHead(_ call: CallView, row: Int, in buffer: inout ScreenBuffer, at time: ScreenTime) {
        var end = StyledLine("  \(call.state.rawValue)", call.state == .ended ? .bold : Style(.green, bold: true))
        if let reason = call.reason { end.add(" \(reason.rawValue)", .bold) }
        if let by = call.endedBy { end.add(" by \(by.text.shown.cutInMiddle(to: 24))") }
        end.add("  \(CallWords.clock(CallWords.age(call, wallMilliseconds: time.wallMilliseconds)))")
        let endWidth = end.pieces.reduce(0) { $0 + VisibleText.width(of: $1.text, isUnicode: buffer.isUnicode) }
        let room = max(8, (buffer.width - endWidth - 4) / 2)
        var head = StyledLine(call.from.text.shown.cutInMiddle(to: room))
        head.add(" → ", .dim)
        head.add(CallWords.target(call.to).shown.cutInMiddle(to: room))
        for piece in end.pieces { head.add(piece.text, piece.style) }
        head.draw(into: &buffer, row: row)
    }

    private func drawCounts(_ call: CallView, _ detail: CallDetail, row: Int, in buffer: inout ScreenBuffer) {
        let devices = PartyText.count(detail.legs.count, "device")
        let counts = devices + ", " + PartyText.count(detail.pushes.count, "push", plural: "pushes")
        buffer.put(
            "\(counts), invited \(WallClock.text(call.createdAt.instant.milliseconds))", row: row, column: 0,
            style: .dim)
    }

    /// Why there is no story, in as many lines as it needs: the cause often stands at the end.
    /// - Returns: how many these are.
    @discardableResult
    private func drawNothing(rows: Range<Int>, in buffer: inout ScreenBuffer) -> Int {
        let lines = (failure ?? "asking for its story…").shown.wrapped(to: buffer.width)
        for (row, line) in zip(rows, lines) {
            buffer.put(line, row: row, column: 0, style: failure == nil ? .dim : Style(.red))
        }
        return lines.count
    }

    private var lines: [StyledLine] {
        guard let detail else { return [] }
        let ids = detail.deviceIDs
        return detail.timeline.map { entry in
            var line = StyledLine()
            line.add(Moment.exact(milliseconds: entry.offsetMilliseconds), right: 11, .dim)
            line.add("  ")
            line.add(Self.words(entry.step), left: Self.stepWidth, entry.step == "ended" ? .bold : .plain)
            if let user = entry.user {
                line.add(" \(user)")
                if let device = entry.deviceID { line.add("/\(ids[device])", .dim) }
            }
            if let detail = entry.detail { line.add("  (\(detail))", .dim) }
            return line
        }
    }

    private static func words(_ step: String) -> String {
        CallTimeline.Step(rawValue: step).map(CallStoryText.words) ?? step.replacing("_", with: " ")
    }
}
