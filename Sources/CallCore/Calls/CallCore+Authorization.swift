import CallVocabulary
import Determinism

/// How a backend authorizes invites, and sessions if they are included.
public struct AuthorizationPolicy: Equatable, Sendable {
    /// How long an invite or a session waits for the answer.
    public var timeout = Duration.milliseconds(800)
    /// Whether an invite or a session without an answer is allowed.
    public var allowsOnFailure = false
    /// Whether sessions are authorized too.
    public var includesSessions = false
    /// The most invites that wait for answers, and, each counted separately, the most further messages about them and the
    /// most sessions. Whatever has no place is refused. A user has a small share of each; all users together whose
    /// questions failed or took long have half, until one of their own is answered in time.
    public var mostWaiting = 1000

    public init() {}
}

/// A question to the backend, and the inputs that wait for its answer: the invite, its repetitions, the caller's
/// candidates, and its other requests about the call.
final class OpenQuestion {
    /// The most inputs that wait for one answer.
    static let mostWaiting = 32

    let number: UInt64
    let invite: Invite
    let caller: DeviceKey
    /// ``AnswerRoom/isCrowded(by:)`` when it was asked.
    let isCrowded: Bool
    let askedAt: Instant
    /// In order of arrival; the first is the invite.
    var waiting: [ClientInput]
    var deadline: DeadlineQueue<Deadline>.Token?

    init(
        number: UInt64, invite: Invite, caller: DeviceKey, isCrowded: Bool, askedAt: Instant, first: ClientInput
    ) {
        self.number = number
        self.invite = invite
        self.caller = caller
        self.isCrowded = isCrowded
        self.askedAt = askedAt
        waiting = [first]
    }
}

/// The places of what waits for a backend's answers: questions, and apart from them further messages about invites that
/// wait, which take no question's place.
struct AnswerRoom {
    /// With so many questions waiting a user is no longer allowed what has no answer: a burst may keep a slow backend
    /// from answering. One user alone has as many in flight.
    static let crowd = 16
    /// The most questions of a user, and the most further messages.
    static let share = (questions: 32, messages: 100)

    private var questions = SharedPlaces()
    private var messages = SharedPlaces()

    var count: Int { questions.count + messages.count }

    func hasRoom(for user: Handle, of most: Int) -> Bool {
        questions.hasRoom(for: user, of: most, share: Self.share.questions)
    }

    func hasMessageRoom(for user: Handle, of most: Int) -> Bool {
        messages.hasRoom(for: user, of: most, share: Self.share.messages)
    }

    /// Whether the user's own questions leave no room for a further one, and not those of others or the doubts.
    func isFull(by user: Handle, of most: Int) -> Bool {
        questions.count(of: user) > 0 && !questions.isWithinShare(user, of: most, share: Self.share.questions)
    }

    func isCrowded(by user: Handle) -> Bool { questions.count(of: user) >= Self.crowd }

    mutating func asked(_ user: Handle, at now: Instant) { questions.take(of: user, at: now) }

    mutating func addMessage(of user: Handle, at now: Instant) { messages.take(of: user, at: now) }

    /// - Parameter isDoubtful: whether the question failed, or took long.
    mutating func close(of user: Handle, messages number: Int = 0, isDoubtful: Bool = false, at now: Instant) {
        questions.release(of: user)
        if number > 0 { messages.release(number, of: user) }
        guard isDoubtful else { return }
        questions.doubt(user, at: now)
        messages.doubt(user, at: now)
    }

    /// A question of the user was answered in time.
    mutating func trust(_ user: Handle) {
        questions.trust(user)
        messages.trust(user)
    }
}

/// Asks a backend before an invite is accepted. Nothing is stored and nobody is told until the answer is there; then the
/// invite is handled as if it arrived now, with the answer. Inputs of sessions that have lost their connection meanwhile
/// have no effect: their clients repeat them.
extension CallCore {
    /// Whether the invite waits for an answer, and not for the first time.
    /// - Returns: false when it is to be handled now.
    func joinsQuestion(
        _ invite: Invite, _ device: Device, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        guard let question = openQuestions[invite.call] else { return false }
        guard question.caller.user == device.key.user else {
            refuseStranger(connection, request)
            return true
        }
        guard question.caller == device.key, question.invite.digest == invite.digest else {
            refuse(connection, request, .conflict, Self.conflictingInvite)
            return true
        }
        wait(connection, request, .owner(.invite(invite)), for: question)
        return true
    }

