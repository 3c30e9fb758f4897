import AdminProtocol
import CallVocabulary
import TerminalScreen

enum TopEvent: Sendable {
    case link(LinkEvent<StatsChanged>)
}

/// What `top` wants of the server.
enum TopEffect: Equatable {
    case setInterval(milliseconds: Int)
}

/// `top`: the figures of a server, full-screen.
struct TopProgram: ScreenProgram {
    typealias Event = TopEvent
    typealias Effect = TopEffect

    /// The intervals that `+` and `-` go through, in ms.
    static let intervals = [200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000]

    private(set) var link = LinkState()
    private(set) var isOver = false
    private var figures = TopFigures()
    /// What is shown while it is paused.
    private var frozen: TopFigures?
    private var isHelping = false
    private(set) var interval: Int
    private var message: (text: String, style: Style, until: Duration)?

    init(intervalMilliseconds: Int) { interval = intervalMilliseconds }

    /// Why it ended, when not because somebody wanted it to.
    var refusal: String? { link.refusal }

    mutating func received(_ event: TopEvent, at time: ScreenTime) -> [TopEffect] {
        switch event {
        case .link(.joined(let info)):
            if let words = link.joined(info, at: time) { say(words, Style(.green, bold: true), at: time) }
        case .link(.checked(let info)): link.checked(info)
        case .link(.notification(let change)): figures.take(change.stats)
        case .link(.lost): link.lost(at: time)
        case .link(.refused(let words)):
            link.refused(words)
            isOver = true
        }
        return []
    }

    mutating func passed(at time: ScreenTime) -> [TopEffect] {
        if let message, message.until <= time.uptime { self.message = nil }
        return []
    }

    private mutating func say(_ text: String, _ style: Style = .plain, at time: ScreenTime) {
        message = (text, style, time.uptime + .seconds(12))
    }

    mutating func pressed(_ key: Key, at time: ScreenTime) -> [TopEffect] {
        let wasHelping = isHelping
        isHelping = false
        switch key {
        case .control("c"), .character("q"):
            if wasHelping, key == .character("q") { return [] }
            isOver = true
        case .character("?"), .character("h"): isHelping = !wasHelping
        case .character("p"): frozen = frozen == nil ? figures : nil
        case .character("r"):
            figures.forgetHistory()
            say("the history of the rate begins anew", at: time)
        case .character("+"), .character("="): return setInterval(Self.intervals.first { $0 > interval }, at: time)
        case .character("-"): return setInterval(Self.intervals.last { $0 < interval }, at: time)
        case .up, .down, .left, .right, .pageUp, .pageDown, .home, .end, .enter, .tab, .escape, .backspace, .delete,
            .character, .control:
            break
        }
        return []
    }

    private mutating func setInterval(_ milliseconds: Int?, at time: ScreenTime) -> [TopEffect] {
        guard let milliseconds else { return [] }
        interval = milliseconds
        say("every \(Self.words(milliseconds))", at: time)
        return [.setInterval(milliseconds: milliseconds)]
    }

    private static func words(_ milliseconds: Int) -> String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }

    mutating func draw(into buffer: inout ScreenBuffer, at time: ScreenTime) {
        ScreenFrame.drawTitle(link, nil, isPaused: frozen != nil, in: &buffer, at: time)
        // What is wrong with the connection has a line of its own above the figures.
        let first = link.trouble == nil ? 1 : 2
        let body = first..<max(first, buffer.height - 2)
        if isHelping {
            KeyHelp.top.draw(rows: body, in: &buffer)
        } else if (frozen ?? figures).stats != nil {
            TopLayout.draw(frozen ?? figures, isUp: link.isUp, rows: body, in: &buffer)
        }
        if !link.isUp { buffer.dim(rows: body) }
        if let trouble = link.trouble { ScreenFrame.drawTrouble(trouble, row: 1, in: &buffer) }
        if let message { buffer.put(message.text, row: buffer.height - 2, column: 0, style: message.style) }
        ScreenFrame.drawKeys(
            [
                ("q", "quit"), ("?", "help"), ("p", frozen == nil ? "pause" : "go on"),
                ("+ -", "every \(Self.words(interval))"), ("r", "reset history"),
            ], in: &buffer)
    }
}
