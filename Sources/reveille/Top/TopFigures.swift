import AdminProtocol
import CallVocabulary

/// The figures as they were told last, and what follows from those before.
struct TopFigures {
    /// As many as the widest screen has room for.
    private static let longestHistory = 400

    private(set) var stats: StatsView?
    /// New calls a second, oldest first.
    private(set) var rates: [Double] = []
    /// Of one core, between the last two tellings; nil until there are two.
    private(set) var cpu: Double?

    mutating func take(_ new: StatsView) {
        if let old = stats {
            let seconds = Double(new.at.instant.milliseconds - old.at.instant.milliseconds) / 1000
            let spent = new.process.cpuSeconds - old.process.cpuSeconds
            // A server that has started anew counts from zero.
            let isSame = old.server.startedAt == new.server.startedAt
            cpu = isSame && seconds > 0 && spent >= 0 ? spent / seconds : nil
        }
        stats = new
        rates.append(new.calls.invitedPerSecond)
        if rates.count > Self.longestHistory { rates.removeFirst(rates.count - Self.longestHistory) }
    }

    mutating func forgetHistory() { rates = [] }
}
