import CallCore
import CallVocabulary
import Determinism
import RecordModel

/// The core's thread and the store's thread: inbox, turns, commits, start, stop and crash.
extension Simulation {
    // MARK: Start

    func start() {
        guard process == nil else { return }
        processes += 1
        if let violation = promises.violation(of: disk) { violate(violation) }
        let process = ServerProcess(number: processes, seed: seed, odds: odds)
        self.process = process
        for record in journal { tables.apply(record) }
        journal = []
        let state = tables.recovered()
        overSince = [:]
        note("start \(processes): \(state.calls.count) calls, \(state.pushes.count) pushes")
        inspector.begin(on: disk, now: now, odds: odds)
        process.core.recover(state, now: now, effects: &process.effects)
        inspect(process)
        process.core.handleTimeouts(now: now, effects: &process.effects)
        inspect(process)
        finishTurn(process)
        if processes == 1 { administer() }
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
        guard !process.isTurnDue else { return }
        process.isTurnDue = true
        schedule(.turn(process: process.number), in: chance(odds.lateLoop) ? draw(50...3000) : draw(0...3))
    }

    func turn(_ process: ServerProcess) {
        process.isTurnDue = false
        let inputs = process.inbox
        process.inbox = []
        for input in inputs where inspector.violations.isEmpty {
            if process.isResting {
                switch input {
                case .push(.ended), .push(.committed): break
                default: continue
                }
            }
            note("→ \(Trace.text(input))")
            count("input.\(input.name)")
            inspector.hear(input, now: now)
            process.core.handle(input, now: now, effects: &process.effects)
            inspect(process)
            if case .connectionLost(let connection) = input { process.lost.insert(connection) }
        }
        finishTurn(process)
    }

    func letCoreTimeOut() {
        guard let process else { return }
        process.coreTimerFired()
        guard !process.isResting else { return }
        process.core.handleTimeouts(now: now, effects: &process.effects)
        inspect(process, areDeadlinesDone: true)
        finishTurn(process)
    }

    /// Checks each effect, then the whole state.
    private func inspect(_ process: ServerProcess, areDeadlinesDone: Bool = false) {
        for effect in process.effects.drain() {
            note("  \(Trace.text(effect))")
            inspector.take(effect, now: now)
            if case .persist(let record) = effect {
                if case .call(let call) = record, call.state == .ended {
                    overSince[call.id] = overSince[call.id] ?? time
                }
                process.rows.append(record)
            } else {
                process.outputs.append(effect)
            }
        }
        inspector.finishStep(process.core, now: now, areDeadlinesDone: areDeadlinesDone)
        if let violation = inspector.violations.first { note("VIOLATION \(violation)") }
    }

    /// With more turns than this waiting for a commit, new pushes wait too.
    private static let commitsAhead = 3

    /// The outputs of a turn wait until its rows and those of earlier turns are committed.
    private func finishTurn(_ process: ServerProcess) {
        lastBatch += 1
        let isAhead = process.waiting.count + process.committing.count < Self.commitsAhead
        let batch = ServerProcess.Batch(
            serial: lastBatch, rows: process.rows, outputs: process.outputs, isAhead: isAhead)
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
        if batch.rows.isEmpty, process.waiting.isEmpty, process.committing.isEmpty { return release(batch, process) }
        process.waiting.append(batch)
        if process.committing.isEmpty { commit(process) }
    }

    private func arm(_ process: ServerProcess) {
        guard process.coreDeadlineMoved() else { return }
        process.coreTimer = process.core.nextDeadline().map { due in
            let late = chance(odds.lateLoop) ? draw(100...4000) : draw(0...2)
            return max(time, due.milliseconds - wallOffset + Int64(late))
        }
    }

    // MARK: The store

    private func commit(_ process: ServerProcess) {
        process.committing = process.waiting
        process.waiting = []
        guard !process.committing.isEmpty else { return }
        let delay = chance(odds.slowCommit) ? draw(100...2500) : draw(1...15)
        schedule(.committed(process: process.number), in: delay)
    }

    func committed(_ process: ServerProcess) {
        let batches = process.committing
        process.committing = []
        for batch in batches { write(batch) }
        for batch in batches { release(batch, process) }
        commit(process)
    }

    private func write(_ batch: ServerProcess.Batch) {
        for row in batch.rows { disk.apply(row) }
        durableBatch = batch.serial
        journal += batch.rows
        // Rows of a stopped process are settled by the next start.
        if let process, chance(odds.lag) {
            schedule(.settle(process: process.number, nil), in: draw(1...3000))
        } else {
            settleTables()
        }
    }

    private func settleTables() {
        for record in journal { tables.apply(record) }
        journal = []
    }

    func settle(_ generation: UInt64?, _ process: ServerProcess) {
        settleTables()
        guard let generation, !chance(odds.failedSearch) else { return }
        count("effect.settle")
        post(.store(.settled(generation)), to: process)
    }

