import CallVocabulary
import Determinism

/// A `session.open` that waits for the backend's answer.
struct OpenSessionQuestion {
    let number: UInt64
    let device: DeviceKey
    /// `session.open`.
    let input: ClientInput
    let deadline: DeadlineQueue<Deadline>.Token
}

/// Asks a backend before a session opens. Nothing is stored until the answer arrives; then the core handles the request
/// as if it arrived at that moment. A resume asks nothing, because the session was authorized when it opened. Neither
/// does the wake token of a push, because its call was authorized.
extension CallCore {
    /// Whether the session may open now: the backend has allowed it, or need not be asked.
    /// - Returns: false when the request was refused, or waits for an answer.
    func isAuthorized(
        _ open: SessionOpen, _ grant: SessionGrant, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        switch verdict {
        case .allowed: return true
        case .refused(let reason):
            refuse(connection, request, .forbidden, reason)
            return false
        case .failed: return isAllowedWithoutAnswer(open, grant, connection, request)
        case nil: break
        }
        guard let policy = authorization, policy.includesSessions else { return true }
        guard openSessionQuestions.count < policy.mostWaiting else {
            counters.hit(.authorizations)
            return isAllowedWithoutAnswer(open, grant, connection, request)
        }
        questionsAsked += 1
        openSessionQuestions[connection] = OpenSessionQuestion(
            number: questionsAsked, device: DeviceKey(user: grant.user, device: open.device.id),
            input: .opened(connection, request, open, grant),
            deadline: deadlines.add(.sessionAuthorization(connection), at: now + policy.timeout))
        effects.append(
            .authorizeSession(
                connection, SessionQuestion(number: questionsAsked, user: grant.user, device: open.device)))
        return false
    }

    /// Whether the session may open without an answer. A party of a live call may: otherwise a restart during an outage of
    /// the backend would end its call.
    private func isAllowedWithoutAnswer(
        _ open: SessionOpen, _ grant: SessionGrant, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        if let device = directory.user(grant.user)?.device(open.device.id),
            device.user.liveCalls.contains(where: { $0.isParty(device) })
        {
            return true
        }
        return isAllowedWithoutAnswer("session", connection, request)
    }

    /// Closes the connections on which the device has asked for a session before: the newest request counts.
    func dropQuestions(of device: DeviceKey) {
        for (connection, question) in openSessionQuestions where question.device == device {
            forgetQuestion(on: connection)
            effects.append(.disconnect(connection, .replaced))
        }
    }

    /// Handles the answer to a question; ignores a late answer.
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

    /// Removes the question of a connection that is lost or whose question is answered.
    func forgetQuestion(on connection: ConnectionID) {
        if let question = openSessionQuestions.removeValue(forKey: connection) { cancel(question.deadline) }
    }
}
