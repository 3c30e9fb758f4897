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
    /// Ask again, whatever the board says: the server may be another.
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

    /// To what there is, when so many rows are to be seen.
    mutating func limitScroll(to rows: Int) {
        scroll = max(0, min(scroll, lines.count - max(1, rows - Self.headRows)))
    }

    private static let headRows = 4
    /// As long as the longest step that is common: who did it stands in one column.
    private static let stepWidth = 29

    func draw(_ board: CallBoard, rows: Range<Int>, in buffer: inout ScreenBuffer, at time: ScreenTime) {
        buffer.put("call \(id)", row: rows.lowerBound, column: 0, style: .bold)
        // What the board knows is newer than the story.
        guard let call = board.entries[id]?.call ?? detail?.call else {
            return drawNothing(row: rows.lowerBound + 2, in: &buffer)
        }
        var head = StyledLine(call.from.text)
        head.add(" → ", .dim)
        head.add(CallWords.target(call.to))
        head.add("  \(call.state.rawValue)", call.state == .ended ? .bold : Style(.green, bold: true))
        if let reason = call.reason { head.add(" \(reason.rawValue)", .bold) }
        if let by = call.endedBy { head.add(" by \(by)") }
        head.add("  \(CallWords.clock(CallWords.age(call, wallMilliseconds: time.wallMilliseconds)))")
        head.draw(into: &buffer, row: rows.lowerBound + 1)
        guard let detail else { return drawNothing(row: rows.lowerBound + 3, in: &buffer) }
        let devices = PartyText.count(detail.legs.count, "device")
        let counts = devices + ", " + PartyText.count(detail.pushes.count, "push", plural: "pushes")
        buffer.put(
            "\(counts), invited \(WallClock.text(call.createdAt.instant.milliseconds))", row: rows.lowerBound + 2,
            column: 0, style: .dim)
        if let failure { buffer.put(failure, row: rows.lowerBound + 2, column: 0, style: Style(.red)) }
        for (row, line) in zip(rows.dropFirst(Self.headRows), lines.dropFirst(scroll)) {
            line.draw(into: &buffer, row: row)
        }
    }

    private func drawNothing(row: Int, in buffer: inout ScreenBuffer) {
        buffer.put(failure ?? "asking for its story…", row: row, column: 0, style: failure == nil ? .dim : Style(.red))
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