    /// Sends the outputs of a committed batch.
    private func release(_ batch: ServerProcess.Batch, _ process: ServerProcess) {
        if !batch.rows.isEmpty, batch.serial > durableBatch { violate("outputs sent before their rows were committed") }
        for effect in batch.outputs {
            switch effect {
            case .persist: violate("a row among the outputs")
            case .send(let connection, let message): send(message, on: connection)
            case .disconnect(let connection, let code): close(connection, code)
            case .queuePush(let order): tell(.queue(order), process)
            case .queueNewPush(let order):
                if batch.rows.isEmpty { violate("a push is queued without a row") }
                if !batch.isAhead { tell(.queue(order), process) }
            case .confirmPush(let id): post(.push(.committed(id)), to: process)
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
            chance(odds.failedSearch)
                ? .store(.lookUpFailed(number: number)) : .store(.found(number: number, tables.found(wanted))),
            to: process)
    }

    func readUnseen(_ process: ServerProcess) {
        guard let age = timers.deviceAge else { return }
        let users = tables.unseen(since: now + (.zero - age))
        if !users.isEmpty { post(.store(.unseen(users)), to: process) }
        schedule(.unseen(process: process.number), in: 20_000)
    }

    func readHistory(
        _ query: HistoryQuery, _ connection: ConnectionID, _ request: RequestID, _ process: ServerProcess
    ) {
        let page = chance(odds.failedSearch) ? nil : tables.history(query)
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
            for batch in batches { write(batch) }
            for batch in batches.prefix(draw(0...batches.count)) { release(batch, process) }
        }
        end(process, code: nil)
    }

    /// SIGTERM: accepts no more input, commits and sends all decisions, and waits for pushes in flight.
    func stop() {
        guard let process, !process.isResting else { return }
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
        for batch in process.committing + process.waiting {
            write(batch)
            release(batch, process)
        }
        process.committing = []
        process.waiting = []
        end(process, code: .shutdown)
    }

    private func end(_ process: ServerProcess, code: CloseCode?) {
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
        self.process = nil
        if chance(odds.clockBack) { wallOffset -= Int64(draw(1...1500)) }
        schedule(.start, in: isHealed ? 100 : draw(100...(chance(200) ? 60_000 : 5000)))
    }

    // MARK: Administration

    /// Sets groups, aliases and policies before the first call.
    private func administer() {
        var commands: [AdminCommand] = [
            .setGroup(group("team", .all)),
            .setGroup(group("desk", .hunt)),
        ]
        if let alias = Handle("+81312345678") { commands.append(.setAlias(Alias(handle: alias, user: pick(handles)))) }
        for handle in handles where chance(400) { commands.append(.setUser(handle, change())) }
        for handle in handles where chance(200) { commands.append(rules(of: handle)) }
        for command in commands { post(.administered(admin(), command), to: process!) }  // Only `start` calls this.
    }

    func administerSomething() {
        guard let process else { return }
        let command: AdminCommand
        switch draw(0...17) {
        case 0, 3: command = .setGroup(group("desk", .hunt))
        case 1: command = .setGroup(group("team", pick([.all, .hunt])))
        case 2: command = .deleteGroup(pick(["team", "gone"]))
        case 4, 5: command = .showUser(pick(handles))
        case 6: command = .setAlias(Alias(handle: Handle("+81312345678")!, user: pick(handles)))
        case 7: command = .deleteAlias(Handle("+81312345678")!)  // The literal is a handle.
        case 8, 9, 10: command = rules(of: pick(handles))
        case 11:
            let device = pick(phones).key
            command = .resumeDevice(device.user, device.device)
        case 12, 13, 14:
            let device = pick(phones).key
            command = .deleteDevice(device.user, device.device)
        case 15:
            command = .revokeTokens(
                pick(handles), before: chance(500) ? nil : now + .milliseconds(draw(-20_000...50)))
        default: command = .setUser(pick(handles), change())
        }
        post(.administered(admin(), command), to: process)
    }

    private func admin() -> AdminRequestID {
        serial += 1
        return AdminRequestID(serial: UInt64(serial))
    }

    private func rules(of handle: Handle) -> AdminCommand {
        switch draw(0...4) {
        case 0: return .block(handle, [pick(handles)])
        case 1: return .unblock(handle, [pick(handles)])
        case 2: return .forward(handle, busy: nil, noAnswer: nil, after: nil)
        default:
            func target() -> CallTarget? {
                pick([nil, .user(pick(handles)), .user(pick(handles)), .group(pick(["desk", "team"]))])
            }
            let noAnswer = target()
            let after = noAnswer == nil || chance(500) ? nil : Duration.seconds(draw(5...15))
            return .forward(handle, busy: target(), noAnswer: noAnswer, after: after)
        }
    }

    private func group(_ name: String, _ strategy: CallGroup.Strategy) -> CallGroup {
        var group = CallGroup(name: name, strategy: strategy, members: members())
        guard chance(400) else { return group }
        for member in group.members where chance(500) { group.delays[member] = .seconds(draw(0...12)) }
        return group
    }

    private func members() -> [Handle] {
        var members: [Handle] = []
        for handle in handles where chance(700) && !members.contains(handle) { members.append(handle) }
        return members.isEmpty ? [handles[0]] : members
    }

    private func change() -> UserPolicyChange {
        UserPolicyChange(
            callWaiting: chance(500) ? chance(500) : nil, decline: chance(500) ? pick([.all, .device]) : nil,
            doNotDisturb: chance(300) ? chance(500) : nil,
            missedCalls: chance(700) ? pick([.off, .alert, .background, .background]) : nil)
    }
}
