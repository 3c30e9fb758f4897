import AdminProtocol
import CallVocabulary
import TerminalScreen

/// `calls watch`: the live calls, full-screen.
///
///     table ──/──▶ filtering ──Enter, Esc──▶ table
///       ├──e──▶ confirming ──y, n──▶ table (or the story it came from)
///       ├──Enter──▶ story ──Esc──▶ table
///       └──?──▶ help ──any key──▶ table (or the story it came from)
struct WatchProgram: ScreenProgram {
    typealias Event = WatchEvent
    typealias Effect = WatchEffect

    enum Mode: Equatable {
        case table
        case filtering
        case confirming(CallID, from: StoryPane?)
        case story(StoryPane)
        case help(from: StoryPane?)
    }

    /// How long a message stays.
    private static let messageTime = Duration.seconds(12)
    private static let widthForLegend = 110

    /// The user whose calls are shown; nil: all.
    let user: Handle?
    var mode = Mode.table
    private(set) var link = LinkState()
    /// As it is now, paused or not.
    private(set) var board = CallBoard()
    /// What is shown while it is paused.
    private var frozen: (board: CallBoard, time: ScreenTime)?
    var table: CallTable
    private(set) var isOver = false
    private var message: (text: String, style: Style, until: Duration)?

    init(user: Handle? = nil, sort: CallSort = .trouble) {
        self.user = user
        table = CallTable(sort: sort)
    }

    /// Why it ended, when not because somebody wanted it to.
    var refusal: String? { link.refusal }
    var isPaused: Bool { frozen != nil }
    /// The server lets this connection change nothing: the key for it is not shown.
    private var isReader: Bool { link.server?.mayChange == false }

    // MARK: Events

    mutating func received(_ event: WatchEvent, at time: ScreenTime) -> [WatchEffect] {
        switch event {
        case .link(.joined(let info)):
            if let words = link.joined(info, at: time) { say(words, Style(.green, bold: true), at: time) }
            board.begin()
            withStory { $0.isStale = true }
        case .link(.checked(let info)): link.checked(info)
        case .link(.notification(let change)): board.take(change, at: time.uptime)
        case .link(.lost): link.lost(at: time)
        case .link(.refused(let words)):
            link.refused(words)
            isOver = true
        case .ended(let id, let failure):
            let name = board.entries[id].map { "the call from \(CallWords.name($0.call))" } ?? "call \(id)"
            if let failure {
                // The cause first: names may take the whole line.
                say("not ended: \(failure) (\(name))", Style(.red, bold: true), at: time)
            } else {
                say("ended \(name)", .bold, at: time)
            }
        case .story(let id, let detail, let failure):
            withStory { story in if story.id == id { story.arrived(detail, failure) } }
        }
        return storyWanted(at: time)
    }

    mutating func passed(at time: ScreenTime) -> [WatchEffect] {
        board.forgetEnded(at: time.uptime)
        if let message, message.until <= time.uptime { self.message = nil }
        return storyWanted(at: time)
    }

    private mutating func say(_ text: String, _ style: Style, at time: ScreenTime) {
        message = (text, style, time.uptime + Self.messageTime)
    }

    private mutating func withStory(_ change: (inout StoryPane) -> Void) {
        switch mode {
        case .story(var story):
            change(&story)
            mode = .story(story)
        case .confirming(let id, from: .some(var story)):
            change(&story)
            mode = .confirming(id, from: story)
        case .help(from: .some(var story)):
            change(&story)
            mode = .help(from: story)
        case .table, .filtering, .confirming, .help: break
        }
    }

    private mutating func storyWanted(at time: ScreenTime) -> [WatchEffect] {
        var effects: [WatchEffect] = []
        let (board, isUp) = (board, link.isUp)
        withStory { story in
            if story.isWanted(board.entries[story.id]?.revision, isUp: isUp, at: time.uptime) {
                effects = [.fetchStory(story.id)]
            }
        }
        return effects
    }

    // MARK: Keys

