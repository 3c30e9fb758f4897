import CallVocabulary

/// Decides whether the hook is asked. It opens after ``failuresToOpen`` failures in a row, if no connection was made or
/// if the questions of ``usersToOpen`` users failed: what the backend cannot answer about one user says nothing about
/// the others. While it is open, each of a few users may ask one question in each ``probePause``, until one is answered.
/// Pure.
struct AuthorizationCircuit {
    static let failuresToOpen = 5
    static let usersToOpen = 3
    static let probePause = Duration.seconds(3)
    /// The most questions in a ``probePause``. They are of different users, so that one whose questions always fail keeps
    /// no other from probing.
    static let mostProbes = 4

    /// In a row.
    private(set) var failures = 0
    /// The users of those that reached the backend; at most ``usersToOpen``.
    private var failingUsers: Set<Handle> = []
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

    /// - Parameter isUnsent: whether no connection was made.
    mutating func failed(_ user: Handle, isUnsent: Bool, at now: Instant) {
        failures += 1
        if !isUnsent, failingUsers.count < Self.usersToOpen { failingUsers.insert(user) }
        guard pauseEnd == nil, failures >= Self.failuresToOpen, isUnsent || failingUsers.count >= Self.usersToOpen
        else { return }
        (pauseEnd, probed) = (now + Self.probePause, failingUsers)
    }
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
