import Foundation

/// The core's share of a processor without somebody who watches the live calls, and with one.
public struct WatchComparison: Codable, Sendable {
    public struct Round: Codable, Sendable {
        /// Shares of one processor, 1 being all of it.
        public let coreAlone: Double
        public let coreWatched: Double
        /// Of the thread that does the watching's work.
        public let adminAlone: Double
        public let adminWatched: Double
        /// Calls made, answered and ended.
        public let callsAlone: Int
        public let callsWatched: Int
        /// Changed calls that the watcher was told.
        public let views: Int
        /// How long was measured with the watcher.
        public let secondsWatched: Double
    }

    /// What watching may cost the core, as a share of one processor.
    public static let limit = 0.01

    /// Calls that were live all the time.
    public let liveCalls: Int
    public internal(set) var rounds: [Round] = []

    /// By the median of the rounds.
    public var cost: Double { Spread(rounds.map { $0.coreWatched - $0.coreAlone }).median }
    public var isWithinLimit: Bool { cost < Self.limit }

    public var text: String {
        func percent(_ value: (Round) -> Double) -> String {
            String(format: "%.2f %%", Spread(rounds.map(value)).median * 100)
        }
        func rate(_ count: (Round) -> Int) -> String {
            String(format: "%.1f", Spread(rounds.map { Double(count($0)) / $0.secondsWatched }).median)
        }
        return """
            \(liveCalls) live calls, \(rate(\.callsWatched)) more made and ended a second, \(rate(\.views)) changes told a second
            core alone \(percent(\.coreAlone)) of a processor, watched \(percent(\.coreWatched))
            admin thread alone \(percent(\.adminAlone)), watched \(percent(\.adminWatched))
            watching costs the core \(String(format: "%.2f %%", cost * 100)) of a processor
            \(isWithinLimit ? "reached" : "NOT reached: 1 % and more")
            """
    }
}
