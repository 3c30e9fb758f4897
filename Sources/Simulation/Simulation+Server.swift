import CallCore
import CallVocabulary
import Determinism
import RecordModel

/// The core's thread and the store's thread: inbox, turns, commits, start, stop and crash.
extension Simulation {
    // MARK: Start

    func start() {
        guard homes.isEmpty else { return }
        processes += 1
        let process = ServerProcess(number: processes, seed: seed, odds: odds)
        homes = [process]
        recover(process)
    }

    /// Continues from the state on disk.
    func recover(_ process: ServerProcess) {
        process.hasRecovered = true
        if let violation = promises.violation(of: disk) { violate(violation) }
        settleTables()
        let state = tables.recovered()
        note("\(tag(process))start \(process.number): \(state.calls.count) calls, \(state.pushes.count) pushes")
        let sent = disk.openPushes.filter { disk.pushes[$0]?.status == .sent }
        if isLatest(process) { inspector.begin(on: disk, now: now(of: process), odds: odds) }
        process.core.recover(state, now: now(of: process), effects: &process.effects)
        inspect(process)
        if isLatest(process) { inspector.checkRecovery(ofSent: sent) }
        process.core.handleTimeouts(now: now(of: process), effects: &process.effects)
        inspect(process)
        finishTurn(process)
        if process.number == 1 { administer(process) }
        switch odds.listing {
        case 0: post(.store(.callsListed(filter())), to: process)
        case 1: schedule(.listed(process: process.number), in: draw(1000...60_000))
        default: break
        }
        readUnseen(process)
    }

    private func filter() -> CallIDFilter {
        var filter = CallIDFilter(expecting: 100)
        for id in tables.calls.keys { filter.insert(id) }
        return filter
    }

    /// The listing reads a snapshot of the store while the core continues.
    func list(_ process: ServerProcess) { post(.store(.callsListed(filter())), to: process) }

    // MARK: The inbox

    func post(_ input: CoreInput, to process: ServerProcess) {
        schedule(.toCore(process: process.number, input), on: &process.coreLane, in: draw(0...2))
    }

    func arrive(_ input: CoreInput, at process: ServerProcess) {
        process.inbox.append(input)
        setTurn(process)
    }

    func setTurn(_ process: ServerProcess) {
        guard !process.isTurnDue else { return }
        process.isTurnDue = true
        schedule(.turn(process: process.number), in: chance(odds.lateLoop) ? draw(50...3000) : draw(0...3))
    }

    func turn(_ process: ServerProcess) {
        process.isTurnDue = false
        let inputs = admit(process.inbox, process)
        process.inbox = []
        for input in inputs where inspector.violations.isEmpty {
            if process.isResting {
                switch input {
                case .push(.ended), .push(.committed): break
                default: continue
                }
            }
            note("\(tag(process))→ \(Trace.text(input))")
            count("input.\(input.name)")
            if isLatest(process) { inspector.hear(input, now: now(of: process)) }
            process.core.handle(input, now: now(of: process), effects: &process.effects)
            inspect(process)
            if case .connectionLost(let connection) = input { process.lost.insert(connection) }
        }
        finishTurn(process)
    }

    func letCoreTimeOut(_ process: ServerProcess) {
        process.coreTimerFired()
        guard !process.isResting else { return }
        process.core.handleTimeouts(now: now(of: process), effects: &process.effects)
        inspect(process, areDeadlinesDone: true)
        finishTurn(process)
    }

    /// Checks each effect, then the whole state. What a process does after another one has taken its lease is not
    /// checked: ``RealmLaws`` require that none of it is committed or released.
    private func inspect(_ process: ServerProcess, areDeadlinesDone: Bool = false) {
        let isChecked = isLatest(process)
        for effect in process.effects.drain() {
            note("\(tag(process))  \(Trace.text(effect))")
            if isChecked { inspector.take(effect, now: now(of: process)) }
            if case .persist(let record) = effect {
                if case .call(let call) = record, call.state == .ended {
                    process.overSince[call.id] = process.overSince[call.id] ?? time
                }
                process.rows.append(record)
            } else {
                process.outputs.append(effect)
            }
        }
        guard isChecked else { return }
        inspector.finishStep(process.core, now: now(of: process), areDeadlinesDone: areDeadlinesDone)
        if let violation = inspector.violations.first { note("VIOLATION \(violation)") }
    }

    /// With more turns than this waiting for a commit, new pushes wait too.
    private static let commitsAhead = 3

