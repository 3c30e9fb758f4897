import CallCore
import CallVocabulary
import Crypto
import EventLoop
import Logging
import OutgoingHTTP
import SignalProtocol
import StoreInterface
import Synchronization
import TLS
import WebhookClient

/// The backend that authorizes invites and sessions.
public struct AuthorizationConfiguration: Equatable, Sendable {
    public var address: WebAddress
    /// Each signs the requests.
    public var secrets: [WebhookSecret]
    public var policy: AuthorizationPolicy

    public init(address: WebAddress, secrets: [WebhookSecret], policy: AuthorizationPolicy = AuthorizationPolicy()) {
        self.address = address
        self.secrets = secrets
        self.policy = policy
    }
}

/// Asks the backend the core's questions, over HTTP. It may be asked from any thread, and answers the core's mailbox.
final class AuthorizationHook: Sendable {
    /// Each has a circuit of its own: when thousands of clients open sessions after a restart, time-outs of those
    /// questions must not decide about invites.
    enum Subject: String, CaseIterable {
        case invite, session
    }

    enum Question: Sendable {
        case invite(AuthorizationQuestion)
        case session(ConnectionID, SessionQuestion)

        var subject: Subject {
            switch self {
            case .invite: .invite
            case .session: .session
            }
        }

        /// The caller, or the user of the session.
        var user: Handle {
            switch self {
            case .invite(let question): question.caller.user
            case .session(_, let question): question.user
            }
        }

        /// - Parameter hasCall: false leaves out the call's id, for the key of a cached answer.
        func body(hasCall: Bool = true) -> [UInt8] {
            switch self {
            case .invite(let question): AuthorizationBody.encode(question, hasCall: hasCall)
            case .session(_, let question): AuthorizationBody.encode(question)
            }
        }

        /// The `webhook-id`: for an invite the call's id, for a session a random one.
        var id: String {
            switch self {
            case .invite(let question): "\(question.call)"
            case .session: "\(SessionID.random())"
            }
        }

        /// The reason for the client when the backend's refusal has none.
        var refusal: String {
            switch self {
            case .invite: "The call is not allowed."
            case .session: "The session is not allowed."
            }
        }

        /// The answer for the core.
        func input(_ answer: AuthorizationAnswer) -> CoreInput {
            switch self {
            case .invite(let question): .authorized(question.call, number: question.number, answer)
            case .session(let connection, let question):
                .sessionAuthorized(connection, number: question.number, answer)
            }
        }
    }

    /// The source of an answer, for metrics.
    enum Outcome: String, CaseIterable {
        case allowed, denied, failed
        /// Answered from a recent answer of the backend.
        case cached
        /// Not asked: the user's last question failed and the circuit is open, the question's turn came too late, or there
        /// is no configuration any more.
        case skipped
    }

    struct Figures: Sendable {
        var counts: [Outcome: UInt64] = [:]
        /// Questions of one user that had no answer, by ``BusiestUser``.
        var failedOfOneUser: UInt64 = 0
        /// Questions whose circuit is open.
        var open: Set<Subject> = []
        /// When the last question failed, of those whose last one was alone and found no connection, and of those of which
        /// so many users have had no answer that the hook is taken for dead.
        var unanswered: [Subject: Instant] = [:]
        /// How many questions in a row had no valid answer, by question, where they are so many that nobody may get one.
        var inVain: [Subject: Int] = [:]
        /// The status with which the backend refuses everybody, by question.
        var refusing: [Subject: Int] = [:]
        /// The valid answers since the last question without one, by question; none where all were answered.
        var answersInARow: [Subject: Int] = [:]
        /// Whether an invite or a session without an answer is refused.
        var isDenying = false
        /// Times from a request to its answer or failure.
        var latency = LatencyCounts()
    }

    private let loop: EventLoop
    private let asker: LoopBound<Asker>
    private let shared: SharedFigures

    private final class SharedFigures: Sendable {
        let value = Mutex(Figures())
    }

