import AdminProtocol
import CallVocabulary

/// The latest figures, and the history derived from earlier ones.
struct TopFigures {
    /// The width of the widest screen.
    private static let longestHistory = 400

    private(set) var stats: StatsView?
    /// New calls a second, oldest first.
    private(set) var rates: [Double] = []
    /// One entry for each update, as ``rates``.
    private(set) var history: [Moment] = []
    /// CPU use in cores between the last two updates; nil before the second.
    var cpu: Double? { history.last?.cpu }

    struct Moment {
        /// The p99 from the invite to ringing, in ms; nil while no call has rung within the minute.
        var ringing: Double?
        /// Calls of the last minute that the service, not a person, has ended.
        var failures: Int
        var cpu: Double?
    }

    mutating func take(_ new: StatsView) {
        var cpu: Double?
        if let old = stats {
            let seconds = Double(new.at.instant.milliseconds - old.at.instant.milliseconds) / 1000
            let spent = new.process.cpuSeconds - old.process.cpuSeconds
            // A server that has started anew counts from zero.
            let isSame = old.server.startedAt == new.server.startedAt
            cpu = isSame && seconds > 0 && spent >= 0 ? spent / seconds : nil
        }
        stats = new
        rates.append(new.calls.invitedPerSecond)
        let failures = new.calls.endedLastMinute.reduce(0) { $1.key.isFailure ? $0 + $1.value : $0 }
        let ringing = new.stages.first { $0.stage == .inviteToRinging }?.p99Milliseconds
        history.append(Moment(ringing: ringing, failures: failures, cpu: cpu))
        if rates.count > Self.longestHistory {
            rates.removeFirst()
            history.removeFirst()
        }
    }

    mutating func forgetHistory() { (rates, history) = ([], history.suffix(1)) }
}
