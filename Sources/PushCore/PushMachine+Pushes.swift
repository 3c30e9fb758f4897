import CallVocabulary
import DequeModule
import Determinism

/// The way of a push up to the wire, and out of the machine.
extension PushMachine {
    mutating func queue(
        _ id: PushID, _ terms: PushTerms, now: Instant, effects: inout [PushEffect]
    ) {
        guard pushes[id] == nil else { return }
        counters.queued += 1
        guard terms.expiresAt > now else { return finishUnqueued(id, reason: "expired", effects: &effects) }
        while queueDepth >= policy.queueCapacity, let push = deadlines.popDue(now: now) {
            pushTimedOut(push, now: now, effects: &effects)
        }
        guard queueDepth < policy.queueCapacity else {
            return finishUnqueued(id, reason: "push queue full", effects: &effects)
        }
        pushes[id] = Push(terms: terms, deadline: deadlines.add(id, at: terms.expiresAt))
        waitingCount += 1
        line(up: id, in: \.fresh)
    }

    private mutating func finishUnqueued(_ id: PushID, reason: String, effects: inout [PushEffect]) {
        counters.unsent += 1
        effects.append(.outcome(id, .unsent(reason: reason)))
    }

    private mutating func line(up id: PushID, in line: WritableKeyPath<Self, Deque<Waiting>>) {
        pushes[id]?.ticket = nextTicket
        self[keyPath: line].append(Waiting(push: id, ticket: nextTicket))
        nextTicket += 1
    }

    /// Announces waiting pushes for as long as there are streams, and has opened or signed what they lack.
    mutating func pump(now: Instant, effects: inout [PushEffect]) {
        guard waitingCount > 0 else { return }
        if let due = providerToken.startSigningIfDue(now: now) {
            effects.append(.signProviderToken(generation: due.generation, issuedAt: due.issuedAt))
        }
        if providerToken.usable(now: now) != nil {
            announceReturned(now: now, effects: &effects)
            announceFresh(now: now, effects: &effects)
        }
        if wantsConnection, now >= opensFrom { openConnection(now: now, effects: &effects) }
    }

    private mutating func announceFresh(now: Instant, effects: inout [PushEffect]) {
        while let next = fresh.first {
            guard isCurrent(next) else {
                fresh.removeFirst()
                continue
            }
            guard announce(next.push, now: now, effects: &effects) else { break }
            fresh.removeFirst()
        }
        dropStaleEntries(of: \.fresh)
    }

    /// One that has to avoid a connection does not hold up those behind it.
    private mutating func announceReturned(now: Instant, effects: inout [PushEffect]) {
        guard !returned.isEmpty, connections.contains(where: { canReserve($0, now: now) }) else { return }
        let line = returned
        returned.removeAll(keepingCapacity: true)
        for next in line where isCurrent(next) && !announce(next.push, now: now, effects: &effects) {
            returned.append(next)
        }
    }

    private func isCurrent(_ waiting: Waiting) -> Bool {
        guard let push = pushes[waiting.push], case .waiting = push.phase else { return false }
        return push.ticket == waiting.ticket
    }

    /// Entries of pushes that expired or were dropped in the line are skipped when their turn comes; a line that
    /// does not move would collect them.
    private mutating func dropStaleEntries(of line: WritableKeyPath<Self, Deque<Waiting>>) {
        guard self[keyPath: line].count > 2 * waitingCount + 64 else { return }
        let current = self[keyPath: line].filter(isCurrent)
        self[keyPath: line] = Deque(current)
    }

    private mutating func announce(_ id: PushID, now: Instant, effects: inout [PushEffect]) -> Bool {
        guard let index = slot(avoiding: pushes[id]?.avoided, now: now) else { return false }
        connections[index].reserved += 1
        pushes[id]?.phase = .announced(connections[index].id)
        waitingCount -= 1
        announcedCount += 1
        effects.append(.ready(id))
        return true
    }

    /// The core's word is there: the push goes out now, here or on another connection, or goes back.
    mutating func clear(_ id: PushID, now: Instant, effects: inout [PushEffect]) {
        guard let push = pushes[id], case .announced(let reservedOn) = push.phase else { return }
        release(reservedOn)
        guard push.terms.expiresAt > now else { return finish(id, unsent(push), effects: &effects) }
        guard let generation = providerToken.usable(now: now),
            let index = slot(preferring: reservedOn, avoiding: push.avoided, now: now)
        else { return giveBack(id, effects: &effects) }
        submit(id, on: index, generation: generation, now: now, effects: &effects)
    }

    private mutating func submit(
        _ id: PushID, on index: Int, generation: Int, now: Instant, effects: inout [PushEffect]
    ) {
        setPhase(of: id, .submitting(connections[index].id))
        connections[index].reserved += 1
        pushes[id]?.tokenGeneration = generation
        setDeadline(of: id, now + policy.requestTimeout)
        effects.append(.submit(connections[index].id, id, tokenGeneration: generation))
    }

