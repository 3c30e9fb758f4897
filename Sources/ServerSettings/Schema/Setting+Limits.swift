import CallCore
import CallServer
import Configuration
import WebSocketServer

/// Every bound that an operator may move. Each has a counter of how often it was hit.
extension Setting {
    package static let callSeconds = Setting(
        "limits.call_seconds", .integer(0...604_800), .int(0), part: .timers,
        "How long a call may last from the time media flows; then it ends as max_duration. 0 for no limit.")
    package static let deviceDays = Setting(
        "limits.device_days", .integer(0...3650), .int(0), part: .timers,
        "Days after which a device that was not seen is dropped with its push tokens. 0 keeps all.")
    package static let connections = Setting(
        "limits.connections", .integer(1...10_000_000), .int(100_000), flag: "--max-connections", part: .connections,
        "Connections at once, HTTP included; those without a session go first. To allow more than at the start, restart."
    )
    package static let connectionsPerAddress = Setting(
        "limits.connections_per_address", .integer(1...10_000_000), note: "a quarter of limits.connections",
        example: "25000", part: .connections,
        "Those of one IPv4 address or IPv6 /64; a /56 has 4 times as many, a /48 16 times. listen.proxies have no bound."
    )
    package static let unreadBytes = Setting(
        "limits.unread_bytes", .integer(67_108_864...68_719_476_736), .int(WebSocketServer.standardUnreadBytes),
        part: .connections,
        "Bytes queued for all clients together; beyond that the server disconnects the slowest readers.")
    package static let messagesPerSecond = Setting(
        "limits.messages_per_second", .integer(1...10_000_000), .int(100), flag: "--messages-per-second",
        part: .connectionLimits, "Messages a second that a connection may send in the long run.")
    package static let messageBurst = Setting(
        "limits.message_burst", .integer(1...40_000_000), note: "four times limits.messages_per_second",
        example: "400", part: .connectionLimits, "Messages that a connection may send in one burst.")
    package static let refusedMessages = Setting(
        "limits.refused_messages", .integer(1...1_000_000), .int(ConnectionLimits().refusalsUntilAbuse),
        part: .connectionLimits, "Messages refused in a minute after which a client is sent away.")

    /// Those of addresses, users and devices: as many at once as in a minute.
    static let ofRates: [(setting: Setting, limit: RateLimit)] = RateLimit.allCases.map { limit in
        let meaning =
            switch limit {
            case .connectsPerAddress:
                "Connections in a minute from one IPv4 address or IPv6 /64; 4 times as many from a /56, 16 times from a /48."
            case .requestsPerAddress:
                "HTTP requests in a minute from one address or network, without those of backends."
            case .failedTokensPerAddress:
                "Refused tokens in a minute from one address or network; more are not verified."
            case .opensPerUser: "Sessions opened in a minute by one user."
            case .opensPerDevice: "Sessions opened in a minute by one device."
            case .invitesPerUser: "Calls placed in a minute by one user, with or without a push."
            case .messagesPerUser: "Messages in a minute from all connections of one user, with its requests over HTTP."
            }
        return (
            Setting(
                "limits.\(limit.rawValue)", .integer(1...10_000_000), .int(limit.standard), part: .rates, meaning),
            limit
        )
    }

