import CallVocabulary

/// Something APNs is made to do wrong, with pushes that are in order.
public struct PushFault: Equatable, Sendable {
    public enum Effect: Equatable, Sendable {
        /// Answer with `reason`, and with another status than the documented one if `status` says so.
        /// `timestamp` is for 410, now if nil.
        case refuse(APNSReason, status: Int? = nil, timestamp: Instant? = nil)
        /// Answer 200 and never deliver.
        case lose
        /// Answer 200 and hand the push to the phone only after this time, whatever its expiration.
        case deliverLate(Duration)
        /// Take the request and never answer; nothing is delivered.
        case neverAnswer
        /// Treat the push as usual, then end the connection with GOAWAY, whose debug data is `{"reason":…}`.
        /// Streams up to the push's own are still answered.
        case goAway(APNSReason?)
    }

    public var effect: Effect
    /// The device token it befalls; nil: any.
    public var deviceToken: String?
    /// How many pushes it befalls; nil: all, until the faults are cleared.
    public var count: Int?

    public init(_ effect: Effect, deviceToken: String? = nil, count: Int? = nil) {
        self.effect = effect
        self.deviceToken = deviceToken?.lowercased()
        self.count = count
    }
}

/// The faults waiting to happen. The one injected first is taken first.
struct FaultTable {
    private(set) var faults: [PushFault] = []

    mutating func add(_ fault: PushFault) {
        if fault.count ?? 1 > 0 { faults.append(fault) }
    }

    mutating func clear() { faults = [] }

    /// What is to go wrong with a push to `deviceToken`; uses up one of the fault's count.
    mutating func take(deviceToken: String) -> PushFault.Effect? {
        guard let index = faults.firstIndex(where: { $0.deviceToken == nil || $0.deviceToken == deviceToken }) else {
            return nil
        }
        let effect = faults[index].effect
        if let count = faults[index].count {
            if count == 1 { faults.remove(at: index) } else { faults[index].count = count - 1 }
        }
        return effect
    }
}
