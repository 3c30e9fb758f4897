import Determinism

/// The number of objects the core holds in memory at one moment.
public struct CoreCensus: Equatable, Sendable {
    /// Live calls, and calls that ended or were looked up recently.
    public var calls: Int
    /// Legs of those calls.
    public var legs: Int
    public var pushes: Int
    /// Pushes about missed calls without an outcome.
    public var notices: Int
    /// Sessions with a socket, and those that can still be resumed.
    public var sessions: Int
    /// Pending deadlines.
    public var deadlines: Int
    /// Inputs that wait for the store to look something up.
    public var lookUps: Int
    /// Users, aliases and groups, also names that were looked up and that nobody has.
    public var users: Int
    /// Those of them that nothing in memory needs.
    public var idleUsers: Int
    /// Inputs that wait for a backend to authorize an invite or a session.
    public var authorizations: Int
}

extension CoreCensus {
    /// The census of an empty core.
    public static let empty = Self(
        calls: 0, legs: 0, pushes: 0, notices: 0, sessions: 0, deadlines: 0, lookUps: 0, users: 0,
        idleUsers: 0, authorizations: 0)
}

extension CallCore {
    /// Takes constant time.
    public var census: CoreCensus {
        CoreCensus(
            calls: calls.count, legs: legCount, pushes: pushes.count, notices: notices.count,
            sessions: heldSessions, deadlines: deadlines.count + tombstones.count, lookUps: lookUpCount,
            users: directory.userCount, idleUsers: directory.idle.count,
            authorizations: answerRoom.count + sessionAnswerRoom.count)
    }
}
