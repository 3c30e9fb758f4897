import Determinism

/// How much the core holds in memory at one moment.
public struct CoreCensus: Equatable, Sendable {
    /// Live calls, and those that have ended or were looked up a short time ago.
    public var calls: Int
    /// Devices' parts in those calls.
    public var legs: Int
    public var pushes: Int
    /// Pushes about missed calls that are not settled yet.
    public var notices: Int
    /// Sessions with a socket, and those that can still be resumed.
    public var sessions: Int
    /// What is going to fall due.
    public var deadlines: Int
    /// Inputs that wait for the store to look a call up.
    public var lookUps: Int
}

extension CoreCensus {
    /// Of a core that holds nothing.
    public static let empty = Self(
        calls: 0, legs: 0, pushes: 0, notices: 0, sessions: 0, deadlines: 0, lookUps: 0)
}

extension CallCore {
    /// Takes as long however much that is.
    public var census: CoreCensus {
        CoreCensus(
            calls: calls.count, legs: legCount, pushes: pushes.count, notices: notices.count,
            sessions: heldSessions, deadlines: deadlines.count + tombstones.count, lookUps: lookUpCount)
    }
}