    /// The outputs of a turn wait until its rows and those of earlier turns are committed.
    private func finishTurn(_ process: ServerProcess) {
        lastBatch += 1
        let isAhead = process.waiting.count + process.committing.count < Self.commitsAhead
        let batch = ServerProcess.Batch(
            serial: lastBatch, rows: process.rows, outputs: process.outputs, isAhead: isAhead, since: time,
            decidedAt: now(of: process))
        process.rows = []
        process.outputs = []
        if isAhead { for case .queueNewPush(let order) in batch.outputs { tell(.queue(order), process) } }
        // Pushes already on disk as sent wait for no commit, and neither do questions to the store.
        for case .transmitPush(let id) in batch.outputs { tell(.transmit(id), process) }
        for case .lookUp(let number, let wanted) in batch.outputs {
            if let call = wanted.call { searches.append(call) }
            count(wanted.call == nil ? "effect.look_up_users" : "effect.look_up_call")
            let delay = chance(odds.slowSearch) ? draw(500...10_000) : draw(1...20)
            schedule(.lookUp(process: process.number, number: number, wanted), in: delay)
        }
        arm(process)
        if batch.rows.isEmpty, process.isIdle, mayRelease(process) { return release(batch, process) }
        process.waiting.append(batch)
        if process.committing.isEmpty { commit(process) }
    }

    private func arm(_ process: ServerProcess) {
        guard process.coreDeadlineMoved() else { return }
        process.coreTimer = process.core.nextDeadline().map { due in
            let late = chance(odds.lateLoop) ? draw(100...4000) : draw(0...2)
            return max(time, due.milliseconds - offset(of: process) + Int64(late))
        }
    }

    // MARK: The store

    private func commit(_ process: ServerProcess) {
        guard process.term == nil else { return commitToDatabase(process) }
        process.committing = process.waiting
        process.waiting = []
        guard !process.committing.isEmpty else { return }
        let delay = chance(odds.slowCommit) ? draw(100...2500) : draw(1...15)
        schedule(.committed(process: process.number), in: delay)
    }

    func committed(_ process: ServerProcess) {
        let batches = process.committing
        process.committing = []
        for batch in batches { write(batch, by: process.number) }
        for batch in batches { release(batch, process) }
        commit(process)
    }

    func write(_ batch: ServerProcess.Batch, by number: Int) {
        for row in batch.rows { disk.apply(row) }
        durableBatch = batch.serial
        journal += batch.rows
        // Rows of a stopped process are settled by the next start.
        if chance(odds.lag) {
            schedule(.settle(process: number, nil), in: draw(1...3000))
        } else {
            settleTables()
        }
    }

    func settleTables() {
        for record in journal { tables.apply(record) }
        journal = []
    }

    func settle(_ generation: UInt64?, _ process: ServerProcess) {
        // A process without the lease writes nothing. Without the generation the next start settles.
        guard isLatest(process), hasDatabase(process) else { return }
        settleTables()
        guard let generation, !chance(odds.failedSearch) else { return }
        count("effect.settle")
        post(.store(.settled(generation)), to: process)
    }

    /// Sends the outputs of a committed batch.
    func release(_ batch: ServerProcess.Batch, _ process: ServerProcess) {
        checkRelease(of: batch, by: process)
        for effect in batch.outputs {
            switch effect {
            case .persist: violate("a row among the outputs")
            case .send(let connection, let message): send(message, on: connection, from: process)
            case .disconnect(let connection, let code): close(connection, code)
            case .queuePush(let order): tell(.queue(order), process)
            case .queueNewPush(let order):
                if batch.rows.isEmpty { violate("a push is queued without a row") }
                if !batch.isAhead { tell(.queue(order), process) }
            case .confirmPush(let id):
                post(.push(.committed(id)), to: process)
                if let node = realm?.node(of: process) { mayPause(node) }
            case .transmitPush, .lookUp: break
            case .settle(let generation): schedule(.settle(process: process.number, generation), in: draw(1...800))
            case .dropPush(let id): tell(.drop(id), process)
            case .readHistory(let connection, let request, let query):
                count("effect.read_history")
                schedule(.history(process: process.number, connection, request, query), in: draw(1...20))
            case .authorize(let question):
                authorize(process) { .authorized(question.call, number: question.number, $0) }
            case .authorizeSession(let connection, let question):
                // After the faults, the backend allows every session, so that phones can reconnect.
                authorize(process, isAllowed: isHealed) {
                    .sessionAuthorized(connection, number: question.number, $0)
                }
            case .observe, .answer: break
            }
        }
    }