    /// Asks about the invite.
    /// - Returns: false when the invite is not to be handled now.
    func isAuthorized(
        _ invite: Invite, _ device: Device, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        guard let policy = authorization, verdict == nil else { return true }
        guard answerRoom.hasRoom(for: device.key.user, of: policy.mostWaiting) else {
            refuseWithoutRoom(
                isOwn: answerRoom.isFull(by: device.key.user, of: policy.mostWaiting), "call", connection, request)
            return false
        }
        questionsAsked += 1
        let question = OpenQuestion(
            number: questionsAsked, invite: invite, caller: device.key,
            isCrowded: answerRoom.isCrowded(by: device.key.user), askedAt: now,
            first: .requested(connection, request, .owner(.invite(invite))))
        schedule(.authorization(invite.call), at: now + policy.timeout, in: &question.deadline)
        openQuestions[invite.call] = question
        answerRoom.asked(device.key.user, at: now)
        effects.append(
            .authorize(
                AuthorizationQuestion(
                    number: question.number, call: invite.call, caller: device.party, to: invite.to,
                    video: invite.video, custom: invite.custom)))
        return false
    }

    /// Without room for a question the request is refused under each policy: others filled the room, or the user did,
    /// and neither means that the backend fails.
    /// - Parameters:
    ///   - isOwn: ``AnswerRoom/isFull(by:of:)``.
    ///   - subject: as below.
    func refuseWithoutRoom(
        isOwn: Bool, _ subject: String, _ connection: ConnectionID, _ request: RequestID
    ) {
        counters.hit(.authorizations)
        if isOwn { refuseCrowded(connection, request) } else { refuseUnasked(subject, connection, request) }
    }

    func refuseUnasked(_ subject: String, _ connection: ConnectionID, _ request: RequestID) {
        refuse(
            connection, request, .overloaded(retryAfter: .seconds(2)),
            "The \(subject) cannot be authorized right now: the backend is slow, overloaded or down; try again soon.")
    }

    func refuseCrowded(_ connection: ConnectionID, _ request: RequestID) {
        refuse(
            connection, request, .rateLimited(retryAfter: .seconds(1)),
            "Too many of your requests wait to be authorized; try again shortly.")
    }

    /// What the answer to a question counts as.
    func counted(_ answer: AuthorizationAnswer, isCrowded: Bool) -> AuthorizationAnswer {
        switch answer {
        case .allowed, .refused, .crowded: answer
        // Authorization may have been switched off meanwhile.
        case .failed, .unasked: authorization == nil ? .failed : isCrowded ? .crowded : answer
        }
    }

    /// - Parameter subject: `call` or `session`, for the message to the client.
    /// - Returns: false after refusing the request.
    func isAllowedWithoutAnswer(_ subject: String, _ connection: ConnectionID, _ request: RequestID) -> Bool {
        // Authorization was switched off meanwhile, or a failure allows the request.
        if authorization?.allowsOnFailure ?? true { return true }
        refuseUnasked(subject, connection, request)
        return false
    }

    /// What the answer changes in the invite that is being handled.
    /// - Returns: nil when the answer refuses it, and the caller was told.
    func permit(_ connection: ConnectionID, _ request: RequestID) -> CallPermit? {
        switch verdict {
        case nil: return CallPermit()
        case .allowed(let permit): return permit
        case .refused(let reason):
            refuse(connection, request, .forbidden, reason)
            return nil
        case .failed: return isAllowedWithoutAnswer("call", connection, request) ? CallPermit() : nil
        case .crowded:
            refuseCrowded(connection, request)
            return nil
        case .unasked:
            refuseUnasked("call", connection, request)
            return nil
        }
    }

    /// Ends the doubts about the user after an answer in time, whatever the question was about.
    /// - Returns: whether the question failed, or took long. It may have waited for half of its time because of others.
    func judge(_ answer: AuthorizationAnswer, of user: Handle, since askedAt: Instant) -> Bool {
        switch answer {
        case .failed: return true
        // It was not asked.
        case .crowded, .unasked: return false
        case .allowed, .refused:
            if let authorization, now - askedAt > authorization.timeout * 3 / 4 { return true }
            answerRoom.trust(user)
            sessionAnswerRoom.trust(user)
            return false
        }
    }

