import CallVocabulary
import PushVocabulary

/// Counts refused pushes by reason. Undocumented reasons and unusual statuses share one counter, so that no peer can
/// create new metrics.
public struct PushRefusals: Equatable, Sendable {
    /// Google's canonical codes, used where FCM's own is missing.
    private static let canonical = [
        "ABORTED", "ALREADY_EXISTS", "CANCELLED", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "NOT_FOUND",
        "OUT_OF_RANGE", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "UNIMPLEMENTED", "UNKNOWN",
    ]
    /// Statuses without a reason, as servers and proxies send them.
    private static let statuses = [
        301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 406, 407, 408, 410, 411, 413, 414, 415, 421, 426, 429, 431,
        500,
        501,
        502, 503, 504, 505,
    ]

    /// The reasons with a counter of their own.
    public static let known = Set(
        APNSReason.allCases.map(\.rawValue) + FCMErrorCode.allCases.map(\.rawValue) + canonical
            + statuses.map { "HTTP \($0)" })

    /// By reason, one of ``known``.
    public private(set) var counts: [String: UInt64] = [:]
    /// Refusals for all other reasons.
    public private(set) var other: UInt64 = 0

    public init() {}

    public subscript(reason: String) -> UInt64? { counts[reason] }
    public subscript(reason: APNSReason) -> UInt64? { counts[reason.rawValue] }

    mutating func count(_ reason: String) {
        // Of "HTTP 403: BadJwtToken" the status.
        let name = reason.prefix { $0 != ":" }
        if Self.known.contains(reason) {
            counts[reason, default: 0] += 1
        } else if name.hasPrefix("HTTP "), Self.known.contains(String(name)) {
            counts[String(name), default: 0] += 1
        } else {
            other += 1
        }
    }

    /// Adds the counts of another pool.
    mutating func add(_ others: PushRefusals) {
        counts.merge(others.counts, uniquingKeysWith: +)
        other += others.other
    }
}
