import Logging
import Synchronization

/// The level from which on lines are written: one for all loggers made from it, and changeable while they are in use.
/// Any thread.
public final class LogLevels: Sendable {
    /// From the lowest up.
    private static let all = Logger.Level.allCases
    /// The position in ``all``.
    private let position: Atomic<Int>

    public init(_ level: Logger.Level) {
        position = Atomic(Self.position(of: level))
    }

    /// Lines of this level and above are written.
    public var level: Logger.Level { Self.all[position.load(ordering: .relaxed)] }

    /// Takes effect with the next line of each logger.
    public func set(_ level: Logger.Level) {
        position.store(Self.position(of: level), ordering: .relaxed)
    }

    private static func position(of level: Logger.Level) -> Int {
        // It is among its own `allCases`.
        all.firstIndex(of: level)!
    }
}
