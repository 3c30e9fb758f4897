/// Several users who are called under one name: `{"group": name}`.
public struct CallGroup: Equatable, Sendable {
    /// How its members are rung.
    public enum Strategy: String, Sendable, CaseIterable {
        /// Every member at once.
        case all
        /// One member after the other in the order of the list, fifteen seconds apart; those rung before ring on.
        case hunt
    }

    /// The most members a group has.
    public static let mostMembers = 1000

    /// Follows the rules of a handle, and is a name of its own: a user may be called the same.
    public var name: String
    public var strategy: Strategy
    /// Users or aliases, in the order they are rung.
    public var members: [Handle]

    public init(name: String, strategy: Strategy, members: [Handle]) {
        self.name = name
        self.strategy = strategy
        self.members = members
    }
}
