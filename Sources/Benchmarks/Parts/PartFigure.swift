/// The cost of one kind of work, beside that of a reference in the same rounds. Lower is better.
public struct PartFigure: Codable, Sendable {
    public enum Unit: String, Codable, Sendable {
        case nanoseconds = "ns"
        case microseconds = "µs"
    }

    /// Something else that was found out in the same rounds; the median of them.
    public struct Quantity: Equatable, Codable, Sendable {
        public let name: String
        public let value: Double

        init(_ value: Double, _ name: String) {
            self.name = name
            self.value = value
        }
    }

    /// What is wanted of it.
    public struct Goal: Equatable, Codable, Sendable {
        /// The name of a quantity; nil for the ratio.
        public let quantity: String?
        public let limit: Double
        /// Whether less than the limit misses it, instead of more.
        public let isFloor: Bool

        static func atMost(_ limit: Double, _ quantity: String? = nil) -> Goal {
            Goal(quantity: quantity, limit: limit, isFloor: false)
        }

        static func atLeast(_ limit: Double, _ quantity: String? = nil) -> Goal {
            Goal(quantity: quantity, limit: limit, isFloor: true)
        }
    }

    /// How far a ratio may be from the baseline's without being marked.
    public static let tolerance = 0.25

    public let name: String
    public let unit: Unit
    /// Of one operation.
    public let cost: Spread
    /// What it is compared with, in words.
    public let reference: String
    public let referenceCost: Spread
    /// Cost over the reference's, round by round.
    public let ratio: Spread
    public let also: [Quantity]
    public let goal: Goal?
    /// In all rounds, without those to warm up.
    public let operations: Int

    /// Its ratio over the same figure's in an earlier result, and its allocations if they differ.
    func verdict(against baseline: PartFigure) -> String {
        let change = ratio.median / baseline.ratio.median
        var words = "\(Decimals.text(change, 2))x the baseline"
        if change > 1 + Self.tolerance { words += ": MORE" }
        if change < 1 - Self.tolerance { words += ": less" }
        if let now = value(of: "allocations"), let then = baseline.value(of: "allocations"), now != then {
            words += "; allocations \(Decimals.text(then)) before, \(Decimals.text(now)) now"
        }
        return words
    }

    /// nil when nothing is wanted, or the quantity was not measured in this build.
    public var reachesGoal: Bool? {
        guard let goal, let value = value(of: goal) else { return nil }
        return goal.isFloor ? value >= goal.limit : value <= goal.limit
    }

    /// In words; nil when there is nothing to say.
    var goalText: String? {
        guard let goal, let reachesGoal, let value = value(of: goal) else { return nil }
        let wanted = "\(goal.isFloor ? "at least" : "at most") \(Decimals.text(goal.limit, 2))"
        return """
            \(reachesGoal ? "reached" : "NOT reached"): \(name): \(Decimals.text(value, 2)) \
            \(goal.quantity ?? "times the reference"), \(wanted) is wanted
            """
    }

    private func value(of goal: Goal) -> Double? {
        guard let name = goal.quantity else { return ratio.median }
        return value(of: name)
    }

    private func value(of quantity: String) -> Double? { also.first { $0.name == quantity }?.value }
}
