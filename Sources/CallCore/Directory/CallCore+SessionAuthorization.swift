import CallVocabulary
import Determinism

/// A `session.open` that waits for the backend's answer.
struct OpenSessionQuestion {
    let number: UInt64
    let device: DeviceKey
    /// ``AnswerRoom/isCrowded(by:)`` when it was asked.
    let isCrowded: Bool
    let askedAt: Instant
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
        case .failed: return isParty(open, grant) || isAllowedWithoutAnswer("session", connection, request)
        case .crowded:
            if isParty(open, grant) { return true }
            refuseCrowded(connection, request)
            return false
        case .unasked:
            if isParty(open, grant) { return true }
            refuseUnasked("session", connection, request)
            return false
        case nil: break
        }
        guard let policy = authorization, policy.includesSessions else { return true }
        guard sessionAnswerRoom.hasRoom(for: grant.user, of: policy.mostWaiting) else {
            if isParty(open, grant) { return true }
            refuseWithoutRoom(
                isOwn: sessionAnswerRoom.isFull(by: grant.user, of: policy.mostWaiting), "session", connection,
                request)
            return false
        }
        questionsAsked += 1
        let isCrowded = sessionAnswerRoom.isCrowded(by: grant.user)
        sessionAnswerRoom.asked(grant.user, at: now)
        let device = DeviceKey(user: grant.user, device: open.device.id)
        openSessionQuestions[connection] = OpenSessionQuestion(
            number: questionsAsked, device: device, isCrowded: isCrowded, askedAt: now,
            input: .opened(connection, request, open, grant),
            deadline: deadlines.add(.sessionAuthorization(connection), at: now + policy.timeout))
        connectionsAsked[device] = connection
        effects.append(
            .authorizeSession(
                connection, SessionQuestion(number: questionsAsked, user: grant.user, device: open.device)))
        return false
    }

    /// Whether the device is a party of a live call. Its session may open without an answer: otherwise a restart during
    /// an outage of the backend would end the call.
    private func isParty(_ open: SessionOpen, _ grant: SessionGrant) -> Bool {
        guard let device = directory.user(grant.user)?.device(open.device.id) else { return false }
        return device.user.liveCalls.contains { $0.isParty(device) }
    }

    /// Closes the connection on which the device has asked for a session before: the newest request counts.
    func dropQuestion(of device: DeviceKey) {
        guard let connection = connectionsAsked[device] else { return }
        forgetQuestion(on: connection)
        effects.append(.disconnect(connection, .replaced))
    }

    /// Handles the answer to a question; ignores a late answer.
    func takeAnswer(_ answer: AuthorizationAnswer, to number: UInt64, aboutSessionOn connection: ConnectionID) {
        guard let question = openSessionQuestions[connection], question.number == number else { return }
        forgetQuestion(
            on: connection, isDoubtful: judge(answer, of: question.device.user, since: question.askedAt))
        verdict = counted(answer, isCrowded: question.isCrowded)
        take(question.input)
        verdict = nil
    }

    func answerOverdue(onSession connection: ConnectionID) {
        guard let question = openSessionQuestions[connection] else { return }
        takeAnswer(.failed, to: question.number, aboutSessionOn: connection)
    }

    /// Removes the question of a connection that is lost or whose question is answered.
    func forgetQuestion(on connection: ConnectionID, isDoubtful: Bool = false) {
        guard let question = openSessionQuestions.removeValue(forKey: connection) else { return }
        sessionAnswerRoom.close(of: question.device.user, isDoubtful: isDoubtful, at: now)
        connectionsAsked[question.device] = nil
        cancel(question.deadline)
    }
}
