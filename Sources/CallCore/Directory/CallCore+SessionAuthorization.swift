import CallVocabulary
import Determinism

/// A question to the backend about a session, and the request that waits for its answer.
struct OpenSessionQuestion {
    let number: UInt64
    /// `session.open`.
    let input: ClientInput
    let deadline: DeadlineQueue<Deadline>.Token
}

/// Asks a backend before a session opens. Nothing is stored until the answer is there; then the request is handled as if
/// it arrived now, with the answer. A session that is resumed was authorized when it opened. The wake token of a push
/// is for a call that was authorized.
extension CallCore {
    /// Whether the session may open now: it need not be authorized, or the backend has allowed it.
    /// - Returns: false when the request was refused, or waits for an answer.
    func isAuthorized(
        _ open: SessionOpen, _ grant: SessionGrant, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        switch verdict {
        case .allowed: return true
        case .refused(let reason):
            refuse(connection, request, .forbidden, reason)
            return false
        case .failed: return isAllowedWithoutAnswer("session", connection, request)
        case nil: break
        }
        guard let policy = authorization, policy.includesSessions else { return true }
        guard openSessionQuestions.count < policy.mostWaiting else {
            counters.hit(.authorizations)
            return isAllowedWithoutAnswer("session", connection, request)
        }
        questionsAsked += 1
        openSessionQuestions[connection] = OpenSessionQuestion(
            number: questionsAsked, input: .opened(connection, request, open, grant),
            deadline: deadlines.add(.sessionAuthorization(connection), at: now + policy.timeout))
        effects.append(
            .authorizeSession(
                connection, SessionQuestion(number: questionsAsked, user: grant.user, device: open.device)))
        return false
    }

    /// The answer to a question; a late one is ignored.
    func takeAnswer(_ answer: AuthorizationAnswer, to number: UInt64, aboutSessionOn connection: ConnectionID) {
        guard let question = openSessionQuestions[connection], question.number == number else { return }
        forgetQuestion(on: connection)
        verdict = answer
        take(question.input)
        verdict = nil
    }

    func answerOverdue(onSession connection: ConnectionID) {
        guard let question = openSessionQuestions[connection] else { return }
        takeAnswer(.failed, to: question.number, aboutSessionOn: connection)
    }

    /// The connection is lost, or its question is answered.
    func forgetQuestion(on connection: ConnectionID) {
        if let question = openSessionQuestions.removeValue(forKey: connection) { cancel(question.deadline) }
    }
}
