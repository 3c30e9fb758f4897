/// One run of one contender.
public struct Sample: Equatable, Codable, Sendable {
    /// Successful operations.
    public let count: Int
    /// From the start of the first operation to the end of the last.
    public let seconds: Double
    /// The CPU time of the requesting process, in user mode and in the kernel.
    public let userSeconds: Double
    public let systemSeconds: Double

    public var rate: Double { Double(count) / seconds }
    /// User and system time of one operation.
    public var cpuMicroseconds: Double { (userSeconds + systemSeconds) * 1_000_000 / Double(count) }
}

public struct Spread: Equatable, Codable, Sendable {
    public let median: Double
    public let min: Double
    public let max: Double

    /// - Parameter values: at least one.
    public init(_ values: [Double]) {
        precondition(!values.isEmpty, "no runs, no spread")
        let sorted = values.sorted()
        let middle = sorted.count / 2
        median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        min = sorted[0]
        max = sorted[sorted.count - 1]
    }
}
