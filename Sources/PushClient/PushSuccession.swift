import PushCore

/// Matches old routes with new ones at a reload: the waiting pushes of an old route continue on its successor.
enum PushSuccession {
    /// - Returns: the old index for each matched new index. Each appears at most once; unmatched routes end or begin.
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
    /// One credential is for all topics, the other for some.
    private static let limited: @Sendable (Set<String>?, Set<String>?) -> Bool = { ($0 == nil) != ($1 == nil) }
}