    mutating func pressed(_ key: Key, at time: ScreenTime) -> [WatchEffect] {
        if key == .control("c") {
            isOver = true
            return []
        }
        switch mode {
        case .table:
            let effects = pressedInTable(key, at: time)
            refresh(at: time)
            return effects
        case .filtering:
            pressedInFilter(key)
            refresh(at: time)
        case .confirming(let id, from: let story):
            mode = story.map { .story($0) } ?? .table
            switch key {
            case .character("y"), .character("Y"): return end(id, at: time)
            default: say("not ended", .plain, at: time)
            }
        case .story(var story):
            switch key {
            case .escape, .left, .backspace, .character("q"): mode = .table
            case .character("e"): askToEnd(story.id, from: story, at: time)
            case .character("p"): togglePause(at: time)
            case .character("?"), .character("h"): mode = .help(from: story)
            default:
                story.pressed(key)
                mode = .story(story)
            }
        case .help(from: let story): mode = story.map { .story($0) } ?? .table
        }
        return []
    }

    private mutating func refresh(at time: ScreenTime) {
        table.refresh(frozen?.board ?? board, at: frozen?.time ?? link.goneSince ?? time)
    }

    private mutating func pressedInTable(_ key: Key, at time: ScreenTime) -> [WatchEffect] {
        switch key {
        case .character("q"): isOver = true
        case .character("?"), .character("h"): mode = .help(from: nil)
        case .character("/"): mode = .filtering
        case .character("s"): table.listing.sort = table.listing.sort.next
        case .character("S"): table.listing.isReversed.toggle()
        case .character("p"): togglePause(at: time)
        case .escape: table.listing.filter = ""
        case .character("e"):
            guard let id = table.selected else { return nothingSelected(at: time) }
            if table.isChosen {
                askToEnd(id, from: nil, at: time)
            } else {
                say("select the call first, with ↑ and ↓", .plain, at: time)
            }
        case .enter, .right:
            guard let id = table.selected else { return nothingSelected(at: time) }
            table.hold()
            mode = .story(StoryPane(id: id))
            return storyWanted(at: time)
        default: table.pressed(key)
        }
        return []
    }

    private mutating func nothingSelected(at time: ScreenTime) -> [WatchEffect] {
        say("there is no call here", .plain, at: time)
        return []
    }

    private mutating func pressedInFilter(_ key: Key) {
        switch key {
        case .enter, .tab: mode = .table
        case .escape:
            table.listing.filter = ""
            mode = .table
        case .backspace: table.listing.filter = String(table.listing.filter.dropLast())
        case .control("u"), .control("w"): table.listing.filter = ""
        case .character(let character): table.listing.filter.append(character)
        case .up, .down, .pageUp, .pageDown, .home, .end: table.pressed(key)
        case .left, .right, .delete, .control: break
        }
    }

    private mutating func askToEnd(_ id: CallID, from story: StoryPane?, at time: ScreenTime) {
        if let entry = board.entries[id], entry.endedAt == nil {
            mode = .confirming(id, from: story)
        } else {
            say("that call is over", .plain, at: time)
        }
    }

    private mutating func end(_ id: CallID, at time: ScreenTime) -> [WatchEffect] {
        guard link.isUp else {
            say("not ended: the server is gone", Style(.red, bold: true), at: time)
            return []
        }
        say("ending…", .plain, at: time)
        return [.end(id)]
    }

    private mutating func togglePause(at time: ScreenTime) {
        frozen = frozen == nil ? (board, time) : nil
    }

    // MARK: Drawing

