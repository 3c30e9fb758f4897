import CallVocabulary

/// Two or three machines with one program and one database: one process is the home, the others stand by.
final class Realm {
    let nodes: [RealmNode]
    var database: SharedDisk
    var hasPaused = false

    init(_ nodes: Int, latest: Instant) {
        self.nodes = (0..<nodes).map { RealmNode(index: $0) }
        database = SharedDisk(latest: latest)
    }

    func node(of process: ServerProcess) -> RealmNode? {
        process.term.map { nodes[$0.node] }
    }
}

@available(*, unavailable)
extension Realm: Sendable {}

/// One machine of a realm, with the loop that keeps or seeks the lease.
final class RealmNode {
    enum Role {
        case down
        case standby
        case home(ServerProcess)
    }

    let index: Int
    /// The machine's clock less the database's, in milliseconds.
    var clockOffset: Int64 = 0
    var role = Role.standby
    /// The number of its starts; events of an earlier life are ignored.
    var life = 0
    /// SIGSTOP: what happens to it meanwhile is held, and happens when it continues.
    var isPaused = false
    var held: [Event] = []
    /// Nothing passes between it and the database until then.
    var cutUntil: Int64 = 0
    /// The statement about the lease that waits for its answer, and when it was sent.
    var question = 0
    var askedAt: Int64?

    init(index: Int) { self.index = index }

    func clock(at time: Int64) -> Int64 { time + clockOffset }

    var home: ServerProcess? { if case .home(let process) = role { process } else { nil } }
    var isStandby: Bool { if case .standby = role { true } else { false } }
}

@available(*, unavailable)
extension RealmNode: Sendable {}

/// The number of a take-over, and an id: a primary database that is lost may have given the number before.
struct TermKey: Equatable {
    var epoch: Int
    var id: Int
}

/// A process's lease, as it counts it with its own monotonic clock. The clocks of all machines run equally fast, so the
/// simulation's time stands for each of them.
struct Term {
    enum Standing {
        case held
        /// About to end, or over, and not taken by another process as far as is known.
        case inDoubt
    }

    /// Nothing is released within this time of the end.
    static let margin: Int64 = 300
    static let renewal = 500

    let node: Int
    let key: TermKey
    private var until: Int64

    /// - Parameter sentAt: when the statement was sent that took the lease.
    init(node: Int, key: TermKey, sentAt: Int64) {
        self.node = node
        self.key = key
        until = sentAt + SharedDisk.lease - Self.margin
    }

    mutating func renewed(sentAt: Int64) { until = max(until, sentAt + SharedDisk.lease - Self.margin) }

    func standing(at time: Int64) -> Standing { time < until ? .held : .inDoubt }
}

/// An event of a realm. Those of a node carry its life, and those of a process its number.
enum RealmEvent {
    /// The node renews its lease, or looks whether it may take it.
    case tick(node: Int, life: Int)
    /// A statement reaches the database.
    case statement(Statement)
    /// The database's answer to a statement about the lease.
    case answered(node: Int, life: Int, question: Int, LeaseAnswer)
    /// The answer to a commit; nil when the connection broke.
    case appended(process: Int, attempt: Int, SharedDisk.Appended?)
    case retry(process: Int, attempt: Int)
    case recover(process: Int)
    /// Time to see whether the oldest commit waits for too long.
    case look(process: Int)
    /// A process that stops has waited long enough for the database.
    case leave(process: Int)
    case resume(node: Int)
    case boot(node: Int)
    /// A client has heard nothing for long.
    case silence(link: Int)
    /// A client waits no longer for its session.
    case giveUp(link: Int)
}

enum Statement {
    case take(Ask)
    case renew(TermKey, Ask)
    case append(Commit)

    struct Ask {
        var node: Int
        var life: Int
        var question: Int
        var sentAt: Int64
    }

    var node: Int {
        switch self {
        case .take(let ask), .renew(_, let ask): ask.node
        case .append(let commit): commit.node
        }
    }
}

enum LeaseAnswer {
    /// - Parameter time: of the database.
    case taken(TermKey, sentAt: Int64, time: Int64)
    case notTaken
    case renewed(sentAt: Int64)
    case lost
}

extension Event {
    /// Whether it happens again and again, and does not count as a step.
    var isRoutine: Bool {
        switch self {
        case .realm(.tick), .realm(.statement(.renew)), .realm(.answered): true
        default: false
        }
    }

    /// The process that it is an event of; nil for those of a client, of the network and of the provider.
    var process: Int? {
        switch self {
        case .toCore(let number, _), .turn(let number), .committed(let number), .toPush(let number, _),
            .prepared(let number, _), .signed(let number, _), .lookUp(let number, _, _), .settle(let number, _),
            .unseen(let number), .history(let number, _, _, _), .authorize(let number, _), .listed(let number),
            .drained(let number), .stopped(let number), .connected(let number, _), .toMachine(let number, _):
            number
        case .realm(.appended(let number, _, _)), .realm(.retry(let number, _)), .realm(.recover(let number)),
            .realm(.look(let number)), .realm(.leave(let number)):
            number
        case .realm, .start, .request, .delivery, .toServer, .toPhone, .act, .trouble: nil
        }
    }
}
