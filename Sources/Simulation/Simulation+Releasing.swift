import CallCore
import CallVocabulary
import PushCore

/// When a process of a realm may release something: to clients, push providers, webhooks and the backend.
extension Simulation {
    /// **The one rule**: a process releases nothing unless it certainly holds the lease: neither results of commits, nor
    /// messages that it only forwards, nor replies to reads, nor pushes that are on disk as sent.
    ///
    /// Refusals as `overloaded` and closed sockets tell nothing of the realm's state, and are exempt.
    func mayRelease(_ process: ServerProcess) -> Bool {
        guard let term = process.term else { return true }
        return term.standing(at: time) == .held
    }

    /// Releases the durable batches, if the lease is held. Otherwise they wait for its renewal.
    func deliver(_ process: ServerProcess) {
        guard !process.undelivered.isEmpty else { return leaveIfIdle(process) }
        guard mayRelease(process) else {
            if process.undelivered.contains(where: { !$0.rows.isEmpty }) { count("realm.held_commit") }
            if process.undelivered.contains(where: { $0.rows.isEmpty }) { count("realm.held_read") }
            return
        }
        let batches = process.undelivered
        process.undelivered = []
        // Killed while it releases.
        if chance(odds.crash / 10), let node = realm?.node(of: process) {
            count("realm.kill_while_releasing")
            for batch in batches.prefix(draw(0...batches.count)) { release(batch, process) }
            return kill(node)
        }
        for batch in batches { release(batch, process) }
        leaveIfIdle(process)
    }

    /// Called before the outputs of the batch leave.
    func checkRelease(of batch: ServerProcess.Batch, by process: ServerProcess) {
        guard let database = realm?.database else {
            if !batch.rows.isEmpty, batch.serial > durableBatch {
                violate("outputs sent before their rows were committed")
            }
            return
        }
        guard !batch.rows.isEmpty || !batch.outputs.isEmpty else { return }
        checkTerm(of: process, releasing: "outputs")
        if let text = laws.violation(tellingOf: batch, process.key, in: database) { violate(text) }
    }

    func checkTerm(of process: ServerProcess, releasing what: String) {
        guard let database = realm?.database else { return }
        if let text = laws.violation(releasing: what, process.key, latest: database.term) { violate(text) }
    }

    func checkWinner(of call: CallID, _ request: ServerRequest, _ process: ServerProcess) {
        let before = laws.repeated
        let winner = Party(user: request.user, device: request.device)
        if let text = laws.won(call, winner, process.key) { violate(text) }
        if laws.repeated > before { count("realm.won_again") }
    }

    // MARK: A store that does not answer

    /// The age of the oldest commit in milliseconds from which requests are refused.
    private static let patience: Int64 = 3000

    private func oldest(_ process: ServerProcess) -> Int64? {
        (process.undelivered.first ?? process.committing.first ?? process.waiting.first)?.since
    }

    /// Has the age of the commits looked at in time.
    func awaitStall(_ process: ServerProcess) {
        guard !process.isLookDue, let oldest = oldest(process) else { return }
        process.isLookDue = true
        let wait = process.isStalled ? 500 : max(500, oldest + Self.patience - time)
        schedule(.realm(.look(process: process.number)), in: Int(wait))
    }

    /// Like the server's `StoreStall`: replies that have waited too long become refusals, and so do new requests.
    func look(_ process: ServerProcess) {
        process.isLookDue = false
        guard let oldest = oldest(process), time - oldest >= Self.patience else {
            endStall(process)
            return awaitStall(process)
        }
        if !process.isStalled { count("realm.stalled") }
        process.isStalled = true
        for index in process.undelivered.indices { refuseReplies(of: &process.undelivered[index], process) }
        for index in process.committing.indices { refuseReplies(of: &process.committing[index], process) }
        for index in process.waiting.indices { refuseReplies(of: &process.waiting[index], process) }
        awaitStall(process)
    }

    private func endStall(_ process: ServerProcess) {
        guard process.isStalled else { return }
        process.isStalled = false
        process.inbox = process.held + process.inbox
        process.held = []
        if !process.inbox.isEmpty { setTurn(process) }
    }

    private func refuseReplies(of batch: inout ServerProcess.Batch, _ process: ServerProcess) {
        guard time - batch.since >= Self.patience else { return }
        batch.outputs.removeAll { output in
            switch output {
            case .send(_, .reply(_, .opened)): return false
            case .send(let connection, .reply(let request, _)), .send(let connection, .error(let request?, _)):
                refuse(request, on: connection, process)
                return true
            default: return false
            }
        }
    }

    /// - Returns: the inputs that the core gets.
    func admit(_ inputs: [CoreInput], _ process: ServerProcess) -> [CoreInput] {
        guard process.isStalled else { return inputs }
        var admitted: [CoreInput] = []
        for input in inputs {
            switch input {
            case .store: admitted.append(input)
            case .client(let asked):
                guard let request = asked.request else {
                    process.held.append(input)
                    continue
                }
                inspector.requests[request]?.isAnswered = true
                refuse(request, on: asked.connection, process)
            default: process.held.append(input)
            }
        }
        return admitted
    }

    private func refuse(_ request: RequestID, on connection: ConnectionID, _ process: ServerProcess) {
        let index = Int(connection.serial)
        guard links[index].serverHolds(process.number) else { return }
        count("realm.overloaded")
        let error = SignalError(.overloaded(retryAfter: .seconds(5)), "The server's database cannot be reached.")
        schedule(.toPhone(link: index, .message(.error(request, error))), on: &links[index].downLane, in: draw(1...60))
    }
}
