/// The cost of an operation, and of a reference in the same rounds. Lower is better.
public struct PartFigure: Codable, Sendable {
    public enum Unit: String, Codable, Sendable {
        case nanoseconds = "ns"
        case microseconds = "µs"
    }

    /// Another quantity measured in the same rounds; the median.
    public struct Quantity: Equatable, Codable, Sendable {
        public let name: String
        public let value: Double

        init(_ value: Double, _ name: String) {
            self.name = name
            self.value = value
        }
    }

    /// The largest unmarked deviation of a ratio from the baseline.
    public static let tolerance = 0.25

    public let name: String
    public let unit: Unit
    /// Of one operation.
    public let cost: Spread
    public let reference: String
    public let referenceCost: Spread
    /// The cost divided by the reference's, for each round.
    public let ratio: Spread
    public let also: [Quantity]
    /// In all rounds, without warm-ups.
    public let operations: Int

    /// Compares the ratio with that of an earlier result, and the allocations if they differ.
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
