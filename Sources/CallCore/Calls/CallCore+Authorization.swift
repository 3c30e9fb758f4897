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
    /// The most inputs about calls that wait for answers, and, counted separately, the most sessions. A further invite
    /// or session counts as unanswered.
    public var mostWaiting = 1000

    public init() {}
}

/// A question to the backend, and the inputs that wait for its answer: the invite, its repetitions, and the caller's
/// candidates.
final class OpenQuestion {
    /// The most inputs that wait for one answer.
    static let mostWaiting = 32

    let number: UInt64
    let invite: Invite
    let device: Device
    /// In order of arrival; the first is the invite.
    var waiting: [ClientInput]
    var deadline: DeadlineQueue<Deadline>.Token?

    init(number: UInt64, invite: Invite, device: Device, first: ClientInput) {
        self.number = number
        self.invite = invite
        self.device = device
        waiting = [first]
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
        guard question.device.user === device.user else {
            refuseStranger(connection, request)
            return true
        }
        guard question.device === device, question.invite.digest == invite.digest else {
            refuse(connection, request, .conflict, Self.conflictingInvite)
            return true
        }
        if !wait(.requested(connection, request, .owner(.invite(invite))), for: question) {
            refuse(connection, request, .overloaded(retryAfter: .seconds(1)), "The call is being authorized; wait.")
        }
        return true
    }

    /// Asks about the invite. Without room for the question the failure policy decides.
    /// - Returns: false when the invite is not to be handled now.
    func isAuthorized(
        _ invite: Invite, _ device: Device, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        guard let policy = authorization, verdict == nil else { return true }
        guard waitingForAnswers < policy.mostWaiting else {
            counters.hit(.authorizations)
            return isAllowedWithoutAnswer("call", connection, request)
        }
        questionsAsked += 1
        let question = OpenQuestion(
            number: questionsAsked, invite: invite, device: device,
            first: .requested(connection, request, .owner(.invite(invite))))
        question.deadline = deadlines.add(.authorization(invite.call), at: now + policy.timeout)
        openQuestions[invite.call] = question
        waitingForAnswers += 1
        effects.append(
            .authorize(
                AuthorizationQuestion(
                    number: question.number, call: invite.call, caller: device.party, to: invite.to,
                    video: invite.video, custom: invite.custom)))
        return false
    }

    /// - Parameter subject: `call` or `session`, for the message to the client.
    /// - Returns: false after refusing the request.
    func isAllowedWithoutAnswer(_ subject: String, _ connection: ConnectionID, _ request: RequestID) -> Bool {
        // Authorization was switched off meanwhile, or a failure allows the request.
        if authorization?.allowsOnFailure ?? true { return true }
        refuse(
            connection, request, .overloaded(retryAfter: .seconds(2)),
            "The \(subject) cannot be authorized right now; try again shortly.")
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
        }
    }

    /// The answer to a question; a late one is ignored.
    func takeAnswer(_ answer: AuthorizationAnswer, to number: UInt64, about id: CallID) {
        guard let question = openQuestions[id], question.number == number else { return }
        close(question)
        verdict = answer
        // The id was not in the store before the question, and no call of it began since.
        absentCall = id
        for input in question.waiting where directory.session(on: input.connection)?.device === question.device {
            take(input)
        }
        (verdict, absentCall) = (nil, nil)
    }

    func answerOverdue(_ id: CallID) {
        guard let question = openQuestions[id] else { return }
        question.deadline = nil
        takeAnswer(.failed, to: question.number, about: id)
    }

    /// The caller hangs up before the answer: the invite is refused as `call_ended`, and nothing of it is stored.
    /// - Returns: false when no invite of the device waits.
    func withdraws(
        _ id: CallID, _ device: Device, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        guard let question = openQuestions[id], question.device === device else { return false }
        close(question)
        for case .requested(let connection, let request, _) in question.waiting
        where directory.session(on: connection)?.device === device {
            refuse(connection, request, .callEnded(.cancelled), "You hung up before the call was authorized.")
        }
        reply(connection, request, .callState(.ended, .cancelled))
        return true
    }

    /// - Returns: false when no invite of the device waits; otherwise the candidates wait too, or are refused.
    func holdsCandidates(
        _ batch: CallCandidates, _ device: Device, _ connection: ConnectionID, _ request: RequestID?
    ) -> Bool {
        guard let question = openQuestions[batch.call], question.device === device else { return false }
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

    private func wait(_ input: ClientInput, for question: OpenQuestion) -> Bool {
        guard question.waiting.count < OpenQuestion.mostWaiting,
            waitingForAnswers < authorization?.mostWaiting ?? 0
        else { return false }
        question.waiting.append(input)
        waitingForAnswers += 1
        return true
    }

    private func close(_ question: OpenQuestion) {
        cancel(question.deadline)
        question.deadline = nil
        openQuestions[question.invite.call] = nil
        waitingForAnswers -= question.waiting.count
    }
}