    /// - Parameter answer: gets each answer, on the loop.
    init(
        _ configuration: AuthorizationConfiguration?, loop: EventLoop, clock: ServerClock, log: Logger,
        answer: @escaping @Sendable (Question, AuthorizationAnswer) -> Void
    ) throws {
        self.loop = loop
        shared = SharedFigures()
        let tls = try TLSClientContext.webClient.get()
        asker = LoopBound(
            Asker(
                configuration, loop: loop,
                client: WebClient(loop: loop, tls: tls, userAgent: CallServer.userAgent), clock: clock, log: log,
                report: { [shared] change in shared.value.withLock { change(&$0) } }, answer: answer), on: loop)
    }

    var figures: Figures { shared.value.withLock { $0 } }

    func ask(_ question: Question) { loop.execute { [asker] in asker.value.ask(question) } }

    /// Applies to further questions.
    func replace(with configuration: AuthorizationConfiguration?) {
        loop.execute { [asker] in asker.value.replace(with: configuration) }
    }

    func stop() { loop.execute { [asker] in asker.value.stop() } }
}

/// Confined to the loop. The core bounds the number of open questions, and the time of each.
private final class Asker {
    private var configuration: AuthorizationConfiguration?
    private let loop: EventLoop
    private let client: WebClient
    private let clock: ServerClock
    private let log: Logger
    private let report: ((inout AuthorizationHook.Figures) -> Void) -> Void
    private let answer: (AuthorizationHook.Question, AuthorizationAnswer) -> Void
    private var circuits: [AuthorizationHook.Subject: AuthorizationCircuit] = [:]
    /// By question, so that the sessions after a restart hold up no invite.
    private var turns: [AuthorizationHook.Subject: QuestionTurns] = [:]
    /// Fires when a question that waits may be sent, or is too late.
    private var timers: [AuthorizationHook.Subject: LoopTimer] = [:]
    private var hasStopped = false
    private var recent = RecentAnswers()
    private var lines = FailureLines()
    private var answersInARow: [AuthorizationHook.Subject: Int] = [:]
    private var failingUsers = BusiestUser()
    /// When the last question failed, and whether it found no connection, with no other of its user in flight.
    private var lastFailures: [AuthorizationHook.Subject: (at: Instant, isLone: Bool)] = [:]
    /// Those with which the backend refused, for one log line each.
    private var refusingStatuses: Set<Int> = []
    private var statusRefusals: [AuthorizationHook.Subject: StatusRefusals] = [:]

    init(
        _ configuration: AuthorizationConfiguration?, loop: EventLoop, client: WebClient, clock: ServerClock,
        log: Logger,
        report: @escaping ((inout AuthorizationHook.Figures) -> Void) -> Void,
        answer: @escaping (AuthorizationHook.Question, AuthorizationAnswer) -> Void
    ) {
        self.configuration = configuration
        self.loop = loop
        self.client = client
        self.clock = clock
        self.log = log
        self.report = report
        self.answer = answer
        noteConfiguration()
    }

    private func noteConfiguration() {
        let isDenying = configuration.map { !$0.policy.allowsOnFailure } ?? false
        report { ($0.open, $0.unanswered, $0.inVain, $0.refusing, $0.isDenying) = ([], [:], [:], [:], isDenying) }
    }

    func replace(with configuration: AuthorizationConfiguration?) {
        guard configuration != self.configuration else { return }
        self.configuration = configuration
        circuits = [:]
        recent = RecentAnswers()
        lines.forget()
        lastFailures = [:]
        refusingStatuses = []
        statusRefusals = [:]
        noteConfiguration()
    }

    func ask(_ question: AuthorizationHook.Question) {
        let now = clock.now()
        if let known = recent.find(RecentAnswers.key(question), at: now) { return settle(question, known, .cached) }
        guard let configuration else { return settle(question, .failed, .skipped) }
        let subject = question.subject
        if circuits[subject]?.holds(question.user, at: now) == true { return settle(question, .failed, .skipped) }
        // The backend has at least half of the time for each: otherwise those that waited long would fail, and open the
        // circuit of a backend that is only busy.
        let timeout = configuration.policy.timeout
        turns[subject, default: QuestionTurns()].add(question, latest: now + timeout / 2, until: now + timeout)
        sendNext(subject)
    }

