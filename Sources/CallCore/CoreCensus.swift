import Determinism

/// How much the core holds in memory at one moment.
public struct CoreCensus: Equatable, Sendable {
    /// Live calls, and those that have ended or were looked up a short time ago.
    public var calls: Int
    /// Devices' parts in those calls.
    public var legs: Int
    public var pushes: Int
    /// Sessions with a socket, and those that can still be resumed.
    public var sessions: Int
    /// What is going to fall due.
    public var deadlines: Int
    /// Inputs that wait for the store to look a call up.
    public var lookUps: Int
}

extension CallCore {
    /// Takes as long however much that is.
    public var census: CoreCensus {
        CoreCensus(
            calls: calls.count, legs: legCount, pushes: pushes.count, sessions: heldSessions,
            deadlines: deadlines.count, lookUps: lookUpCount)
    }
}
