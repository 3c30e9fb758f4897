import CallCore
import CallVocabulary
import DequeModule
import Determinism

/// Decides whether the hook is asked. It opens after ``failuresToOpen`` failures in a row, if the questions of
/// ``usersToOpen`` users failed, or if so many lone questions found no connection: what the backend cannot answer about
/// one user says nothing about the others, and one user's burst may keep a slow backend from accepting connections.
/// While it is open, users whose own questions have failed since the last answer probe, each once in a pause of its own;
/// as users in doubt they have one probe each in flight (``QuestionTurns``).
/// Every other user is asked about as ever, so that failures of some decide nothing for the rest. Pure.
struct AuthorizationCircuit {
    static let failuresToOpen = 5
    static let usersToOpen = 3
    /// After failures of so many the hook is taken for dead, also by users who cannot be asked about for want of a place.
    static let usersUntilDead = 100
    /// Between the probes of one user; the first doubles with each.
    static let probePauses = (first: Duration.seconds(3), longest: Duration.seconds(12))
    /// The most users kept; a further one is asked about.
    static let mostFailing = 4096

    private struct Pause {
        var length = AuthorizationCircuit.probePauses.first
        var end: Instant
    }

    /// In a row.
    private(set) var failures = 0
    /// Those without a connection, beside which no other question of the user was in flight.
    private var lone = 0
    /// The users of the failures.
    private var pauses: [Handle: Pause] = [:]

    var isOpen: Bool {
        failures >= Self.failuresToOpen && (lone >= Self.failuresToOpen || pauses.count >= Self.usersToOpen)
    }
    /// Whether the hook as a whole is judged, and not what it answers about some users.
    var isDead: Bool { isOpen && pauses.count >= Self.usersUntilDead }
    /// ``failures``, if they are so many that the backend is doubted, whoever asked; nil otherwise.
    var inVain: Int? { failures >= Self.failuresToOpen ? failures : nil }

    /// Whether nothing is asked about the user now, because the last question failed.
    func holds(_ user: Handle, at now: Instant) -> Bool {
        guard isOpen, let pause = pauses[user] else { return false }
        return now < pause.end
    }

    /// A question of the user is sent.
    mutating func asked(_ user: Handle, at now: Instant) {
        guard isOpen, let pause = pauses[user] else { return }
        let length = min(pause.length * 2, Self.probePauses.longest)
        pauses[user] = Pause(length: length, end: now + length)
    }

    mutating func succeeded() { self = AuthorizationCircuit() }

    /// - Parameter isLone: whether no connection was made, with no other question of the user in flight.
    mutating func failed(_ user: Handle, isLone: Bool, at now: Instant) {
        failures += 1
        if isLone { lone += 1 }
        if let pause = pauses[user] {
            pauses[user] = Pause(length: pause.length, end: now + pause.length)
        } else if pauses.count < Self.mostFailing {
            pauses[user] = Pause(end: now + Self.probePauses.first)
        }
    }
}

/// Questions to the hook: a bounded number in flight, and those that wait for their turn. The core bounds the latter. A
/// user may have as many in flight as are free for the others, alone at most half. Users whose questions wait take turns,
/// with one question each. A question that is not answered at once makes room for another one: many users about whom the
/// hook never answers do not make the others wait. Users whose questions failed or were slow, until one of their own is
/// answered quickly, come last. They have at most half of the places together, and one in flight each; the one whose
/// question failed the longest time ago is next, so that those who are never answered do not keep the others back. Pure.
struct QuestionTurns {
    /// The most in flight that began less than ``promptness`` ago.
    static let mostInFlight = 32
    /// The most in flight.
    static let mostOpen = 256
    /// The most of one user, while more than ``mostInFlight`` are in flight.
    static let mostOfEach = 2
    static let promptness = Duration.milliseconds(100)

    struct Waiting {
        let question: AuthorizationHook.Question
        /// When it is too late to send it.
        let latest: Instant
        /// When the core stops waiting for the answer.
        let end: Instant
        /// Its place in ``QuestionTurns/prompt``, in flight, or in ``QuestionTurns/promptOfDoubted``.
        fileprivate var prompt: DeadlineQueue<Handle>.Token?
        fileprivate var isDoubted = false

        fileprivate init(_ question: AuthorizationHook.Question, latest: Instant, end: Instant) {
            self.question = question
            self.latest = latest
            self.end = end
        }
    }

    /// Of users with questions that wait, the oldest first.
    private var lines: [Handle: Deque<Waiting>] = [:]
    /// These users, the next one first.
    private var turns: Deque<Handle> = []
    private var places = SharedPlaces()
    /// The questions in flight that began less than ``promptness`` ago, without those of users in doubt.
    private var prompt = DeadlineQueue<Handle>()
    private var promptOfDoubted = DeadlineQueue<Handle>()