    /// The answer to a question; a late one is ignored.
    func takeAnswer(_ answer: AuthorizationAnswer, to number: UInt64, about id: CallID) {
        guard let question = openQuestions[id], question.number == number else { return }
        close(question, isDoubtful: judge(answer, of: question.caller.user, since: question.askedAt))
        verdict = counted(answer, isCrowded: question.isCrowded)
        // The id was not in the store before the question, and no call of it began since.
        absentCall = id
        for input in question.waiting where isOpen(input.connection, of: question.caller) { take(input) }
        (verdict, absentCall) = (nil, nil)
    }

    /// A draining server begins no call, whatever the answers will be.
    func refuseWaitingInvites() {
        for question in openQuestions.values.sorted(by: { $0.number < $1.number }) {
            takeAnswer(.allowed(CallPermit()), to: question.number, about: question.invite.call)
        }
    }

    func answerOverdue(_ id: CallID) {
        guard let question = openQuestions[id] else { return }
        question.deadline = nil
        takeAnswer(.failed, to: question.number, about: id)
    }

    /// A request of the caller's device about the call waits for the answer. A hang-up withdraws the invite instead.
    /// - Returns: false when no invite of the device waits.
    func waitsForAnswer(
        _ command: CallRequest, _ device: Device, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        guard let question = openQuestions[command.call], question.caller == device.key else { return false }
        if case .hangup(_, let reason) = command {
            withdraw(question, reason == .hangup ? .cancelled : reason.endReason, connection, request)
        } else {
            wait(connection, request, .call(command), for: question)
        }
        return true
    }

    /// The invite is refused as `call_ended`, and nothing of it is stored.
    private func withdraw(
        _ question: OpenQuestion, _ reason: EndReason, _ connection: ConnectionID, _ request: RequestID
    ) {
        close(question)
        for input in question.waiting where isOpen(input.connection, of: question.caller) {
            guard let request = input.request else { continue }
            // Candidates for a call that is over are dropped.
            if case .notified = input {
                reply(input.connection, request, .done)
            } else {
                refuse(input.connection, request, .callEnded(reason), "You hung up before the call was authorized.")
            }
        }
        reply(connection, request, .callState(.ended, reason))
    }

    /// - Returns: false when no invite of the device waits; otherwise the candidates wait too, or are refused.
    func holdsCandidates(
        _ batch: CallCandidates, _ device: Device, _ connection: ConnectionID, _ request: RequestID?
    ) -> Bool {
        guard let question = openQuestions[batch.call], question.caller == device.key else { return false }
        if !wait(.notified(connection, request, .candidates(batch)), for: question) {
            counters.candidatesRefused += UInt64(batch.candidates.count)
            refuse(
                connection, request,
                SignalError(
                    .overloaded(retryAfter: .seconds(1)), "The call is being authorized; send them again shortly.",
                    call: batch.call))
        }
        return true
    }

    private func isOpen(_ connection: ConnectionID, of caller: DeviceKey) -> Bool {
        directory.session(on: connection)?.device.key == caller
    }

    /// The request waits, or is refused if too many wait already.
    private func wait(
        _ connection: ConnectionID, _ request: RequestID, _ command: ClientRequest, for question: OpenQuestion
    ) {
        if !wait(.requested(connection, request, command), for: question) {
            refuse(connection, request, .overloaded(retryAfter: .seconds(1)), "The call is being authorized; wait.")
        }
    }

    private func wait(_ input: ClientInput, for question: OpenQuestion) -> Bool {
        // Questions stay open when authorization is switched off.
        guard question.waiting.count < OpenQuestion.mostWaiting,
            answerRoom.hasMessageRoom(
                for: question.caller.user, of: (authorization ?? AuthorizationPolicy()).mostWaiting)
        else { return false }
        question.waiting.append(input)
        answerRoom.addMessage(of: question.caller.user, at: now)
        return true
    }

    private func close(_ question: OpenQuestion, isDoubtful: Bool = false) {
        cancel(question.deadline)
        question.deadline = nil
        openQuestions[question.invite.call] = nil
        answerRoom.close(
            of: question.caller.user, messages: question.waiting.count - 1, isDoubtful: isDoubtful, at: now)
    }
}
