import Foundation

public struct PushComparison: Codable, Sendable {
    /// The push client's targets, as multiples of h2load's figures.
    private static let lowestRate = 0.70
    private static let highestCPU = 2.0

    public enum Name: String, Codable, Sendable, CaseIterable {
        case h2load
        /// A pool with its machine over HTTP/2 on its loop. Its requests are prepared, like h2load's.
        case pushClient = "push client"
        /// The project's HTTP/2 connections alone: the part of the push client's cost below it.
        case connections = "HTTP/2 alone"
    }

    public typealias Samples = [Name: [Sample]]

    /// All runs of one contender, one for each round.
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

    public let work: PushWork.Size
    public let h2load: Contender
    public let pushClient: Contender
    public let connections: Contender
    /// The push client's figure divided by h2load's, for each round.
    public let rateRatio: Spread
    public let cpuRatio: Spread

    /// - Parameter samples: equally many of each contender, in the order of the rounds; at least one.
    public init(work: PushWork.Size, samples: Samples) {
        self.work = work
        h2load = Contender(.h2load, samples)
        pushClient = Contender(.pushClient, samples)
        connections = Contender(.connections, samples)
        let rounds = zip(pushClient.samples, h2load.samples)
        rateRatio = Spread(rounds.map { $0.rate / $1.rate })
        cpuRatio = Spread(rounds.map { $0.cpuMicroseconds / $1.cpuMicroseconds })
    }

    /// The missed targets, in words; empty on success.
    public var failures: [String] {
        var failures: [String] = []
        if rateRatio.median < Self.lowestRate {
            failures.append("the rate is \(Self.text(rateRatio.median)) of h2load's, below \(Self.lowestRate)")
        }
        if cpuRatio.median > Self.highestCPU {
            failures.append(
                "a push takes \(Self.text(cpuRatio.median)) times h2load's CPU, over \(Self.highestCPU)")
        }
        return failures
    }

    public var text: String {
        let columns = ["", "pushes/s", "min..max", "CPU µs/push", "min..max", "user+sys"]
        var lines = [work.description, ""]
        lines += TextTable.lines([columns] + [h2load, pushClient, connections].map(Self.row))
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

    private static func row(of contender: Contender) -> [String] {
        let user = Spread(contender.samples.map { $0.userSeconds * 1_000_000 / Double($0.count) }).median
        let system = Spread(contender.samples.map { $0.systemSeconds * 1_000_000 / Double($0.count) }).median
        let (rate, cpu) = (contender.rate, contender.cpuMicroseconds)
        return [
            contender.name, String(format: "%.0f", rate.median), String(format: "%.0f..%.0f", rate.min, rate.max),
            String(format: "%.1f", cpu.median), String(format: "%.1f..%.1f", cpu.min, cpu.max),
            String(format: "%.1f+%.1f", user, system),
        ]
    }

    private static func describe(_ ratio: Spread) -> String {
        "\(text(ratio.median)) (rounds \(text(ratio.min))..\(text(ratio.max)))"
    }

    private static func text(_ ratio: Double) -> String { Decimals.text(ratio, 2) }
}
