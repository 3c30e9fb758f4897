import CallVocabulary
import DequeModule

/// The pool: opened on demand, one after the other, replaced when lost.
extension PushMachine {
    func index(of id: PushConnectionID) -> Int? {
        connections.firstIndex { $0.id == id }
    }

    /// Something was heard of the connection; nothing if it is not of the pool any more.
    mutating func update(_ id: PushConnectionID, now: Instant, _ change: (inout PushConnection) -> Void) {
        guard let index = index(of: id) else { return }
        connections[index].heard(now: now)
        change(&connections[index])
    }

    // MARK: Slots

    func canReserve(_ connection: PushConnection, now: Instant) -> Bool {
        guard connection.isOpen, connection.free(policy: policy) > 0 else { return false }
        return connection.pausedUntil.map { $0 <= now } ?? true
    }

    /// The least loaded connection with a free stream; ties go to the oldest.
    func slot(avoiding avoided: PushConnectionID?, now: Instant) -> Int? {
        var best: (index: Int, free: Int)?
        for (index, connection) in connections.enumerated() {
            guard connection.id != avoided, canReserve(connection, now: now) else { continue }
            let free = connection.free(policy: policy)
            if best.map({ free > $0.free }) ?? true { best = (index, free) }
        }
        return best?.index
    }

    /// `preferred` if it still has a stream, or else another.
    func slot(preferring preferred: PushConnectionID, avoiding avoided: PushConnectionID?, now: Instant) -> Int? {
        if let index = index(of: preferred), canReserve(connections[index], now: now) { return index }
        return slot(avoiding: avoided, now: now)
    }

    /// Gives a reserved stream back; of no account once the connection is gone.
    mutating func release(_ id: PushConnectionID) {
        guard let index = index(of: id) else { return }
        connections[index].reserved -= 1
        precondition(connections[index].reserved >= 0, "a slot is released once")
    }

    // MARK: Opening

    /// Pushes wait that no stream was found for, and the pool is not full.
    var wantsConnection: Bool {
        waitingCount > 0 && connections.count(where: { !$0.isDraining }) < policy.connections
    }

    mutating func openConnection(now: Instant, effects: inout [PushEffect]) {
        let connection = PushConnection(
            id: PushConnectionID(serial: nextConnection), policy: policy, now: now)
        nextConnection += 1
        connections.append(connection)
        opensFrom = now + policy.connectStagger
        effects.append(.open(connection.id))
    }

    mutating func opened(_ id: PushConnectionID, streamLimit: Int, now: Instant) {
        update(id, now: now) { connection in
            if connection.isOpening { connection.opened(streamLimit: streamLimit, now: now) }
        }
        counters.connectionsOpened += 1
    }

    // MARK: Ending

    mutating func goneAway(
        _ id: PushConnectionID, lastStream: Int32, now: Instant, effects: inout [PushEffect]
    ) {
        counters.goAways += 1
        guard let index = index(of: id) else { return }
        connections[index].heard(now: now)
        // Those up to the last id may have been processed: their answers, or the end of patience, decide.
        for push in connections[index].removeStreams(above: lastStream) { giveBack(push, effects: &effects) }
        retire(id, now: now, effects: &effects)
    }

    /// Takes a connection out of use; what was sent on it is awaited.
    mutating func retire(_ id: PushConnectionID, now: Instant, effects: inout [PushEffect]) {
        guard let index = index(of: id) else { return }
        connections[index].drain()
        if !connections[index].isProven { blame(index, now: now) }
        closeIfDrained(id, effects: &effects)
    }

    /// Reserves nothing on a connection that refused a stream for a while: its SETTINGS may be on their way, and until
    /// then it would refuse the next one as well. One that refuses again and again is replaced.
    mutating func pause(_ id: PushConnectionID, now: Instant, effects: inout [PushEffect]) {
        guard let index = index(of: id) else { return }
        // One lowered limit refuses many streams at once: that is one setback, not many.
        if let pausedUntil = connections[index].pausedUntil, pausedUntil > now { return }
        connections[index].pausedUntil = now + connections[index].refusals.failed(random: &random)
        if connections[index].refusals.failures >= policy.refusalsUntilReplaced {
            retire(id, now: now, effects: &effects)
        }
    }

    mutating func closeIfDrained(_ id: PushConnectionID, effects: inout [PushEffect]) {
        guard let index = index(of: id), connections[index].isDraining, connections[index].streams.isEmpty else {
            return
        }
        connections.remove(at: index)
        effects.append(.close(id))
    }

    /// A connection that was of no use: the next one is not opened at once.
    private mutating func blame(_ index: Int, now: Instant) {
        guard !connections[index].isBlamed else { return }
        connections[index].isBlamed = true
        opensFrom = max(opensFrom, now + reconnects.failed(random: &random))
        counters.connectionsFailed += 1
    }

    mutating func closed(_ id: PushConnectionID, reason: String, now: Instant, effects: inout [PushEffect]) {
        guard let index = index(of: id) else { return }
        if !connections[index].isProven, !connections[index].isBlamed {
            blame(index, now: now)
            effects.append(.alarm(.connectionFailed(reason: reason)))
        }
        let open = connections.remove(at: index).streams
        for stream in open {
            finish(stream.push, .unknown(reason: "connection lost: \(reason)"), effects: &effects)
        }
    }

    mutating func connectionTimedOut(_ id: PushConnectionID, now: Instant, effects: inout [PushEffect]) {
        guard let index = index(of: id) else { return }
        if let pausedUntil = connections[index].pausedUntil, pausedUntil <= now { connections[index].pausedUntil = nil }
        guard connections[index].deadline(policy: policy) <= now else { return }
        switch connections[index].phase {
        case .opening:
            effects.append(.close(id))
            closed(id, reason: "not connected in time", now: now, effects: &effects)
        case .open, .draining:
            if connections[index].pingSentAt == nil {
                connections[index].pingSentAt = now
                effects.append(.ping(id))
            } else {
                effects.append(.close(id))
                closed(id, reason: "PING unanswered", now: now, effects: &effects)
            }
        }
    }
}