    func stop() {
        hasStopped = true
        timers = [:]
        client.close()
    }

    /// Sends the questions whose turn it is.
    private func sendNext(_ subject: AuthorizationHook.Subject) {
        let now = clock.now()
        for late in turns[subject]?.overdue(at: now) ?? [] { skip(late.question, at: now) }
        while let next = turns[subject]?.next(at: now) {
            if let configuration, circuits[subject]?.holds(next.question.user, at: now) != true {
                circuits[subject]?.asked(next.question.user, at: now)
                send(next, configuration, for: next.end - now)
            } else {
                turns[subject]?.ended(next)
                settle(next.question, .failed, .skipped)
            }
        }
        if let due = turns[subject]?.nextDue { startTimer(subject, after: max(.milliseconds(1), due - now)) }
    }

    private func startTimer(_ subject: AuthorizationHook.Subject, after delay: Duration) {
        guard !hasStopped else { return }
        let timer = timers[subject] ?? LoopTimer(loop: loop) { [weak self] in self?.sendNext(subject) }
        timers[subject] = timer
        timer.start(after: delay)
    }

    /// The question found no place in time. That others hold the places says nothing about the hook, and that the hook was
    /// slow about the user before, nothing about the number of the user's questions.
    private func skip(_ question: AuthorizationHook.Question, at now: Instant) {
        let circuit = circuits[question.subject]
        let isJudged = circuit?.isDead == true || circuit?.holds(question.user, at: now) == true
        settle(question, isJudged ? .failed : .unasked, .skipped)
    }

    /// Sends a question that is in flight by now.
    private func send(
        _ waiting: QuestionTurns.Waiting, _ configuration: AuthorizationConfiguration, for patience: Duration
    ) {
        let question = waiting.question
        let isFirst = turns[question.subject]?.inFlight(of: question.user) == 1
        let body = question.body()
        let fields = configuration.secrets.fields(
            id: question.id, timestamp: clock.wallTime().wholeSeconds, body: body)
        let request = WebRequest(
            .post, configuration.address, fields: fields, body: body, patience: patience,
            longestAnswer: AuthorizationBody.longestAnswer, isRepeatable: true)
        let slow = configuration.policy.timeout / 4
        let start = ContinuousClock.now
        client.send(request) { [weak self] result in
            guard let self else { return }
            report { $0.latency.add(start.duration(to: .now)) }
            let isLone = isFirst && turns[question.subject]?.inFlight(of: question.user) == 1
            turns[question.subject]?.ended(waiting)
            answered(result, question, isSlow: start.duration(to: .now) > slow, isLone: isLone)
            sendNext(question.subject)
        }
    }

    /// - Parameters:
    ///   - isSlow: whether the hook took more than a quarter of the time.
    ///   - isLone: whether no other question of the user was in flight at the beginning and at the end.
    private func answered(
        _ result: Result<WebAnswer, WebFailure>, _ question: AuthorizationHook.Question, isSlow: Bool, isLone: Bool
    ) {
        switch result {
        case .failure(let failure):
            failed(failure.description, question, isLone: isLone && failure.isUnsent)
        case .success(let web) where web.isRefusal:
            noteAnswer(to: question, isSlow: isSlow)
            statusRefusals[question.subject, default: StatusRefusals()].refused(question.user, status: web.status)
            if refusingStatuses.insert(web.status).inserted {
                var metadata = Self.about(question)
                metadata["status"] = .stringConvertible(web.status)
                log.warning("the authorization hook refuses with a status, not with a JSON object", metadata: metadata)
            }
            settle(question, .refused(question.refusal), .denied)
        case .success(let web) where !(200...299).contains(web.status):
            let advice = web.status == 401 ? ": it does not accept the signature; compare authorize.secret_file" : ""
            failed("the response has the status \(web.status)\(advice)", question)
        case .success(let web):
            do throws(SignalError) {
                let found = try AuthorizationBody.decode(web.body, refusal: question.refusal)
                if found.lifetime > .zero {
                    let key = RecentAnswers.key(question)
                    recent.insert(key, found.answer, of: question.user, until: clock.now() + found.lifetime)
                }
                noteAnswer(to: question, isSlow: isSlow)
                statusRefusals[question.subject, default: StatusRefusals()].decided()
                if case .refused = found.answer {
                    settle(question, found.answer, .denied)
                } else {
                    settle(question, found.answer, .allowed)
                }
            } catch {
                failed("the response: \(error.message.printable(upTo: 200))", question)
            }
        }
    }

