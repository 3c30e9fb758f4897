import CallVocabulary
import Determinism
import PushVocabulary

/// The way of a push from `cleared` to the wire, and its removal.
extension PushMachine {
    /// The core has cleared the push: it is submitted, on its reserved connection or another, or queued again. A push that
    /// was dropped and queued again since it was announced returns, and waits for its turn.
    mutating func clear(_ id: PushID) {
        guard let index = pushes.slot(of: id) else { return }
        switch pushes[index].phase {
        case .announced(let connection): clear(index, reservedOn: connection)
        case .waiting, .held:
            counters.returned += 1
            effects.append(.outcome(id, .returned))
        case .submitting, .open: return
        }
    }

    private mutating func clear(_ index: PushIndex, reservedOn: PushConnectionID) {
        let id = pushes.id(at: index)
        release(reservedOn)
        guard pushes[index].terms.expiresAt > now else { return expire(index) }
        guard quietUntil == nil || !isHeldBack(pushes[index].terms), breaker.lets(id), !isThrottled(index),
            let generation = providerToken.usable(now: now),
            let slot = slot(preferring: reservedOn, avoiding: pushes[index].avoided)
        else { return giveBack(index) }
        submit(index, on: slot, generation: generation)
    }

    @inline(__always) private func isThrottled(_ index: PushIndex) -> Bool {
        guard !throttle.isEmpty, let token = pushes[index].terms.token else { return false }
        return throttle.heldUntil(token, now: now) != nil
    }

    private mutating func submit(_ index: PushIndex, on slot: Int, generation: Int) {
        overdueAt = now - pushes[index].inLineSince > policy.longestWait ? now : nil
        setPhase(index, .submitting(connections[slot].id))
        connections[slot].reserved += 1
        pushes[index].tokenGeneration = generation
        endDeadline(index)
        effects.append(.submit(connections[slot].id, pushes.id(at: index), tokenGeneration: generation))
    }

    mutating func submitted(_ id: PushID, on connection: PushConnectionID, stream: Int32) {
        guard let index = pushes.slot(of: id), case .submitting(connection) = pushes[index].phase else { return }
        guard let place = self.index(of: connection) else { return finish(index, .unknown(reason: "connection lost")) }
        connections[place].reserved -= 1
        connections[place].add(index, stream: stream, now: now)
        counters.sent += 1
        setPhase(index, .open(connection, stream: stream))
    }

    mutating func notSubmitted(_ id: PushID, on connection: PushConnectionID) {
        guard let index = pushes.slot(of: id), case .submitting(connection) = pushes[index].phase else { return }
        release(connection)
        pause(connection)
        guard let generation = providerToken.usable(now: now),
            let slot = slot(avoiding: pushes[index].avoided)
        else { return giveBack(index) }
        submit(index, on: slot, generation: generation)
    }

    /// The core has cleared the push, which may not leave now: it is queued again.
    mutating func postpone(_ id: PushID) {
        guard let index = pushes.slot(of: id), case .announced(let connection) = pushes[index].phase else {
            return clear(id)
        }
        release(connection)
        giveBack(index)
    }

    mutating func drop(_ id: PushID) {
        guard let index = pushes.slot(of: id) else { return }
        switch pushes[index].phase {
        case .waiting, .held: break
        case .announced(let connection): release(connection)
        case .submitting, .open: return
        }
        counters.dropped += 1
        // The caller has not waited longer than the provider.
        if isLeftWaiting(index) {
            counters.givenUp += 1
            counters.failed += 1
        }
        forget(index)
    }

    mutating func pushTimedOut(_ index: PushIndex) {
        switch pushes[index].phase {
        case .waiting, .held: break
        case .announced(let connection): release(connection)
        // The deadline is cancelled when a push is submitted.
        case .submitting, .open: preconditionFailure("a push on the wire does not expire")
        }
        expire(index)
    }

    mutating func expire(_ index: PushIndex) {
        let setback = pushes[index].setback
        finish(index, .expired, reason: setback.map { "expired after \($0)" } ?? "expired")
    }

    // MARK: The only place where pushes change phase and are removed

    mutating func setPhase(_ index: PushIndex, _ phase: Phase) {
        let isUrgent = pushes[index].terms.isUrgent
        leavePhase(index, isUrgent: isUrgent)
        count(phase, isUrgent: isUrgent, by: 1)
        pushes[index].phase = phase
    }

    private mutating func leavePhase(_ index: PushIndex, isUrgent: Bool) {
        let old = pushes[index].phase
        count(old, isUrgent: isUrgent, by: -1)
        guard case .held(let entry, let isForDevice) = old else { return }
        held.cancel(entry)
        if isForDevice, let token = pushes[index].terms.token { throttle.release(token) }
    }

    mutating func count(_ phase: Phase, isUrgent: Bool, by step: Int) {
        switch phase {
        case .waiting: waitingCount += step
        case .announced: announcedCount += step
        case .held: break
        case .submitting, .open: return
        }
        if !isUrgent { noticeCount += step }
    }

    private mutating func endDeadline(_ index: PushIndex) {
        guard let deadline = pushes[index].deadline else { return }
        deadlines.cancel(deadline)
        pushes[index].deadline = nil
    }

    /// Finishes a push that was not sent.
    mutating func finish(_ index: PushIndex, _ cause: PushCounters.UnsentCause, reason: String) {
        counters.unsentByCause[cause, default: 0] += 1
        if cause.isOfProvider { counters.failed += 1 }
        finish(index, .unsent(reason: reason))
    }

    /// Finishes a push with its final outcome.
    mutating func finish(_ index: PushIndex, _ outcome: PushOutcome) {
        switch outcome {
        case .accepted: counters.accepted += 1
        case .rejected: counters.rejected += 1
        case .unknown:
            counters.unknown += 1
            counters.failed += 1
        case .unsent: counters.unsent += 1
        case .returned: preconditionFailure("a push that comes back is not finished")
        }
        let id = pushes.id(at: index)
        forget(index)
        effects.append(.outcome(id, outcome))
    }

    /// Whether the push waits in the queue, and has waited too long for the provider. An open circuit makes it wait for the
    /// credential, as the want of a token does; ``CredentialHealth`` judges those.
    private func isLeftWaiting(_ index: PushIndex) -> Bool {
        guard case .waiting = pushes[index].phase, breaker.isClosed else { return false }
        let wait = now - pushes[index].inLineSince
        guard openConnections > 0 else { return wait > policy.longestHandshake }
        return wait > policy.longestWait && providerToken.usable(now: now) != nil
    }

    private mutating func forget(_ index: PushIndex) {
        if isLeftWaiting(index) {
            if openConnections == 0 { cutOffAt = now } else { overdueAt = now }
        }
        leavePhase(index, isUrgent: pushes[index].terms.isUrgent)
        endDeadline(index)
        breaker.left(pushes.id(at: index))
        pushes.remove(index)
    }
}
