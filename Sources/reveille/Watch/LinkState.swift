import AdminProtocol
import CallVocabulary
import TerminalScreen

/// What becomes of the connection to the server.
enum LinkEvent<Notification: Sendable>: Sendable {
    case joined(ServerInfo)
    /// The server answers, with its present information.
    case checked(ServerInfo)
    case notification(Notification)
    /// It is gone, and is being looked for.
    case lost
    /// It will not have us: trying again is no use.
    case refused(String)
}

/// The connection as the person sees it.
struct LinkState {
    private enum Phase {
        case waiting
        case up
        case gone(since: ScreenTime)
        case refused(String)
    }

    private var phase = Phase.waiting
    /// Of the server that was heard of last.
    private(set) var server: ServerInfo?

    /// Those of the server but a drain, which has a mark of its own; the worst first.
    /// Empty while the server is gone.
    var problems: [ServerProblem] { isUp ? server?.problems?.filter { $0.code != .draining } ?? [] : [] }

    var isUp: Bool { if case .up = phase { true } else { false } }
    /// When the server went away; nil while it is there.
    var goneSince: ScreenTime? { if case .gone(let since) = phase { since } else { nil } }
    /// Why there is no use in waiting.
    var refusal: String? { if case .refused(let words) = phase { words } else { nil } }

    /// - Returns: the message to show when the server is back.
    mutating func joined(_ info: ServerInfo, at time: ScreenTime) -> String? {
        defer {
            server = info
            phase = .up
        }
        guard case .gone(let since) = phase else { return nil }
        let seconds = max(1, (time.uptime - since.uptime + .milliseconds(500)).components.seconds)
        guard info.startedAt != server?.startedAt else { return "back after \(seconds) s: the same server" }
        let started = WallClock.text(info.startedAt.instant.milliseconds)
        return "back after \(seconds) s (restarted at \(started), version \(info.version))"
    }

    mutating func checked(_ info: ServerInfo) {
        if isUp { server = info }
    }

    mutating func lost(at time: ScreenTime) {
        if case .up = phase { phase = .gone(since: time) }
    }

    mutating func refused(_ words: String) { phase = .refused(words) }

    /// What is wrong with the connection, for a line of its own.
    var trouble: String? {
        switch phase {
        case .up: nil
        case .waiting: "waiting for the server…"
        case .gone(let since): "server gone since \(WallClock.text(since.wallMilliseconds)); reconnecting…"
        case .refused(let words): words
        }
    }
}
