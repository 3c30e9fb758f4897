import CallVocabulary

/// The users behind `to` and behind the targets that the call was forwarded to, as resolved at the time.
struct Callees {
    private static let longList = 16
    /// The most handles that the record of a call keeps which has rung nobody, whoever they are.
    static let few = 16

    /// Each handle once, in ring order; aliases and groups are resolved. Some may be unknown to the directory.
    private(set) var handles: [Handle]
    /// The index of the first handle of the present target.
    private(set) var first = 0
    /// Whether the present target's handles are rung one after the other, not all at once.
    private(set) var isHunted: Bool
    /// For each handle, how long after the one before it is rung; nil for the server's hunt step. Empty without delays.
    /// The step of a target's first handle is from the start of that target, and nil in a hunt.
    private(set) var steps: [Duration?]
    /// The present target is one handle, and not a list or group.
    private(set) var isOne: Bool
    /// Whether `to` alone determines the handles: no alias or group was resolved.
    private(set) var isTold: Bool
    /// The index of each handle, for lists that are slow to search.
    private var positions: [Handle: Int] = [:]

    /// When the first handle of the present target is due after the target's start, if its handles have delays from
    /// that start; nil for a hunt.
    var firstDelay: Duration? { steps.isEmpty ? nil : steps[first] }

    init(of target: CallTarget, in directory: Directory) {
        (handles, isHunted, steps, isOne) = ([], false, [], false)
        switch target {
        case .user(let handle):
            let user = directory.resolve(handle)
            (handles, isOne, isTold) = ([user], true, user == handle)
        case .users(let list):
            handles = Self.resolved(list, directory)
            isTold = handles == Self.unique(list)
        case .group(let name):
            isTold = false
            if let group = directory.group(name) { take(group, directory) }
        }
        index()
    }

    private mutating func take(_ group: CallGroup, _ directory: Directory) {
        let members = group.members.map { (handle: directory.resolve($0), delay: group.delays[$0]) }
        isHunted = group.strategy == .hunt || !group.delays.isEmpty
        guard !group.delays.isEmpty else {
            handles = Self.unique(members.map(\.handle))
            return
        }
        var seen: Set<Handle> = []
        var turns = members.filter { seen.insert($0.handle).inserted }
        switch group.strategy {
        case .hunt: steps = [nil] + turns.dropFirst().map(\.delay)
        case .all:
            // Stable, so that members of one delay keep their order.
            turns = turns.enumerated().sorted {
                ($0.element.delay ?? .zero, $0.offset) < ($1.element.delay ?? .zero, $1.offset)
            }.map(\.element)
            var time = Duration.zero
            for turn in turns {
                steps.append((turn.delay ?? .zero) - time)
                time = turn.delay ?? .zero
            }
        }
        handles = turns.map(\.handle)
    }

    /// Restores the callees from the call's record.
    init(_ record: CallRecord) {
        let told: [Handle]
        switch record.to {
        case .user(let handle): told = [handle]
        case .users(let list): told = Self.unique(list)
        case .group: told = []
        }
        handles = record.members ?? told
        first = record.forwards.last?.firstMember ?? 0
        isHunted = record.hunt != nil
        steps = record.huntSteps
        isOne = if case .user = record.forwards.last?.to ?? record.to { true } else { false }
        isTold = record.members == nil
        index()
    }

    /// Makes `next` the present target. Its handles that this call has called before are left out, and so is the caller.
    /// - Returns: false when no handle is left; then nothing is changed.
    mutating func forward(to next: Callees, butFor caller: Handle) -> Bool {
        let fresh = next.handles.indices.filter { index in
            next.handles[index] != caller && position(of: next.handles[index]) == nil
        }
        guard !fresh.isEmpty else { return false }
        first = handles.count
        if !steps.isEmpty || !next.steps.isEmpty {
            steps += [Duration?](repeating: nil, count: first - steps.count)
            steps += next.steps(of: fresh)
        }
        handles += fresh.map { next.handles[$0] }
        (isHunted, isOne, isTold) = (next.isHunted, next.isOne, false)
        index()
        return true
    }

    /// Keeps some of the handles of a call that is over.
    mutating func keep(_ isKept: (Handle) -> Bool) {
        handles = handles.filter(isKept)
        (first, isHunted, steps, isOne, isTold) = (0, false, [], false, false)
        positions = [:]
        index()
    }

    /// The steps between some of the handles; delays from the start of the target stay as they are.
    private func steps(of some: [Int]) -> [Duration?] {
        guard !steps.isEmpty else { return [Duration?](repeating: nil, count: some.count) }
        guard firstDelay != nil else { return [nil] + some.dropFirst().map { steps[$0] } }
        var start = 0
        return some.map { index in
            defer { start = index + 1 }
            return steps[start...index].reduce(.zero) { $0 + ($1 ?? .zero) }
        }
    }

    private mutating func index() {
        guard handles.count >= Self.longList else { return }
        positions = Dictionary(uniqueKeysWithValues: zip(handles, handles.indices))
    }

    /// The handle's place in ring order; nil for a handle that is not called.
    func position(of handle: Handle) -> Int? {
        handles.count < Self.longList ? handles.firstIndex(of: handle) : positions[handle]
    }

    private static func resolved(_ handles: [Handle], _ directory: Directory) -> [Handle] {
        unique(handles.map(directory.resolve))
    }

    private static func unique(_ handles: [Handle]) -> [Handle] {
        var seen: Set<Handle> = []
        return handles.filter { seen.insert($0).inserted }
    }
}
