/// A group of users called under one name: `{"group": name}`.
public struct CallGroup: Equatable, Sendable {
    /// How its members are rung.
    public enum Strategy: String, Sendable, CaseIterable {
        /// Every member at once, or with a delay of its own.
        case all
        /// One member after the other in list order, 15 seconds apart by default; earlier ones keep ringing.
        case hunt
    }

    /// The most members a group has.
    public static let mostMembers = 1000

    /// Follows the rule for handles. Groups and users have separate namespaces.
    public var name: String
    public var strategy: Strategy
    /// Users or aliases, in the order they are rung.
    public var members: [Handle]
    /// When a member is rung, if other than by the strategy. For ``Strategy/all``: after the start of the call. For
    /// ``Strategy/hunt``: after the member before.
    public var delays: [Handle: Duration]

    /// The longest delay.
    public static let longestDelay = Duration.seconds(600)

    public init(name: String, strategy: Strategy, members: [Handle], delays: [Handle: Duration] = [:]) {
        self.name = name
        self.strategy = strategy
        self.members = members
        self.delays = delays
    }
}

extension CallGroup: CustomStringConvertible {
    /// The members in their order, each with its delay: a dictionary has another order in each process.
    public var description: String {
        let turns = members.map { member in delays[member].map { "\(member) after \($0)" } ?? member.text }
        return "\(name) (\(strategy.rawValue)): \(turns.joined(separator: ", "))"
    }
}