    mutating func draw(into buffer: inout ScreenBuffer, at time: ScreenTime) {
        // While the server is gone no call gets older.
        let (board, shown) = frozen ?? (self.board, link.goneSince ?? time)
        let rate = board.rate(at: shown.uptime).map { "\(FigureText.rate($0)) new/s" }
        let problem = ScreenFrame.drawTitle(
            link, rate, problems: link.problems, isPaused: isPaused, in: &buffer, at: time)
        let top = problem.map { ScreenFrame.drawProblem($0, row: 2, in: &buffer) } ?? 2
        let body = top..<max(top, buffer.height - 2)
        switch mode {
        case .table, .filtering: table.draw(board, rows: body, in: &buffer, at: shown)
        case .confirming(_, from: let story):
            if let story {
                story.draw(board, rows: body, in: &buffer, at: shown)
            } else {
                table.draw(board, rows: body, in: &buffer, at: shown)
            }
        case .story(var story):
            story.limitScroll(to: body.count)
            mode = .story(story)
            story.draw(board, rows: body, in: &buffer, at: shown)
        case .help: KeyHelp.watch.draw(rows: body, isReader: isReader, in: &buffer)
        }
        if !link.isUp { buffer.dim(rows: body) }
        if let trouble = link.trouble {
            ScreenFrame.drawTrouble(trouble, row: 1, in: &buffer)
        } else {
            drawCounts(board, in: &buffer)
        }
        drawPrompt(in: &buffer, at: shown)
        ScreenFrame.drawKeys(keys, in: &buffer)
    }

    private func drawCounts(_ board: CallBoard, in buffer: inout ScreenBuffer) {
        guard board.isComplete else {
            buffer.put("loading…", row: 1, column: 0, style: .dim)
            return
        }
        var line = StyledLine("\(board.liveCount) live", .bold)
        let states = CallState.allCases.compactMap { state in
            board.liveByState[state].map { "\($0) \(state.rawValue)" }
        }
        if !states.isEmpty { line.add(": " + states.joined(separator: ", ")) }
        if let user { line.add("  only \(user)", Style(.yellow)) }
        if buffer.width >= Self.widthForLegend { line.add("   RING ringing/devices  PUSH open/sent", .dim) }
        line.draw(into: &buffer, row: 1)
    }

    private func drawPrompt(in buffer: inout ScreenBuffer, at time: ScreenTime) {
        let row = buffer.height - 2
        switch mode {
        case .confirming(let id, from: _):
            let words =
                board.entries[id].map { entry in
                    "\(CallWords.name(entry.call)) (\(entry.call.state.rawValue), "
                        + "\(CallWords.clock(CallWords.age(entry.call, wallMilliseconds: time.wallMilliseconds))))"
                } ?? "\(id)"
            // The question stays to be seen, however long the names are.
            let start = buffer.put("End the call from ", row: row, column: 0, style: Style(.yellow, bold: true))
            let end = buffer.put(
                words, row: row, column: start, limit: max(1, buffer.width - start - 8),
                style: Style(.yellow, bold: true))
            buffer.put("? (y/n)", row: row, column: end, style: Style(.yellow, bold: true))
        case .filtering:
            let end = buffer.put("filter: " + table.listing.filter, row: row, column: 0, style: .bold)
            buffer.put(" ", row: row, column: end, style: .reversed)
        case .table, .story, .help:
            if let message {
                buffer.put(message.text, row: row, column: 0, style: message.style)
            } else if !table.listing.filter.isEmpty, mode == .table {
                buffer.put(
                    "filter: \(table.listing.filter)  (\(table.listing.rows.count) of "
                        + "\(board.entries.count); Esc clears)", row: row, column: 0, style: Style(.yellow))
            }
        }
    }

    private var keys: [(key: String, does: String)] {
        let all: [(key: String, does: String)] =
            switch mode {
            case .table:
                [
                    ("q", "quit"), ("?", "help"), ("Enter", "story"), ("e", "end"), ("/", "filter"),
                    ("s", "sort: \(table.listing.sort.rawValue)"), ("S", "reverse"),
                    ("p", isPaused ? "go on" : "pause"),
                ]
            case .filtering: [("Enter", "keep"), ("Esc", "clear"), ("↑↓", "select")]
            case .confirming: [("y", "end it"), ("n", "leave it")]
            case .story:
                [("Esc", "back"), ("?", "help"), ("e", "end"), ("↑↓", "scroll"), ("p", isPaused ? "go on" : "pause")]
            case .help: [("any key", "back")]
            }
        return isReader ? all.filter { $0.key != "e" } : all
    }
}
