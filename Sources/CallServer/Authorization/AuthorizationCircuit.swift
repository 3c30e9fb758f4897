import CallVocabulary
import DequeModule

/// Decides whether the hook is asked. It opens after ``failuresToOpen`` failures in a row, if the questions of
/// ``usersToOpen`` users failed, or if so many lone questions found no connection: what the backend cannot answer about
/// one user says nothing about the others, and one user's burst may keep a slow backend from accepting connections.
/// While it is open, each of a few users may ask one question in each ``probePause``, until one is answered. Pure.
struct AuthorizationCircuit {
    static let failuresToOpen = 5
    static let usersToOpen = 3
    static let probePause = Duration.seconds(3)
    /// The most questions in a ``probePause``. They are of different users, so that one whose questions always fail keeps
    /// no other from probing.
    static let mostProbes = 4

    /// In a row.
    private(set) var failures = 0
    /// Their users; at most ``usersToOpen``.
    private var failingUsers: Set<Handle> = []
    /// Those without a connection, beside which no other question of the user was in flight.
    private var lone = 0
    /// The end of the present ``probePause``; nil while the circuit is closed.
    private var pauseEnd: Instant?
    /// The users who have asked in it.
    private var probed: Set<Handle> = []

    var isOpen: Bool { pauseEnd != nil }
    /// ``failures``, if they are so many that the backend is doubted, whoever asked; nil otherwise.
    var inVain: Int? { failures >= Self.failuresToOpen ? failures : nil }

    mutating func admits(_ user: Handle, at now: Instant) -> Bool {
        guard let pauseEnd else { return true }
        if now >= pauseEnd { (self.pauseEnd, probed) = (now + Self.probePause, []) }
        guard probed.count < Self.mostProbes else { return false }
        return probed.insert(user).inserted
    }

    mutating func succeeded() { self = AuthorizationCircuit() }

    /// - Parameter isLone: whether no connection was made, with no other question of the user in flight.
    mutating func failed(_ user: Handle, isLone: Bool, at now: Instant) {
        failures += 1
        if isLone { lone += 1 }
        if failingUsers.count < Self.usersToOpen { failingUsers.insert(user) }
        guard pauseEnd == nil, failures >= Self.failuresToOpen,
            lone >= Self.failuresToOpen || failingUsers.count >= Self.usersToOpen
        else { return }
        (pauseEnd, probed) = (now + Self.probePause, failingUsers)
    }
}

/// Questions to the hook: a bounded number in flight, and those that wait for their turn. The core bounds the latter. A
/// user may have as many in flight as are free for the others, alone at most half. Users whose questions wait take
/// turns, with one question each. Pure.
struct QuestionTurns {
    static let mostInFlight = 32

    struct Waiting {
        let question: AuthorizationHook.Question
        /// When the core stops waiting for the answer.
        let end: Instant
    }

    private struct Line {
        var waiting: Deque<Waiting> = []
        var inFlight = 0
    }

    /// Those of users with questions.
    private var lines: [Handle: Line] = [:]
    /// The users with questions that wait, the next one first.
    private var turns: Deque<Handle> = []
    private(set) var inFlight = 0

    mutating func add(_ question: AuthorizationHook.Question, until end: Instant) {
        let user = question.user
        lines[user, default: Line()].waiting.append(Waiting(question: question, end: end))
        if lines[user]?.waiting.count == 1 { turns.append(user) }
    }

    /// Takes the next question, which is in flight from now on; nil when none may be sent. Call ``ended(_:)`` for one that
    /// has waited too long.
    mutating func next() -> Waiting? {
        let free = Self.mostInFlight - inFlight
        // At most ``mostInFlight`` users have questions in flight, so that few are passed over.
        guard free > 0, let index = turns.firstIndex(where: { inFlight(of: $0) < free }) else { return nil }
        let user = turns.remove(at: index)
        guard let waiting = lines[user]?.waiting.popFirst() else { preconditionFailure("a question waits for a turn") }
        if lines[user]?.waiting.isEmpty == false { turns.append(user) }
        began(waiting.question)
        return waiting
    }

    /// A question is in flight. The probes of an open circuit wait for no turn.
    mutating func began(_ question: AuthorizationHook.Question) {
        inFlight += 1
        lines[question.user, default: Line()].inFlight += 1
    }

    mutating func ended(_ question: AuthorizationHook.Question) {
        inFlight -= 1
        lines[question.user]?.inFlight -= 1
        if let line = lines[question.user], line.inFlight == 0, line.waiting.isEmpty { lines[question.user] = nil }
    }

    func inFlight(of user: Handle) -> Int { lines[user]?.inFlight ?? 0 }
}

/// Refusals by an HTTP status, such as 404, without a decision of the backend between them. Each counts as a decision;
/// if the backend decides nothing else, `authorize.url` is probably wrong. Pure.
struct StatusRefusals: Equatable, Sendable {
    /// How many users must be refused in a row: few before any decision, many after one. One user's refusals say nothing
    /// about the others.
    static let usersToDoubt = (undecided: 3, decided: 20)
    /// The statuses that say that there is nothing at the URL, and how many of them in a row suffice, whoever asked.
    static let absent: Set<Int> = [404, 405, 410]
    static let absentToDoubt = 5

    /// The last one.
    private(set) var status: Int?
    private var users: Set<Handle> = []
    private var absences = 0
    private var hasDecided = false

    mutating func refused(_ user: Handle, status: Int) {
        self.status = status
        absences = Self.absent.contains(status) ? absences + 1 : 0
        if users.count < Self.usersToDoubt.decided { users.insert(user) }
    }

    mutating func decided() { (status, users, absences, hasDecided) = (nil, [], 0, true) }

    /// The last status, if so many questions were refused in a row that `authorize.url` is doubted; nil otherwise.
    var ofAll: Int? {
        let few = hasDecided ? Self.usersToDoubt.decided : Self.usersToDoubt.undecided
        return absences >= Self.absentToDoubt || users.count >= few ? status : nil
    }
}