    var inFlight: Int { places.count }
    private var promptCount: Int { prompt.count + promptOfDoubted.count }
    /// When a question that waits may be sent, or is too late; nil without one.
    var nextDue: Instant? {
        guard let latest = lines.values.compactMap({ $0.first?.latest }).min() else { return nil }
        return [latest, prompt.next, promptOfDoubted.next].compactMap(\.self).min()
    }

    mutating func add(_ question: AuthorizationHook.Question, latest: Instant, until end: Instant) {
        let user = question.user
        if lines[user] == nil { turns.append(user) }
        lines[user, default: []].append(Waiting(question, latest: latest, end: end))
    }

    /// Takes the next question, which is in flight from now on; nil when none may be sent.
    mutating func next(at now: Instant) -> Waiting? {
        while prompt.popDue(now: now) != nil {}
        while promptOfDoubted.popDue(now: now) != nil {}
        guard inFlight < Self.mostOpen, promptCount < Self.mostInFlight, let index = nextTurn else { return nil }
        let user = turns.remove(at: index)
        guard var waiting = lines[user]?.popFirst() else { preconditionFailure("a question waits for a turn") }
        if lines[user]?.isEmpty == false { turns.append(user) } else { lines[user] = nil }
        places.take(of: user, at: now)
        waiting.isDoubted = places.isDoubted(user)
        let end = now + Self.promptness
        waiting.prompt = waiting.isDoubted ? promptOfDoubted.add(user, at: end) : prompt.add(user, at: end)
        return waiting
    }

    private var nextTurn: Int? {
        let share = inFlight < Self.mostInFlight ? Self.mostInFlight : Self.mostOfEach
        let first = turns.firstIndex {
            !places.isDoubted($0) && places.hasRoom(for: $0, of: Self.mostInFlight, taken: promptCount, share: share)
        }
        guard first == nil, promptOfDoubted.count < Self.mostInFlight / 2 else { return first }
        var oldest: (index: Int, doubt: Instant)?
        for (index, user) in turns.enumerated() where places.hasRoom(for: user, of: Self.mostOpen, share: 1) {
            guard let doubt = places.lastDoubt(of: user) else { continue }
            if oldest.map({ doubt < $0.doubt }) ?? true { oldest = (index, doubt) }
        }
        return oldest?.index
    }

    /// Removes and returns the questions that it is too late to send.
    mutating func overdue(at now: Instant) -> [Waiting] {
        var overdue: [Waiting] = []
        for user in turns {
            while let waiting = lines[user]?.first, waiting.latest <= now {
                overdue.append(waiting)
                lines[user]?.removeFirst()
            }
            if lines[user]?.isEmpty == true { lines[user] = nil }
        }
        let left = lines
        if !overdue.isEmpty { turns.removeAll { left[$0] == nil } }
        return overdue
    }

    mutating func ended(_ waiting: Waiting) {
        if let token = waiting.prompt {
            if waiting.isDoubted { promptOfDoubted.cancel(token) } else { prompt.cancel(token) }
        }
        places.release(of: waiting.question.user)
    }

    /// A question of the user failed, or was slow.
    mutating func doubt(_ user: Handle, at now: Instant) { places.doubt(user, at: now) }

    /// A question of the user had a valid answer quickly.
    mutating func trust(_ user: Handle) { places.trust(user) }

    func inFlight(of user: Handle) -> Int { places.count(of: user) }
}

/// Which failures of the hook get a log line: the first, one with another reason than the line before, and the one that
/// opens the circuit. A backend that fails and answers in turns makes no line for each. Pure.
struct FailureLines {
    private enum Line: Hashable { case failing(AuthorizationHook.Subject), open(AuthorizationHook.Subject) }

    private var lines = LineInterval<Line>()
    /// The last reason that the log has, until an answer.
    private var told: [AuthorizationHook.Subject: String] = [:]

    mutating func tells(_ reason: String, of subject: AuthorizationHook.Subject, opens: Bool, at now: Instant) -> Bool {
        guard opens || told[subject] != reason else { return false }
        guard lines.allows(opens ? .open(subject) : .failing(subject), at: now) else { return false }
        told[subject] = reason
        return true
    }

    /// - Returns: whether the log has a failure since the last answer.
    mutating func answered(_ subject: AuthorizationHook.Subject) -> Bool { told.removeValue(forKey: subject) != nil }

    mutating func forget() { told = [:] }
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
