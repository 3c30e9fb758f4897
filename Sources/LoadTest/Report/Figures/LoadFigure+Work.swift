extension LoadFigure {
    /// What was done.
    public enum Work: String, LoadFigureKind {
        case seconds
        case begun
        case completed
        case completedPerSecond = "completed_per_second"
        case completedInAll = "completed_in_all"
        case completedScenario = "completed_SCENARIO"
        case failed
        case notOver = "not_over"
        case sessionsLost = "sessions_lost"
        case askedPerSecond = "asked_per_second"
        case notBegun = "not_begun"
        case underWayMost = "under_way_most"
        case underWayMean = "under_way_mean"
        case refused
        case cutShort = "cut_short"
        case sessions
        case standingCalls = "standing_calls"
        case legs
        case descriptions
        case faultName = "fault_NAME"
        case disturbedEndedReason = "disturbed_ended_REASON"

        public static let group = Figure.Group.work

        public var unit: Figure.Unit {
            switch self {
            case .seconds: .seconds
            case .begun, .completed, .completedInAll, .completedScenario, .failed, .notOver, .sessionsLost, .notBegun,
                .underWayMost, .underWayMean, .refused, .cutShort, .sessions, .standingCalls, .legs,
                .descriptions, .faultName,
                .disturbedEndedReason:
                .count
            case .completedPerSecond, .askedPerSecond: .perSecond
            }
        }

        public var definition: String {
            switch self {
            case .seconds: "the part that counts"
            case .begun: "each PIECE that was due in the part that counts and begun"
            case .completed: "each PIECE completed in the part that counts"
            case .completedPerSecond: "each PIECE completed in the part that counts, by second"
            case .completedInAll: "each PIECE completed, with ramp, warm-up and what ended after the part that counts"
            case .completedScenario: "of mixed: pieces of SCENARIO completed, at any time of the run"
            case .failed: "each PIECE that was begun and came to nothing, at any time"
            case .notOver:
                "each PIECE that was under way when the run gave it up, long after the load had ended or because the server "
                    + "was gone; it is a failure too"
            case .sessionsLost:
                "sessions that were lost without being meant to be, at any time, each once until it is there again; a PIECE "
                    + "that came to nothing for it is told apart"
            case .askedPerSecond: "of an open loop: each PIECE that was asked for, by second, after the ramp"
            case .notBegun:
                "of an open loop: each PIECE that was due, at any time, when no phone was free for it; it is a "
                    + "failure too"
            case .underWayMost: "the most pieces under way at once in the part that counts"
            case .underWayMean: "the pieces under way in the part that counts, on average"
            case .refused:
                "of a closed loop: how often, at any time, no phone was free for the next piece; it is asked again 5 ms "
                    + "later"
            case .cutShort:
                "of an interrupted run: pieces under way when it was asked to end, and not over soon after it"
            case .sessions: "sessions that were open"
            case .standingCalls: "calls that stood during the load and have no part in it, at its end"
            case .legs: "of fanout: devices called by the calls completed in the part that counts"
            case .descriptions:
                "of relay, also in a mix: session descriptions among what arrived, at any time of the run"
            case .faultName:
                "of mixed with faults: calls with the fault NAME that came to an end it allows, at any time of "
                    + "the run"
            case .disturbedEndedReason: "of mixed with faults: calls with a fault that ended as REASON at the caller"
            }
        }
    }
}