    private func tell(_ message: PushMessage, _ process: ServerProcess) {
        schedule(.toPush(process: process.number, message), on: &process.pushLane, in: draw(0...3))
    }

    /// The backend: most answers are in time, some are late, and some never come.
    private func authorize(
        _ process: ServerProcess, isAllowed: Bool = false, _ input: (AuthorizationAnswer) -> CoreInput
    ) {
        if isAllowed { return schedule(.authorize(process: process.number, input(.allowed(CallPermit()))), in: 1) }
        if chance(100) { return count("authorize.never") }
        let answer: AuthorizationAnswer
        switch draw(0...9) {
        case 0: answer = .refused("No.")
        case 1: answer = .failed
        case 2: answer = .allowed(CallPermit(to: .user(pick(handles)), fromName: "N", ringTime: .seconds(draw(5...60))))
        default: answer = .allowed(CallPermit())
        }
        let delay = chance(200) ? draw(700...2000) : draw(1...300)
        schedule(.authorize(process: process.number, input(answer)), in: delay)
    }

    /// The reply of the reading thread: the current state of the tables.
    func lookUp(_ number: UInt64, _ wanted: Wanted, _ process: ServerProcess) {
        post(
            chance(odds.failedSearch) || !hasDatabase(process)
                ? .store(.lookUpFailed(number: number)) : .store(.found(number: number, tables.found(wanted))),
            to: process)
    }

    func readUnseen(_ process: ServerProcess) {
        guard let age = timers.deviceAge else { return }
        let users = tables.unseen(since: now(of: process) + (.zero - age))
        if !users.isEmpty, hasDatabase(process) { post(.store(.unseen(users)), to: process) }
        schedule(.unseen(process: process.number), in: 20_000)
    }

    func readHistory(
        _ query: HistoryQuery, _ connection: ConnectionID, _ request: RequestID, _ process: ServerProcess
    ) {
        let page = chance(odds.failedSearch) || !hasDatabase(process) ? nil : tables.history(query)
        post(.store(.historyRead(connection, request, page)), to: process)
    }

    // MARK: The end of a process

    /// `kill -9` or a power failure: uncommitted rows are lost, and their outputs were not sent.
    func crash() {
        guard let process else { return }
        count("process.crash")
        note("crash")
        if !process.committing.isEmpty, chance(500) {
            // The current commit reached the disk; the first of its outputs were sent.
            let batches = process.committing
            for batch in batches { write(batch, by: process.number) }
            for batch in batches.prefix(draw(0...batches.count)) { release(batch, process) }
        }
        end(process, code: nil)
    }

    /// SIGTERM: accepts no more input, commits and sends all decisions, and waits for pushes in flight.
    func stop(_ process: ServerProcess) {
        guard !process.isResting else { return }
        count("process.stop")
        note("stop")
        process.isResting = true
        process.coreTimer = nil
        process.isPushStopping = true
        for link in links.indices where links[link].serverHolds(process.number) { cut(link, .shutdown) }
        schedule(.stopped(process: process.number), in: draw(0...8000))
    }

    /// Before a stop, the server rejects new calls for a while.
    func drain() {
        guard let process, !process.isResting else { return }
        post(.drainingBegan(within: .seconds(60)), to: process)
        schedule(.drained(process: process.number), in: draw(5000...60_000))
    }

    func finishStop(_ process: ServerProcess) {
        closePool(process)
        turn(process)
        guard process.term == nil else { return leaveWhenIdle(process) }
        for batch in process.committing + process.waiting {
            write(batch, by: process.number)
            release(batch, process)
        }
        process.committing = []
        process.waiting = []
        end(process, code: .shutdown)
    }

    func end(_ process: ServerProcess, code: CloseCode?) {
        for link in links.indices where links[link].serverHolds(process.number) {
            links[link].isServerOpen = false
            // Without power, the server's end cannot report the lost connection.
            if code != nil || !chance(odds.halfOpen) {
                schedule(.toPhone(link: link, .end(code)), on: &links[link].downLane, in: draw(1...50))
            } else {
                schedule(.toPhone(link: link, .end(nil)), in: draw(5000...40_000))
            }
        }
        loseWires(of: process)
        homes.removeAll { $0 === process }
        guard process.term == nil else { return }
        if chance(odds.clockBack) { wallOffset -= Int64(draw(1...1500)) }
        schedule(.start, in: isHealed ? 100 : draw(100...(chance(200) ? 60_000 : 5000)))
    }
}
