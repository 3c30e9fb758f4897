import CallVocabulary

public struct GetServerInfo: AdminRequest {
    public typealias Response = ServerInfo
    public static let method = AdminMethod.serverInfo

    public init() {}
}

/// Refuses new calls, reports not ready, and notifies clients (`server.draining`). Live calls go on. On a server that
/// already drains, it only changes the deadline that clients are told.
public struct Drain: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.serverDrain
    /// The longest deadline: one day.
    package static let longestMilliseconds = 86_400_000
    /// The time until the server means to stop, which clients are told: at most ``longestMilliseconds``.
    public var deadlineMilliseconds: Int

    public init(deadlineMilliseconds: Int) { self.deadlineMilliseconds = deadlineMilliseconds }

    enum CodingKeys: String, CodingKey { case deadlineMilliseconds = "deadline_ms" }
}

/// Stops the server as SIGTERM does; the next start recovers live calls. The result is sent before the stop.
public struct StopServer: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.serverStop

    public init() {}
}

/// Sets the log level until the next start.
public struct SetLogLevel: AdminRequest {
    public typealias Response = LogLevelView
    public static let method = AdminMethod.logSet
    /// trace, debug, info, notice, warning, error or critical; nil only reads the present level.
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

/// Reports the figures at once and then at each interval.
public struct SubscribeToStats: AdminSubscription {
    public typealias Notification = StatsChanged
    public static let method = AdminMethod.statsSubscribe
    /// 200 to 60,000; 1,000 when nil.
    public var intervalMilliseconds: Int?

    public init(intervalMilliseconds: Int? = nil) { self.intervalMilliseconds = intervalMilliseconds }

    enum CodingKeys: String, CodingKey { case intervalMilliseconds = "interval_ms" }
}

/// The parameters of `stats.changed`.
public struct StatsChanged: Codable, Equatable, Sendable {
    public var subscription: Int
    public var stats: StatsView

    public init(subscription: Int, stats: StatsView) {
        self.subscription = subscription
        self.stats = stats
    }
}
