import CallVocabulary

/// Answers that refused a push, counted by their reason. Reasons come from outside, so only so many are told apart.
public struct PushRefusals: Equatable, Sendable {
    /// More than APNs and FCM have together.
    public static let mostReasons = 96

    /// By the reason as it came.
    public private(set) var counts: [String: UInt64] = [:]
    /// Those of reasons there was no room for.
    public private(set) var other: UInt64 = 0

    public init() {}

    public subscript(reason: String) -> UInt64? { counts[reason] }
    public subscript(reason: APNSReason) -> UInt64? { counts[reason.rawValue] }

    mutating func count(_ reason: String) {
        if counts.count < Self.mostReasons || counts[reason] != nil {
            counts[reason, default: 0] += 1
        } else {
            other += 1
        }
    }
}
