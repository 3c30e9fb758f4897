import CallVocabulary

/// What a pool has done since its start.
public struct PushCounters: Equatable, Sendable {
    public var queued: UInt64 = 0
    /// Requests handed to a connection; a retry counts again.
    public var sent: UInt64 = 0
    public var accepted: UInt64 = 0
    public var rejected: UInt64 = 0
    public var unknown: UInt64 = 0
    public var returned: UInt64 = 0
    public var unsent: UInt64 = 0
    public var dropped: UInt64 = 0
    public var goAways: UInt64 = 0
    public var connectionsOpened: UInt64 = 0
    public var connectionsFailed: UInt64 = 0
    public var tokensSigned: UInt64 = 0
    /// Answers other than 200, by the reason; those not in the table together under `other`.
    public var refusals: [APNSReason: UInt64] = [:]
    public var otherRefusals: UInt64 = 0

    public init() {}

    mutating func countRefusal(_ reason: String) {
        if let known = APNSReason(rawValue: reason) {
            refusals[known, default: 0] += 1
        } else {
            otherRefusals += 1
        }
    }
}
