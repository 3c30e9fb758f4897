/// The names of the core's limits, as in counters and metrics. ``CoreLimits`` has their values. A share of a limit counts
/// as the limit.
public enum CoreLimit: String, Sendable, CaseIterable {
    case liveCalls = "live_calls"
    case liveCallsPerUser = "live_calls_per_user"
    case callBytesPerUser = "call_bytes_per_user"
    case storedBytesPerUser = "stored_bytes_per_user"
    case deviceUpdatesPerUser = "device_updates_per_user"
    /// `to`, `sdp` and `custom` of one invite together.
    case inviteContent = "invite_content"
    case legsPerCall = "legs_per_call"
    case devicesPerUser = "devices_per_user"
    case sessions
    /// ``CoreLimits/replayEvents`` or ``CoreLimits/replayBytes``.
    case replay
    case missedPerUser = "missed_per_user"
    case notices
    case noticesPerDevice = "notices_per_device"
    case forwards
    case awaitedHandles = "awaited_handles"
    case lookUps = "look_ups"
    case archivedLegs = "archived_legs"
    /// ``AuthorizationPolicy/mostWaiting``.
    case authorizations
    /// Pushes to one device in ``CallTimers/pushWindow``.
    case pushesPerDevice = "pushes_per_device"
    case pushingCallsPerPair = "pushing_calls_per_pair"
    case pushingCallsPerCaller = "pushing_calls_per_caller"
    case pushesPerCaller = "pushes_per_caller"
    case ringingCallsPerPair = "ringing_calls_per_pair"
    case ringingCallsPerCallee = "ringing_calls_per_callee"
    case ringingPairBytes = "ringing_pair_bytes"
    case ringingCalleeBytes = "ringing_callee_bytes"
}
