import CallVocabulary

/// Settings that can be changed at run time; nil keeps the present value.
public struct CoreSettings: Equatable, Sendable {
    public var timers: CallTimers?
    public var limits: CoreLimits?
    /// The policy of users that have none of their own.
    public var policy: UserPolicy?
    /// Whether steps are recorded as events for other systems.
    public var recordsEvents: Bool?
    /// `.some(nil)`: invites are not authorized any more.
    public var authorization: AuthorizationPolicy??

    public init(
        timers: CallTimers? = nil, limits: CoreLimits? = nil, policy: UserPolicy? = nil, recordsEvents: Bool? = nil,
        authorization: AuthorizationPolicy?? = nil
    ) {
        self.timers = timers
        self.limits = limits
        self.policy = policy
        self.recordsEvents = recordsEvents
        self.authorization = authorization
    }
}

extension CallTimers {
    /// Why a core cannot work with these timers, as text; nil when they are valid.
    public var problem: String? {
        let all: [(String, Duration)] = [
            ("ring", ring), ("hunt_step", huntStep), ("connect", connect), ("report", report), ("delivery", delivery),
            ("resume", resume), ("notice", notice), ("background_window", backgroundWindow),
            ("push_window", pushWindow),
            ("tombstone", tombstone), ("longest_call", longestCall ?? .seconds(1)), ("archive", archive),
            ("device_age", deviceAge ?? .seconds(1)),
            ("probe_pauses", probePauses.min() ?? .zero),
        ]
        if let (name, _) = all.first(where: { $0.1 <= .zero }) { return "\(name) has to be longer than 0" }
        guard Self.ringRange.contains(ring) else { return "ring is 5 to 600 s" }
        guard Self.ringRange.contains(longestRing) else { return "longest_ring is 5 to 600 s" }
        return nil
    }
}

extension CoreLimits {
    /// Why a core cannot work with these limits, as text; nil when they are valid.
    public var problem: String? {
        let all: [(String, Int)] = [
            ("live_calls", liveCalls), ("live_calls_per_user", liveCallsPerUser), ("legs_per_call", legsPerCall),
            ("call_bytes_per_user", callBytesPerUser), ("stored_bytes_per_user", storedBytesPerUser),
            ("device_updates_per_user", deviceUpdatesPerUser), ("pushes_per_caller", pushesPerCaller),
            ("devices_per_user", devicesPerUser), ("tokens_per_device", tokensPerDevice), ("sessions", sessions),
            ("replay_events", replayEvents), ("replay_bytes", replayBytes),
            ("buffered_candidates", bufferedCandidates), ("buffered_candidate_bytes", bufferedCandidateBytes),
            ("candidate_events_per_caller", candidateEventsPerCaller),
            ("unreported_streak", unreportedStreak), ("missed_per_user", missedPerUser), ("notices", notices),
            ("notices_per_device", noticesPerDevice), ("background_pushes", backgroundPushes), ("forwards", forwards),
            ("awaited_handles", awaitedHandles), ("look_ups", lookUps), ("idle_users", idleUsers),
            ("ended_calls", endedCalls), ("archived_legs", archivedLegs), ("pushes_per_device", pushesPerDevice),
            ("pushing_calls_per_pair", pushingCallsPerPair), ("pushing_calls_per_caller", pushingCallsPerCaller),
            ("ringing_calls_per_pair", ringingCallsPerPair), ("ringing_calls_per_callee", ringingCallsPerCallee),
            ("ringing_pair_bytes", ringingPairBytes), ("ringing_callee_bytes", ringingCalleeBytes),
        ]
        // The missed-call policy turns background pushes off; nothing turns the others off.
        return all.first { $0.1 < 1 }.map { "\($0.0) is at least 1" }
    }
}