    mutating func submitted(_ id: PushID, on connection: PushConnectionID, stream: Int32, now: Instant) {
        guard case .submitting(connection)? = pushes[id]?.phase, let index = index(of: connection) else { return }
        connections[index].reserved -= 1
        connections[index].add(id, stream: stream, now: now)
        counters.sent += 1
        setPhase(of: id, .open(connection, stream: stream))
    }

    mutating func notSubmitted(
        _ id: PushID, on connection: PushConnectionID, now: Instant, effects: inout [PushEffect]
    ) {
        guard case .submitting(connection)? = pushes[id]?.phase else { return }
        release(connection)
        pause(connection, now: now, effects: &effects)
        guard let generation = providerToken.usable(now: now),
            let index = slot(avoiding: pushes[id]?.avoided, now: now)
        else { return giveBack(id, effects: &effects) }
        submit(id, on: index, generation: generation, now: now, effects: &effects)
    }

    mutating func drop(_ id: PushID) {
        guard let push = pushes[id] else { return }
        switch push.phase {
        case .waiting: break
        case .announced(let connection): release(connection)
        case .submitting, .open: return
        }
        counters.dropped += 1
        forget(id)
    }

    /// Certainly not processed: queued again, for as long as ring time is left.
    mutating func giveBack(_ id: PushID, setback: String? = nil, effects: inout [PushEffect]) {
        guard let expiresAt = pushes[id]?.terms.expiresAt else { return }
        if let setback { pushes[id]?.setback = setback }
        setPhase(of: id, .waiting)
        setDeadline(of: id, expiresAt)
        line(up: id, in: \.returned)
        counters.returned += 1
        effects.append(.outcome(id, .returned))
    }

    mutating func pushTimedOut(_ id: PushID, now: Instant, effects: inout [PushEffect]) {
        // Every deadline belongs to a push: both are removed together.
        guard let push = pushes[id] else { preconditionFailure("a deadline without a push") }
        switch push.phase {
        case .waiting: finish(id, unsent(push), effects: &effects)
        case .announced(let connection):
            release(connection)
            finish(id, unsent(push), effects: &effects)
        case .submitting(let connection):
            release(connection)
            finish(id, .unknown(reason: "no answer in time"), effects: &effects)
        case .open(let connection, let stream):
            effects.append(.cancel(connection, stream: stream))
            endStream(stream, on: connection, now: now)
            finish(id, .unknown(reason: "no answer in time"), effects: &effects)
            closeIfDrained(connection, effects: &effects)
        }
    }

    private func unsent(_ push: Push) -> PushOutcome {
        .unsent(reason: push.setback.map { "expired after \($0)" } ?? "expired")
    }

    /// Nothing can be sent any more with this credential: those that wait are told so.
    mutating func signingFailed(_ generation: Int, reason: String, now: Instant, effects: inout [PushEffect]) {
        providerToken.signingFailed(generation)
        effects.append(.alarm(.signingFailed(reason: reason)))
        guard providerToken.usable(now: now) == nil else { return }
        for line in [returned, fresh] {
            for entry in line where isCurrent(entry) {
                finish(entry.push, .unsent(reason: "no provider token: \(reason)"), effects: &effects)
            }
        }
        returned.removeAll()
        fresh.removeAll()
    }

    // MARK: The one place where pushes change and leave

    private mutating func setPhase(of id: PushID, _ phase: Phase) {
        guard let old = pushes[id]?.phase else { return }
        count(old, by: -1)
        count(phase, by: 1)
        pushes[id]?.phase = phase
    }

    private mutating func count(_ phase: Phase, by step: Int) {
        switch phase {
        case .waiting: waitingCount += step
        case .announced: announcedCount += step
        case .submitting, .open: break
        }
    }

    private mutating func setDeadline(of id: PushID, _ due: Instant) {
        guard let old = pushes[id]?.deadline else { return }
        deadlines.cancel(old)
        pushes[id]?.deadline = deadlines.add(id, at: due)
    }

    /// A push's final outcome.
    mutating func finish(_ id: PushID, _ outcome: PushOutcome, effects: inout [PushEffect]) {
        switch outcome {
        case .accepted: counters.accepted += 1
        case .rejected: counters.rejected += 1
        case .unknown: counters.unknown += 1
        case .unsent: counters.unsent += 1
        case .returned: preconditionFailure("a push that comes back is not finished")
        }
        forget(id)
        effects.append(.outcome(id, outcome))
    }

    private mutating func forget(_ id: PushID) {
        guard let push = pushes.removeValue(forKey: id) else { preconditionFailure("a push leaves once") }
        deadlines.cancel(push.deadline)
        count(push.phase, by: -1)
    }
}
