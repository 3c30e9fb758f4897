import AdminProtocol
import CallCore
import CallVocabulary

/// Counts of live calls, and of recent invites and ends.
public struct RecentCalls: Equatable, Sendable {
    public var live: [CallState: Int]
    /// Calls per second, averaged over the last ten seconds.
    public var invitedPerSecond: Double
    public var endedPerSecond: Double
    public var endedLastMinute: [EndReason: Int]
}

/// Counts the results of calls, and measures their stages.
struct CallFigures {
    private static let invited = 0
    private static let firstReason = 1
    private static let rateSeconds = 10

    private var live: [CallState: Int] = [:]
    private var recent: RecentCounts
    var stages = StageLatencies()

    init(now: Instant) {
        recent = RecentCounts(columns: Self.firstReason + EndReason.allCases.count, now: now)
    }

    mutating func recount(_ states: some Sequence<CallState>) {
        live = [:]
        for state in states { live[state, default: 0] += 1 }
    }

    mutating func call(_ call: CallRecord, _ change: CallChange, now: Instant) {
        if let was = change.was { live[was, default: 0] -= 1 } else { recent.add(Self.invited, now: now) }
        if call.state.isLive {
            live[call.state, default: 0] += 1
        } else if let reason = call.endReason {
            recent.add(Self.column(reason), now: now)
        }
        if change.isRinging, let ringing = call.ringingAt {
            stages.record(.inviteToRinging, ringing - call.createdAt, now: now)
        }
        if change.isAnswered, let answered = call.answeredAt, let ringing = call.ringingAt {
            stages.record(.ringingToAnswer, answered - ringing, now: now)
        }
        if change.isConnected, let connected = call.connectedAt, let answered = call.answeredAt {
            stages.record(.answerToConnected, connected - answered, now: now)
        }
    }

    mutating func push(_ push: PushRecord, was: PushStanding?, now: Instant) {
        guard let sentAt = push.sentAt else { return }
        if was == nil || was?.status == .intended {
            stages.record(.pushIntendedToSent, sentAt - push.intendedAt, now: now)
        }
        if let answeredAt = push.answeredAt, was?.status == .sent {
            stages.record(.pushSentToAnswered, answeredAt - sentAt, now: now)
        }
        guard let reportedAt = push.reportedAt, was?.report != push.report else { return }
        switch push.report {
        case .reported, .notRequired, .filtered, .reportFailed, .reportedLate:
            stages.record(.pushSentToReported, reportedAt - sentAt, now: now)
        // The report is missing, or the device acted without it.
        case nil, .awaited, .unreported, .acted: break
        }
    }

    mutating func recent(now: Instant) -> RecentCalls {
        var ended: [EndReason: Int] = [:]
        var endedForRate = 0
        for reason in EndReason.allCases {
            let count = recent.sum(Self.column(reason), last: RecentCounts.seconds, now: now)
            if count > 0 { ended[reason] = count }
            endedForRate += recent.sum(Self.column(reason), last: Self.rateSeconds, now: now)
        }
        let invited = recent.sum(Self.invited, last: Self.rateSeconds, now: now)
        return RecentCalls(
            live: live.filter { $0.value > 0 },
            invitedPerSecond: Double(invited) / Double(Self.rateSeconds),
            endedPerSecond: Double(endedForRate) / Double(Self.rateSeconds), endedLastMinute: ended)
    }

    private static func column(_ reason: EndReason) -> Int {
        // `EndReason.allCases` contains every reason.
        firstReason + EndReason.allCases.firstIndex(of: reason)!
    }
}
