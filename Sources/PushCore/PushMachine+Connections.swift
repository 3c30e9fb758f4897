import CallVocabulary
import DequeModule
import PushVocabulary

/// The connection pool: opened on demand, one at a time, replaced when lost.
extension PushMachine {
    @inline(__always) func index(of id: PushConnectionID) -> Int? {
        for index in connections.indices where connections[index].id == id { return index }
        return nil
    }

    /// Notes that the connection is alive and changes it; no effect on a connection that has left the pool.
    mutating func update(_ id: PushConnectionID, _ change: (inout PushConnection) -> Void) {
        guard let index = index(of: id) else { return }
        connections[index].heard(now: now)
        change(&connections[index])
    }

    // MARK: Slots

    /// How many streams can be reserved on the connection now.
    @inline(__always) private func free(_ index: Int) -> Int {
        guard connections[index].isOpen else { return 0 }
        if let pausedUntil = connections[index].pausedUntil, pausedUntil > now { return 0 }
        return connections[index].free(atMost: policy.streamsPerConnection)
    }

    /// Whether a stream can be reserved on any connection now.
    var hasFreeStream: Bool {
        @inline(__always) get {
            for index in connections.indices where free(index) > 0 { return true }
            return false
        }
    }

    /// The least loaded connection with a free stream; ties go to the oldest.
    @inline(__always) func slot(avoiding avoided: PushConnectionID?) -> Int? {
        var best: Int?
        var most = 0
        for index in connections.indices where connections[index].id != avoided {
            let free = free(index)
            if free > most { (best, most) = (index, free) }
        }
        return best
    }

    /// The avoided connection, when no other takes a request and none is to be opened.
    func slotOfLastResort(_ avoided: PushConnectionID?) -> Int? {
        guard let avoided, let index = index(of: avoided), free(index) > 0, !wantsConnection else {
            return nil
        }
        let isOnlyOne = !connections.contains { other in
            other.id != avoided && (other.isOpening || (other.isOpen && other.streamLimit > 0))
        }
        return isOnlyOne ? index : nil
    }

    /// `preferred` if it has a free stream, otherwise another connection.
    @inline(__always) func slot(preferring preferred: PushConnectionID, avoiding avoided: PushConnectionID?) -> Int? {
        if let index = index(of: preferred), free(index) > 0 { return index }
        return slot(avoiding: avoided)
    }

    /// Releases a reserved stream; no effect when the connection is gone.
    mutating func release(_ id: PushConnectionID) {
        guard let index = index(of: id) else { return }
        connections[index].reserved -= 1
        precondition(connections[index].reserved >= 0, "a slot is released once")
    }

    // MARK: Opening

    /// Whether pushes wait without a stream, and the pool has room for a connection.
    var wantsConnection: Bool {
        @inline(__always) get {
            guard waitingCount > 0 else { return false }
            var used = 0
            for index in connections.indices where !connections[index].isDraining { used += 1 }
            return used < policy.connections
        }
    }

    mutating func openConnection() {
        let connection = PushConnection(
            id: PushConnectionID(serial: nextConnection), policy: policy, now: now)
        nextConnection += 1
        connections.append(connection)
        opensFrom = now + policy.connectStagger
        effects.append(.open(connection.id))
    }

    mutating func opened(_ id: PushConnectionID, streamLimit: Int) {
        update(id) { [now] connection in
            if connection.isOpening { connection.opened(streamLimit: streamLimit, now: now) }
        }
        (cutOffAt, connectionFailure) = (nil, nil)
        counters.connectionsOpened += 1
    }

    // MARK: Ending

    mutating func goneAway(_ id: PushConnectionID, lastStream: Int32) {
        counters.goAways += 1
        guard let index = index(of: id) else { return }
        connections[index].heard(now: now)
        // Streams up to the last id may have been processed: their answers or timeouts decide.
        for push in connections[index].removeStreams(above: lastStream) {
            giveBack(push)
        }
        retire(id)
    }

    /// Retires a connection; the answers to its requests are still awaited.
    mutating func retire(_ id: PushConnectionID) {
        guard let index = index(of: id) else { return }
        connections[index].drain()
        if !connections[index].isProven { blame(index) }
        closeIfDrained(id)
    }

    /// Pauses a connection that refused a stream: until its new SETTINGS arrive it would refuse the next one too. A
    /// connection that refuses repeatedly is replaced.
    mutating func pause(_ id: PushConnectionID) {
        guard let index = index(of: id) else { return }
        // One lowered limit refuses many streams at once: that is one failure, not many.
        if let pausedUntil = connections[index].pausedUntil, pausedUntil > now { return }
        connections[index].pausedUntil = now + connections[index].refusals.failed(random: &random)
        if connections[index].refusals.failures >= policy.refusalsUntilReplaced {
            retire(id)
        }
    }

    /// Gives a stream up. A connection that was silent during the whole request is sent a PING: if it is dead, it would
    /// take further pushes and answer none.
    mutating func giveUp(_ stream: Int32, on id: PushConnectionID) {
        guard let index = index(of: id), let request = connections[index].remove(stream: stream),
            connections[index].isOpen, connections[index].pingSentAt == nil,
            connections[index].lastRead <= request.openedAt
        else { return }
        connections[index].pingSentAt = now
        effects.append(.ping(id))
    }

    mutating func closeIfDrained(_ id: PushConnectionID) {
        guard let index = index(of: id), connections[index].isDraining, connections[index].streams.isEmpty else {
            return
        }
        connections.remove(at: index)
        effects.append(.close(id))
    }

    /// Counts a useless connection in the backoff of the next one.
    private mutating func blame(_ index: Int) {
        guard !connections[index].isBlamed else { return }
        connections[index].isBlamed = true
        opensFrom = max(opensFrom, now + reconnects.failed(random: &random))
        counters.connectionsFailed += 1
    }

    mutating func closed(_ id: PushConnectionID, reason: String) {
        guard let index = index(of: id) else { return }
        if connections[index].isOpening { connectionFailure = reason }
        if !connections[index].isProven, !connections[index].isBlamed {
            blame(index)
            effects.append(.alarm(.connectionFailed(reason: reason)))
        }
        let open = connections.remove(at: index).streams
        for stream in open {
            finish(stream.push, .unknown(reason: "connection lost: \(reason)"))
        }
    }

    /// Gives up streams whose timeout has passed.
    mutating func streamsTimedOut(on id: PushConnectionID) {
        while let index = index(of: id), let due = connections[index].patienceEnds(policy: policy), due <= now,
            let stream = connections[index].streams.first
        {
            effects.append(.cancel(id, stream: stream.id))
            // The status decides, even when the body is incomplete.
            if let answer = connections[index].answerSoFar(of: stream.id) {
                answered(answer, on: id, stream: stream.id)
                continue
            }
            giveUp(stream.id, on: id)
            finish(stream.push, .unknown(reason: "no answer in time"))
            closeIfDrained(id)
        }
    }

    mutating func connectionTimedOut(_ id: PushConnectionID) {
        guard let index = index(of: id) else { return }
        if let pausedUntil = connections[index].pausedUntil, pausedUntil <= now { connections[index].pausedUntil = nil }
        guard connections[index].deadline(policy: policy) <= now else { return }
        switch connections[index].phase {
        case .opening:
            effects.append(.close(id))
            closed(id, reason: "not connected in time")
        case .open, .draining:
            if connections[index].pingSentAt == nil {
                connections[index].pingSentAt = now
                effects.append(.ping(id))
            } else {
                effects.append(.close(id))
                closed(id, reason: "PING unanswered")
            }
        }
    }
}