    /// The answer is valid.
    private func noteAnswer(to question: AuthorizationHook.Question, isSlow: Bool) {
        if isSlow {
            turns[question.subject]?.doubt(question.user, at: clock.now())
        } else {
            // The core ends its doubts likewise, whatever the question was about.
            for subject in AuthorizationHook.Subject.allCases { turns[subject]?.trust(question.user) }
        }
        circuits[question.subject] = nil
        lastFailures[question.subject] = nil
        if lines.answered(question.subject) {
            log.notice("the authorization hook answers again", metadata: Self.about(question))
        }
    }

    /// - Parameter isLone: as in ``AuthorizationCircuit/failed(_:isLone:at:)``.
    private func failed(_ reason: String, _ question: AuthorizationHook.Question, isLone: Bool = false) {
        var circuit = circuits[question.subject] ?? AuthorizationCircuit()
        let wasOpen = circuit.isOpen
        circuit.failed(question.user, isLone: isLone, at: clock.now())
        circuits[question.subject] = circuit
        turns[question.subject]?.doubt(question.user, at: clock.now())
        lastFailures[question.subject] = (clock.now(), isLone)
        var metadata = Self.about(question)
        metadata["reason"] = .string(reason)
        let opens = !wasOpen && circuit.isOpen
        guard lines.tells(reason, of: question.subject, opens: opens, at: clock.now()) else {
            return settle(question, .failed, .failed)
        }
        if !opens {
            log.warning("the authorization hook does not answer as it should", metadata: metadata)
        } else {
            metadata["failures"] = .stringConvertible(circuit.failures)
            log.error(
                "the authorization hook keeps failing; until it answers, authorize.on_failure decides at once for the users concerned",
                metadata: metadata)
        }
        settle(question, .failed, .failed)
    }

    private func settle(
        _ question: AuthorizationHook.Question, _ answer: AuthorizationAnswer, _ outcome: AuthorizationHook.Outcome
    ) {
        if [.failed, .crowded, .unasked].contains(answer) { failingUsers.add(question.user, at: clock.now()) }
        switch outcome {
        case .allowed, .denied: answersInARow[question.subject]? += 1
        case .failed, .skipped: answersInARow[question.subject] = 0
        case .cached: break
        }
        report { figures in
            figures.counts[outcome, default: 0] += 1
            figures.failedOfOneUser = failingUsers.total
            let open = Set(circuits.filter { $0.value.isOpen }.keys)
            figures.open = open
            figures.unanswered = lastFailures.filter { $0.value.isLone || circuits[$0.key]?.isDead == true }
                .mapValues { $0.at }
            figures.inVain = circuits.compactMapValues(\.inVain)
            figures.refusing = statusRefusals.compactMapValues(\.ofAll)
            figures.answersInARow = answersInARow
        }
        self.answer(question, answer)
    }

    private static func about(_ question: AuthorizationHook.Question) -> Logger.Metadata {
        ["question": .string(question.subject.rawValue)]
    }
}

@available(*, unavailable)
extension Asker: Sendable {}

extension WebAnswer {
    /// Whether the status is the backend's decision. 401 is about the server's signature, and 408 a time-out: both are
    /// failures.
    fileprivate var isRefusal: Bool { (400...499).contains(status) && status != 401 && status != 408 }
}
