import CallVocabulary
import Determinism

/// What an input needs of the store.
public struct Wanted: Equatable, Sendable {
    /// A call that may be over, with its legs, pushes and absences.
    public var call: CallID?
    /// Users and aliases; with an alias also the user behind it.
    public var names: [Handle] = []
    /// Groups, with their members.
    public var groups: [Handle] = []
    /// Push tokens whose holder is not in memory, or that have none.
    public var tokens: [PushToken.Address] = []

    public init(
        call: CallID? = nil, names: [Handle] = [], groups: [Handle] = [], tokens: [PushToken.Address] = []
    ) {
        self.call = call
        self.names = names
        self.groups = groups
        self.tokens = tokens
    }

    var isEmpty: Bool { call == nil && names.isEmpty && groups.isEmpty && tokens.isEmpty }
    /// How much the store reads, about.
    var size: Int { max(1, names.count + groups.count + tokens.count) }

    /// Adds what `other` wants.
    mutating func merge(_ other: Wanted) {
        call = call ?? other.call
        Self.merge(other.names, into: &names)
        Self.merge(other.groups, into: &groups)
        Self.merge(other.tokens, into: &tokens)
    }

    /// Takes linear time: a list has a thousand names.
    private static func merge<Element: Hashable>(_ new: [Element], into elements: inout [Element]) {
        var known = Set(elements)
        elements += new.filter { known.insert($0).inserted }
    }
}

/// What the store has of what is wanted, in one consistent state.
public struct Found: Equatable, Sendable {
    /// nil when the store has no such call.
    public var call: StoredCall?
    /// At least the entries of all names and groups, of the parties of the call, and of the users that hold one of the tokens.
    public var entries: [DirectoryEntry]

    public init(call: StoredCall? = nil, entries: [DirectoryEntry] = []) {
        self.call = call
        self.entries = entries
    }
}

extension StoredCall {
    /// The users whose devices have a part in the call, each once, in a fixed order.
    public var parties: [Handle] {
        var seen: Set<Handle> = []
        return ([call.caller.user] + legs.map(\.device.user)).filter { seen.insert($0).inserted }
    }
}

/// Inputs that wait for the store wait in lanes, each in its order of arrival. An input waits behind an earlier one of
/// its lane.
enum Lane: Hashable {
    /// Requests about one call.
    case call(CallID)
    /// All requests on a connection, behind its `session.open`, or a request by plain HTTP.
    case connection(ConnectionID)
    /// Changes of push tokens by the session on a connection.
    case tokens(ConnectionID)
    /// The next target of a call that was not answered.
    case forwarding(CallID)
    case administration
    /// A user with a device that was not seen for long.
    case unseen(Handle)
}

/// An input that waits.
struct Deferred {
    enum Work {
        case client(ClientInput)
        case administered(AdminRequestID, AdminCommand)
        /// Forwards the call, or ends it with this reason.
        case forwarding(CallID, EndReason, by: Party?)
        /// Drops the user's devices that were not seen for long.
        case ageing(Handle)
    }

    let work: Work
    /// The device of the session that sent it; nil for an input without a session.
    let device: DeviceKey?
    /// The backend's answer with which the input was handled.
    let verdict: AuthorizationAnswer?
    /// What it takes of its user's share: a list of names that the store reads takes more than one name, and so does a
    /// call with its legs.
    var size = 1
}

/// The inputs of a lane, and the question to the store that the first of them waits for.
struct OpenLookUp {
    let number: UInt64
    let wanted: Wanted
    /// The generation that the store's tables were known to contain when the question was asked.
    let settled: UInt64
    /// In order of arrival.
    var inputs: [Deferred]
    /// How often the same was asked before.
    var attempts = 0
    /// The end of this half of the store's time. The inputs are put off at the end of the second.
    var until: Instant
    var isSecondHalf = false
    var deadline: DeadlineQueue<Deadline>.Token?
}
