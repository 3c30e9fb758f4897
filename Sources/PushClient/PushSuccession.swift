import PushCore

/// Which of the routes that were there goes on as which of those that are to be: the pushes that wait there wait on.
enum PushSuccession {
    /// - Returns: the index of an old route by that of a new one. Each is there once at most; the others begin or end.
    static func pair(_ old: [PushRoute], with new: [PushRoute]) -> [Int: Int] {
        var successors: [Int: Int] = [:]
        var free = Set(old.indices)
        for fits in [sameTopics, sharedTopic, limited] {
            for (index, route) in new.enumerated() where successors[index] == nil {
                let match = free.sorted().first { other in
                    old[other].provider == route.provider && old[other].environment == route.environment
                        && fits(old[other].topics, route.topics)
                }
                guard let match else { continue }
                successors[index] = match
                free.remove(match)
            }
        }
        return successors
    }

    private static let sameTopics: @Sendable (Set<String>?, Set<String>?) -> Bool = { $0 == $1 }
    private static let sharedTopic: @Sendable (Set<String>?, Set<String>?) -> Bool = { old, new in
        guard let old, let new else { return false }
        return !old.isDisjoint(with: new)
    }
    /// A key for all topics in the place of one for some, or the other way round.
    private static let limited: @Sendable (Set<String>?, Set<String>?) -> Bool = { ($0 == nil) != ($1 == nil) }
}