    /// Those of the core, each with its place there.
    static let ofCore: [(setting: Setting, path: any WritableKeyPath<CoreLimits, Int> & Sendable)] = [
        limit("live_calls", 1...10_000_000, \.liveCalls, "Calls that have not ended."),
        limit("live_calls_per_user", 1...100_000, \.liveCallsPerUser, "Those that one user has placed."),
        limit(
            "call_bytes_per_user", 1_048_576...68_719_476_736, \.callBytesPerUser,
            "Bytes of memory, about, for the calls that one user has placed, ended ones included; those leave memory first."
        ),
        limit(
            "stored_bytes_per_user", 65_536...1_099_511_627_776, \.storedBytesPerUser,
            "Bytes, about, that one user's requests and calls write to disk in a minute: as many at once, then evenly."),
        limit(
            "device_updates_per_user", 1...10_000_000, \.deviceUpdatesPerUser,
            "Changes of push tokens in a minute, of all devices of one user."),
        limit("legs_per_call", 1...10_000, \.legsPerCall, "Devices that one call reaches."),
        limit("sessions", 1...10_000_000, \.sessions, "Sessions, those that can be resumed included."),
        limit("devices_per_user", 1...1000, \.devicesPerUser, "Devices of one user."),
        limit(
            "unreported_pushes", 1...1000, \.unreportedStreak,
            "Pushes in a row without the report that was owed after which a device is suspended."),
        limit(
            "pushes_per_device", 1...1_000_000, \.pushesPerDevice,
            "Pushes to one device in half a minute: as many at once, then one for each equal part of it."),
        limit(
            "pushing_calls_per_pair", 1...1_000_000, \.pushingCallsPerPair,
            "The same of calls by one user to one other that push; more are refused as rate_limited."),
        limit(
            "pushing_calls_per_caller", 1...1_000_000, \.pushingCallsPerCaller,
            "The same of all calls by one user that push. A list counts for each user in it, a group once."),
        limit(
            "pushes_per_caller", 1...1_000_000, \.pushesPerCaller,
            "The same of the pushes of all calls by one user; fewer than limits.legs_per_call cut the largest calls short."
        ),
        limit(
            "ringing_calls_per_pair", 1...100_000, \.ringingCallsPerPair,
            "Calls by one user that ring at one other at once; more are refused as rate_limited."),
        limit(
            "ringing_calls_per_callee", 1...100_000, \.ringingCallsPerCallee,
            "The same of the calls by all users. A user's new sessions are offered each of them."),
        limit(
            "ringing_pair_bytes", 65_536...67_108_864, \.ringingPairBytes,
            "Content of the calls by one user that ring at one other at once, with their ICE candidates so far."),
        limit(
            "ringing_callee_bytes", 65_536...67_108_864, \.ringingCalleeBytes,
            "The same of the calls by all users."),
        limit("replay_events", 16...100_000, \.replayEvents, "Events kept for a session's resume."),
        limit("replay_bytes", 65_536...67_108_864, \.replayBytes, "The same, in bytes."),
        limit(
            "buffered_candidates", 1...10_000, \.bufferedCandidates,
            "ICE candidates kept for devices that are still to be told of the call, for each sending side."),
        limit("buffered_candidate_bytes", 1024...1_048_576, \.bufferedCandidateBytes, "The same, in bytes."),
        limit("missed_per_user", 1...10_000, \.missedPerUser, "Missed calls kept for one user."),
        limit("notices", 1...10_000_000, \.notices, "Pushes about missed calls that are not settled yet."),
        limit(
            "notices_per_device", 1...1000, \.noticesPerDevice,
            "Those for one device; a newer one takes the place of the oldest."),
        limit(
            "background_pushes", 1...100, \.backgroundPushes,
            "Background pushes to a device in an hour. iOS lets no more than two or three through."),
        limit("forwards", 1...10, \.forwards, "How often one call is forwarded."),
        limit(
            "awaited_handles", 1...100_000_000, \.awaitedHandles,
            "Handles in lists that nobody has registered yet, over all live calls."),
        limit(
            "look_ups", 1...1_000_000, \.lookUps, "Requests that may wait for the store to look a call or a user up."),
        limit(
            "idle_users", 1...10_000_000, \.idleUsers,
            "Users kept in memory without a session, a call or a push. Others are read from the store when they are needed."
        ),
        limit(
            "ended_calls", 50_000...10_000_000, \.endedCalls,
            "Calls in memory that are over, for two minutes at most, 2.3 kB each. The store answers for those that had to leave."
        ),
        limit(
            "archived_legs", 1000...100_000_000, \.archivedLegs,
            "Legs in memory of calls that were over long ago and were asked for again."),
    ]

    private static func limit(
        _ name: String, _ range: ClosedRange<Int>, _ path: any WritableKeyPath<CoreLimits, Int> & Sendable,
        _ meaning: String
    ) -> (Setting, any WritableKeyPath<CoreLimits, Int> & Sendable) {
        (Setting("limits." + name, .integer(range), .int(CoreLimits()[keyPath: path]), part: .limits, meaning), path)
    }
}
