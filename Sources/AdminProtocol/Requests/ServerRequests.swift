import CallVocabulary

public struct GetServerInfo: AdminRequest {
    public typealias Response = ServerInfo
    public static let method = AdminMethod.serverInfo

    public init() {}
}

/// Takes no new calls from now on, says so in readiness, and tells clients (`server.draining`). Live calls go on.
/// Again on a server that drains it changes the time clients are told, and nothing else.
public struct Drain: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.serverDrain
    /// Within which time the server means to be gone; what clients are told. 0 to 86,400,000.
    public var deadlineMilliseconds: Int

    public init(deadlineMilliseconds: Int) { self.deadlineMilliseconds = deadlineMilliseconds }

    enum CodingKeys: String, CodingKey { case deadlineMilliseconds = "deadline_ms" }
}

/// Stops the server as SIGTERM does; live calls are left to the next start. The result comes before the end.
public struct StopServer: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.serverStop

    public init() {}
}

/// Sets what is logged until the next start.
public struct SetLogLevel: AdminRequest {
    public typealias Response = LogLevelView
    public static let method = AdminMethod.logSet
    /// trace, debug, info, notice, warning, error or critical; nil only asks.
    public var level: String?

    public init(_ level: String? = nil) { self.level = level }
}

public struct LogLevelView: Codable, Equatable, Sendable {
    public var level: String

    public init(level: String) { self.level = level }
}

public struct GetStats: AdminRequest {
    public typealias Response = StatsView
    public static let method = AdminMethod.statsGet

    public init() {}
}

/// The figures, at once and then each time the interval is over.
public struct SubscribeToStats: AdminSubscription {
    public typealias Notification = StatsChanged
    public static let method = AdminMethod.statsSubscribe
    /// 200 to 60,000; 1,000 when nil.
    public var intervalMilliseconds: Int?

    public init(intervalMilliseconds: Int? = nil) { self.intervalMilliseconds = intervalMilliseconds }

    enum CodingKeys: String, CodingKey { case intervalMilliseconds = "interval_ms" }
}

/// `stats.changed`.
public struct StatsChanged: Codable, Equatable, Sendable {
    public var subscription: Int
    public var stats: StatsView

    public init(subscription: Int, stats: StatsView) {
        self.subscription = subscription
        self.stats = stats
    }
}
