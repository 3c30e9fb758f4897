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
    /// In all rounds, without those to warm up.
    public let operations: Int

    /// Its ratio over the same figure's in an earlier result, and its allocations if they differ.
    func verdict(against baseline: PartFigure) -> String {
        let change = ratio.median / baseline.ratio.median
        var words = "\(Decimals.text(change, 2))x the baseline"
        if change > 1 + Self.tolerance { words += ": MORE" }
        if change < 1 - Self.tolerance { words += ": less" }
        if let now = value(of: "allocations"), let then = baseline.value(of: "allocations"),
            Decimals.text(now) != Decimals.text(then)
        {
            words += "; allocations \(Decimals.text(then)) before, \(Decimals.text(now)) now"
        }
        return words
    }

    private func value(of quantity: String) -> Double? { also.first { $0.name == quantity }?.value }
}
