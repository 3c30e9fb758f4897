import Foundation

/// What a push benchmark has found.
public struct PushComparison: Codable, Sendable {
    /// What the push client has to reach, measured against h2load.
    public struct Limits: Codable, Sendable {
        public var lowestRate = 0.70
        public var highestCPU = 2.0

        public init() {}
    }

    /// Who is compared.
    public enum Name: String, Codable, Sendable, CaseIterable {
        case h2load
        /// A pool with its machine over HTTP/2 on its loop, given requests that are ready: h2load's work.
        case pushClient = "push client"
        /// The project's HTTP/2 connections with nothing on top: how much of the push client's cost is below it.
        case connections = "HTTP/2 alone"
    }

    public typealias Samples = [Name: [Sample]]

    /// All runs of one contender, one a round.
    public struct Contender: Codable, Sendable {
        public let name: String
        public let samples: [Sample]
        public let rate: Spread
        public let cpuMicroseconds: Spread

        init(_ name: Name, _ samples: Samples) {
            let samples = samples[name] ?? []
            self.name = name.rawValue
            self.samples = samples
            rate = Spread(samples.map(\.rate))
            cpuMicroseconds = Spread(samples.map(\.cpuMicroseconds))
        }
    }

    /// One contender's figure over another's: of the medians, and of the rounds with the least and the greatest.
    public struct Ratio: Codable, Sendable {
        public let ofMedians: Double
        public let min: Double
        public let max: Double

        init(_ ours: Contender, to theirs: Contender, _ figure: (Sample) -> Double) {
            let (ours, theirs) = (ours.samples.map(figure), theirs.samples.map(figure))
            ofMedians = Spread(ours).median / Spread(theirs).median
            let rounds = Spread(zip(ours, theirs).map { $0 / $1 })
            min = rounds.min
            max = rounds.max
        }
    }

    public let work: PushWork.Size
    public let limits: Limits
    public let h2load: Contender
    public let pushClient: Contender
    public let connections: Contender
    /// The push client's to h2load's.
    public let rateRatio: Ratio
    public let cpuRatio: Ratio

    /// - Parameter samples: as many of each contender, in the order of the rounds; at least one.
    public init(work: PushWork.Size, samples: Samples, limits: Limits = Limits()) {
        self.work = work
        self.limits = limits
        h2load = Contender(.h2load, samples)
        pushClient = Contender(.pushClient, samples)
        connections = Contender(.connections, samples)
        rateRatio = Ratio(pushClient, to: h2load, \.rate)
        cpuRatio = Ratio(pushClient, to: h2load, \.cpuMicroseconds)
    }

    /// What the push client has not reached, in words; empty when it has.
    public var failures: [String] {
        var failures: [String] = []
        if rateRatio.ofMedians < limits.lowestRate {
            failures.append("the rate is \(Self.ratio(rateRatio.ofMedians)) of h2load's, below \(limits.lowestRate)")
        }
        if cpuRatio.ofMedians > limits.highestCPU {
            failures.append(
                "a push takes \(Self.ratio(cpuRatio.ofMedians)) times h2load's CPU, over \(limits.highestCPU)")
        }
        return failures
    }

    /// A table, and the verdict.
    public var text: String {
        var lines = [work.description, "", Self.row("", "pushes/s", "min..max", "CPU µs/push", "min..max", "user+sys")]
        for contender in [h2load, pushClient, connections] { lines.append(Self.row(of: contender)) }
        lines += [
            "",
            """
            push client: the pool, its machine and HTTP/2, on requests that are ready, as h2load's are
            HTTP/2 alone: the same requests without pool and machine
            """,
            "",
            "push client to h2load: rate \(Self.describe(rateRatio)), CPU per push \(Self.describe(cpuRatio))",
        ]
        lines += failures.isEmpty ? ["reached"] : failures.map { "NOT reached: \($0)" }
        return lines.joined(separator: "\n")
    }

    private static func row(of contender: Contender) -> String {
        let user = Spread(contender.samples.map { $0.userSeconds * 1_000_000 / Double($0.count) }).median
        let system = Spread(contender.samples.map { $0.systemSeconds * 1_000_000 / Double($0.count) }).median
        let rate = contender.rate
        let cpu = contender.cpuMicroseconds
        return row(
            contender.name, String(format: "%.0f", rate.median), String(format: "%.0f..%.0f", rate.min, rate.max),
            String(format: "%.1f", cpu.median), String(format: "%.1f..%.1f", cpu.min, cpu.max),
            String(format: "%.1f+%.1f", user, system))
    }

    private static func row(_ name: String, _ columns: String...) -> String {
        let width = 16
        return columns.reduce(name.padding(toLength: width, withPad: " ", startingAt: 0)) { line, column in
            line + String(repeating: " ", count: max(1, width - column.count)) + column
        }
    }

    private static func describe(_ ratio: Ratio) -> String {
        "\(Self.ratio(ratio.ofMedians)) (rounds \(Self.ratio(ratio.min))..\(Self.ratio(ratio.max)))"
    }

    private static func ratio(_ value: Double) -> String { String(format: "%.2f", value) }
}
