import CallCore
import CallVocabulary

// Server messages with all their times shifted. A test covers each member that is an `Instant`.

extension ServerMessage {
    func moved(by offset: Duration) -> Self {
        switch self {
        case .welcome(var welcome):
            welcome.time = welcome.time + offset
            return .welcome(welcome)
        case .reply(let request, let reply): return .reply(request, reply.moved(by: offset))
        case .event(let seq, let event): return .event(seq: seq, event.moved(by: offset))
        case .error: return self
        }
    }
}

extension Reply {
    fileprivate func moved(by offset: Duration) -> Self {
        switch self {
        case .opened(var opened):
            opened.calls = opened.calls.map { $0.moved(by: offset) }
            opened.missed = opened.missed.map { $0.moved(by: offset) }
            return .opened(opened)
        case .invited(let call, let state, let expiresAt):
            return .invited(call, state, expiresAt: expiresAt + offset)
        case .call(let snapshot): return .call(snapshot.moved(by: offset))
        case .backendCall(var call):
            call.snapshot = call.snapshot.moved(by: offset)
            return .backendCall(call)
        case .calls(let calls, let next):
            let page = HistoryPage(calls: calls, next: next).moved(by: offset)
            return .calls(page.calls, next: page.next)
        case .done, .inviteEnded, .callState, .won: return self
        }
    }
}

extension ServerEvent {
    fileprivate func moved(by offset: Duration) -> Self {
        switch self {
        case .incoming(var call):
            call.expiresAt = call.expiresAt + offset
            return .incoming(call)
        case .state(var change):
            change.at = change.at + offset
            change.expiresAt = change.expiresAt.moved(by: offset)
            return .state(change)
        case .ended(var ended):
            ended.at = ended.at + offset
            return .ended(ended)
        case .peer(var change):
            change.at = change.at + offset
            if case .away(let until) = change.presence { change.presence = .away(until: until.moved(by: offset)) }
            return .peer(change)
        case .candidates, .update, .draining: return self
        }
    }
}

extension HistoryPage {
    func moved(by offset: Duration) -> Self {
        HistoryPage(
            calls: calls.map { $0.moved(by: offset) },
            next: next.map { HistoryCursor(before: $0.before + offset, call: $0.call) })
    }
}

extension CallSnapshot {
    fileprivate func moved(by offset: Duration) -> Self {
        var copy = self
        copy.createdAt = createdAt + offset
        copy.expiresAt = expiresAt.moved(by: offset)
        copy.answeredAt = answeredAt.moved(by: offset)
        copy.connectedAt = connectedAt.moved(by: offset)
        copy.endedAt = endedAt.moved(by: offset)
        copy.lostAt = lostAt.moved(by: offset)
        copy.peerAwaySince = peerAwaySince.moved(by: offset)
        return copy
    }
}

extension MissedCall {
    func moved(by offset: Duration) -> Self {
        var copy = self
        copy.at = at + offset
        return copy
    }
}
