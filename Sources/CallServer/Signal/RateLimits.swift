import WebSocketServer

/// A limit on how often one address, user or device may do something in a minute, over all connections. The raw value is
/// its name in settings and metrics.
public enum RateLimit: String, CaseIterable, Sendable {
    case connectsPerAddress = "connects_per_address"
    /// HTTP requests, without those of backends. Health checks are counted apart.
    case requestsPerAddress = "requests_per_address"
    case failedTokensPerAddress = "failed_tokens_per_address"
    case opensPerUser = "opens_per_user"
    case opensPerDevice = "opens_per_device"
    case invitesPerUser = "invites_per_user"
    case messagesPerUser = "messages_per_user"

    /// Far above what apps do, so that many phones can share an address, and many devices a user.
    public var standard: Int {
        switch self {
        case .connectsPerAddress: 25_000
        case .requestsPerAddress: 6_000
        case .failedTokensPerAddress, .opensPerUser, .invitesPerUser: 600
        case .opensPerDevice: 120
        case .messagesPerUser: 24_000
        }
    }
}

/// The values of all ``RateLimit``s, for a minute.
public struct RateLimits: Equatable, Sendable {
    private var values = RateLimit.allCases.map(\.standard)

    public init() {}

    public subscript(limit: RateLimit) -> Int {
        get { values[limit.index] }
        set { values[limit.index] = newValue }
    }

    /// Why these limits are unusable, as text; nil when they are valid.
    var problem: String? {
        RateLimit.allCases.first { self[$0] < 1 }.map { "\($0.rawValue) is at least 1" }
    }
}

/// The limiters of all shards. Any thread.
final class RateLimiters: Sendable {
    private let limiters: [RateLimiter]

    init(_ limits: RateLimits = RateLimits()) {
        limiters = RateLimit.allCases.map { RateLimiter(perMinute: limits[$0]) }
    }

    subscript(limit: RateLimit) -> RateLimiter { limiters[limit.index] }

    func apply(_ limits: RateLimits) {
        for limit in RateLimit.allCases { self[limit].setRate(perMinute: limits[limit]) }
    }
}

extension RateLimit {
    // It is a member of `allCases`.
    fileprivate var index: Int { Self.allCases.firstIndex(of: self)! }
}
