extension LoadFigure {
    /// Operations, completed and failed.
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

        public var meaning: Meaning {
            switch self {
            case .seconds: (.seconds, "length of the measured part")
            case .begun: (.count, "operations that were due in the measured part and begun")
            case .completed: (.count, "operations completed in the measured part")
            case .completedPerSecond: (.perSecond, "operations completed per second of the measured part")
            case .completedInAll: (.count, "operations completed at any time of the run")
            case .completedScenario: (.count, "mixed: operations of SCENARIO completed at any time of the run")
            case .failed: (.count, "operations that began and failed, at any time of the run")
            case .notOver:
                (
                    .count,
                    "operations that were under way when the run stopped waiting for them, or when the server was "
                        + "gone; "
                        + "each is also a failure"
                )
            case .sessionsLost:
                (
                    .count,
                    "sessions lost unintentionally at any time of the run, each once until its phone is back; an "
                        + "operation "
                        + "that fails because of it counts separately"
                )
            case .askedPerSecond: (.perSecond, "open loop: the rate that was asked for, after the ramp")
            case .notBegun:
                (
                    .count,
                    "open loop: operations that were due when no phone was free, at any time of the run; each is also "
                        + "a "
                        + "failure"
                )
            case .underWayMost: (.count, "the most operations under way at once in the measured part")
            case .underWayMean: (.count, "mean number of operations under way in the measured part")
            case .refused:
                (
                    .count,
                    "closed loop: how often no phone was free for the next operation, at any time of the run; it is "
                        + "tried "
                        + "again 5 ms later"
                )
            case .cutShort:
                (.count, "interrupted run: operations under way at the interrupt and not over soon after it")
            case .sessions: (.count, "open sessions")
            case .standingCalls: (.count, "standing calls outside the load, at its end")
            case .legs: (.count, "fanout: devices called by the calls completed in the measured part")
            case .descriptions:
                (.count, "relay, also in a mix: session descriptions that arrived, at any time of the run")
            case .faultName:
                (.count, "mixed with faults: calls with the fault NAME that ended as it allows, at any time of the run")
            case .disturbedEndedReason:
                (.count, "mixed with faults: calls with a fault that ended as REASON at the caller")
            }
        }
    }
}
