import CallVocabulary

/// The users behind `to`, as resolved at the time of the invite.
struct Callees {
    private static let longList = 16

    /// Each handle once, in ring order; aliases and groups are resolved. Some may be unknown to the directory.
    let handles: [Handle]
    /// Whether they are rung one after the other, not all at once.
    let isHunted: Bool
    /// `to` was one handle, and not a list or group.
    let isOne: Bool
    /// Whether `to` alone determines the handles: no alias or group was resolved.
    let isTold: Bool
    /// The index of each handle, for lists that are slow to search.
    private let positions: [Handle: Int]

    init(of target: CallTarget, in directory: Directory) {
        switch target {
        case .user(let handle):
            let user = directory.resolve(handle)
            self.init(handles: [user], isHunted: false, isOne: true, isTold: user == handle)
        case .users(let list):
            let users = Self.resolved(list, directory)
            self.init(handles: users, isHunted: false, isOne: false, isTold: users == Self.unique(list))
        case .group(let name):
            let group = directory.group(name)
            self.init(
                handles: Self.resolved(group?.members ?? [], directory), isHunted: group?.strategy == .hunt,
                isOne: false, isTold: false)
        }
    }

    /// Restores the callees from the call's record.
    init(_ record: CallRecord) {
        let told: [Handle]
        var isOne = false
        switch record.to {
        case .user(let handle):
            told = [handle]
            isOne = true
        case .users(let list): told = Self.unique(list)
        case .group: told = []
        }
        self.init(
            handles: record.members ?? told, isHunted: record.hunt != nil, isOne: isOne, isTold: record.members == nil)
    }

    private init(handles: [Handle], isHunted: Bool, isOne: Bool, isTold: Bool) {
        self.handles = handles
        self.isHunted = isHunted
        self.isOne = isOne
        self.isTold = isTold
        positions =
            handles.count < Self.longList
            ? [:] : Dictionary(uniqueKeysWithValues: zip(handles, handles.indices))
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
