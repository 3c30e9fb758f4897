import CallCore
import CallVocabulary
import RecordModel

/// The lease of a realm: taken, renewed, lost and given back.
extension Simulation {
    /// The process whose decisions count: the one with the latest term. nil while none runs.
    var process: ServerProcess? { homes.last { isLatest($0) && $0.hasRecovered } }

    func isLatest(_ process: ServerProcess) -> Bool { realm.map { process.key == $0.database.term } ?? true }

    private var databaseTime: Int64 { realm?.database.clock(at: time) ?? time }

    func startRealm() {
        for node in realm?.nodes ?? [] {
            node.clockOffset = Int64(draw(-realmOdds.clockOffset...realmOdds.clockOffset))
            boot(node, in: draw(0...50))
        }
    }

    func boot(_ node: RealmNode, in milliseconds: Int) {
        node.life += 1
        node.role = .standby
        node.askedAt = nil
        schedule(.realm(.tick(node: node.index, life: node.life)), in: milliseconds)
    }

    func perform(_ event: RealmEvent) {
        guard let realm else { return }
        switch event {
        case .tick(let index, let life): if realm.nodes[index].life == life { tick(realm.nodes[index], realm) }
        case .statement(let statement): arrive(statement, realm)
        case .answered(let index, let life, let question, let answer):
            let node = realm.nodes[index]
            guard node.life == life, node.question == question, node.askedAt != nil else { return }
            node.askedAt = nil
            take(answer, node, realm)
        case .appended(let number, let attempt, let result):
            if let process = live(number), process.attempt == attempt { appended(result, process) }
        case .retry(let number, let attempt):
            if let process = live(number), process.attempt == attempt { sendCommit(process) }
        case .recover(let number): if let process = live(number) { recoverInRealm(process) }
        case .look(let number): if let process = live(number) { look(process) }
        case .leave(let number): if let process = live(number) { leave(process, givesBack: false) }
        case .resume(let index): resume(realm.nodes[index], realm)
        case .boot(let index): if case .down = realm.nodes[index].role { boot(realm.nodes[index], in: 0) }
        case .silence(let link): silence(link, realm)
        case .giveUp(let link): giveUp(link)
        }
    }

    // MARK: The loop of a node

    private func tick(_ node: RealmNode, _ realm: Realm) {
        var pause = Term.renewal
        if let askedAt = node.askedAt {
            // The connection is given up, whatever becomes of the statement.
            if time - askedAt >= 2000 { node.askedAt = nil }
            pause = 100
        } else if let process = node.home {
            if !process.isLeaving { send(.renew(process.key, ask(node)), realm) }
        } else {
            // After the faults the standby nodes look less often, which saves time.
            pause = isHealed ? draw(500...1500) : draw(100...500)
            if hasDatabase(node), realm.database.mayTake(node.index, at: databaseTime) {
                send(.take(ask(node)), realm)
                mayPause(node)
            }
        }
        if case .down = node.role { return }
        schedule(.realm(.tick(node: node.index, life: node.life)), in: pause)
    }

    private func ask(_ node: RealmNode) -> Statement.Ask {
        node.question += 1
        node.askedAt = time
        return Statement.Ask(node: node.index, life: node.life, question: node.question, sentAt: time)
    }

    /// Most statements take no time, which saves events. Others are under way for long enough to meet other events.
    private func send(_ statement: Statement, _ realm: Realm) {
        guard !isHealed, chance(300) else { return arrive(statement, realm) }
        let delay = chance(odds.slowCommit) ? draw(100...2500) : draw(1...60)
        schedule(.realm(.statement(statement)), in: delay)
    }

    private func answer(_ ask: Statement.Ask, _ answer: LeaseAnswer, _ realm: Realm) {
        guard hasDatabase(realm.nodes[ask.node]), !chance(realmOdds.brokenCommit / 4) else {
            if case .taken = answer { count("realm.take_unknown") }
            return
        }
        let event = RealmEvent.answered(node: ask.node, life: ask.life, question: ask.question, answer)
        guard !isHealed, chance(300) else { return perform(event, ifRunning: realm.nodes[ask.node]) }
        schedule(.realm(event), in: chance(odds.slowCommit) ? draw(100...2500) : draw(1...60))
    }

    private func perform(_ event: RealmEvent, ifRunning node: RealmNode) {
        if node.isPaused { node.held.append(.realm(event)) } else { perform(event) }
    }

    // MARK: At the database

    func hasDatabase(_ node: RealmNode) -> Bool {
        time >= node.cutUntil && time >= realm?.database.awayUntil ?? 0
    }

    func hasDatabase(_ process: ServerProcess) -> Bool { realm?.node(of: process).map(hasDatabase) ?? true }

    private func arrive(_ statement: Statement, _ realm: Realm) {
        let node = realm.nodes[statement.node]
        guard hasDatabase(node) else {
            // It may still arrive when the connection works again, long after it was given up.
            if chance(realmOdds.lateStatement) {
                count("realm.late_statement")
                let until = max(node.cutUntil, realm.database.awayUntil)
                schedule(.realm(.statement(statement)), in: Int(until - time) + draw(1...200))
            }
            if case .append(let commit) = statement { breakConnection(of: commit) }
            return
        }
        switch statement {
        case .take(let ask): take(ask, realm)
        case .renew(let key, let ask):
            let isHeld = realm.database.renew(key, at: databaseTime)
            answer(ask, isHeld ? .renewed(sentAt: ask.sentAt) : .lost, realm)
        case .append(let commit): append(commit, realm)
        }
    }

    private func take(_ ask: Statement.Ask, _ realm: Realm) {
        if chance(realmOdds.lostTakeOver), loseTakeOver(ask, realm) { return }
        guard let key = realm.database.take(by: ask.node, at: databaseTime) else {
            count("realm.race")
            return answer(ask, .notTaken, realm)
        }
        count("realm.take_over")
        note("node \(ask.node) takes epoch \(key.epoch)")
        if homes.contains(where: { $0.key.epoch == key.epoch }) { count("realm.same_epoch") }
        if homes.contains(where: { !isLatest($0) && $0.isPaused }) { count("realm.take_over_from_paused") }
        if homes.contains(where: { !isLatest($0) && !hasDatabase($0) }) { count("realm.take_over_from_cut_off") }
        answer(ask, .taken(key, sentAt: ask.sentAt, time: databaseTime), realm)
    }

    /// An operator has ended the primary's wait for its standby, and promotes the standby, which lacks the take-over. The
    /// old primary is off by then, so that its home comes to the promoted one.
    /// - Returns: false when another process holds the lease.
    private func loseTakeOver(_ ask: Statement.Ask, _ realm: Realm) -> Bool {
        guard let key = realm.database.takeElsewhere(by: ask.node, at: databaseTime) else { return false }
        count("realm.lost_take_over")
        note("node \(ask.node) takes epoch \(key.epoch) of a primary that is lost")
        answer(ask, .taken(key, sentAt: ask.sentAt, time: databaseTime), realm)
        promoteStandby(of: &realm.database)
        return true
    }

    // MARK: Answers

    private func take(_ answer: LeaseAnswer, _ node: RealmNode, _ realm: Realm) {
        switch answer {
        case .notTaken: break
        case .taken(let key, let sentAt, let databaseTime):
            guard node.isStandby else { return }
            let term = Term(node: node.index, key: key, sentAt: sentAt)
            // Without a lease its clock could be wrong by as long as the answer took.
            guard term.standing(at: time) == .held else { return count("realm.taken_too_late") }
            become(home: node, term, databaseTime, realm)
        case .renewed(let sentAt):
            guard let process = node.home else { return }
            if !mayRelease(process) { count("realm.renewed_after_doubt") }
            process.term?.renewed(sentAt: sentAt)
            deliver(process)
        case .lost: if let process = node.home { fence(process) }
        }
    }

    /// The process's clock is its machine's, set by the database's when it takes the lease. It is never earlier than one
    /// by which records were committed.
    private func become(home node: RealmNode, _ term: Term, _ databaseTime: Int64, _ realm: Realm) {
        processes += 1
        let latest = realm.database.latest.milliseconds
        if latest > databaseTime { count("realm.clock_held") }
        let correction = max(databaseTime, latest) - node.clock(at: time)
        let process = ServerProcess(
            number: processes, seed: seed, odds: odds, term: term, clockOffset: node.clockOffset + correction)
        node.role = .home(process)
        homes.append(process)
        schedule(
            .realm(.recover(process: process.number)), in: chance(odds.slowCommit) ? draw(500...4000) : draw(5...400))
    }

    private func recoverInRealm(_ process: ServerProcess) {
        guard hasDatabase(process) else {
            return schedule(.realm(.recover(process: process.number)), in: 300)
        }
        process.lastCommit = realm?.database.lastCommit ?? 0
        if !isLatest(process) { count("realm.recovered_too_late") }
        if disk.liveCalls.contains(where: { disk.calls[$0]?.state.isRingingPhase == true }) {
            count("realm.ringing_taken_over")
        }
        for push in disk.openPushes.compactMap({ disk.pushes[$0]?.status }) where push == .sent || push == .intended {
            count("realm.push_taken_over.\(push.rawValue)")
        }
        recover(process)
    }

    /// Another process has the lease: outputs are dropped, sockets closed, and the node stands by again.
    func fence(_ process: ServerProcess) {
        count("realm.fenced")
        note("\(tag(process))fenced")
        if !process.isIdle { count("realm.dropped_outputs") }
        end(process, code: .shutdown)
        realm?.node(of: process)?.role = .standby
    }

    // MARK: Hand-over

    /// A stopped process gives the lease back when it has released everything. It does not wait for long.
    func leaveWhenIdle(_ process: ServerProcess) {
        process.isLeaving = true
        schedule(.realm(.leave(process: process.number)), in: 10_000)
        deliver(process)
    }

    func leaveIfIdle(_ process: ServerProcess) {
        if process.isLeaving, process.isIdle { leave(process, givesBack: true) }
    }

    private func leave(_ process: ServerProcess, givesBack: Bool) {
        guard let realm, let node = realm.node(of: process) else { return }
        end(process, code: .shutdown)
        node.role = .down
        node.life += 1
        schedule(.realm(.boot(node: node.index)), in: draw(100...8000))
        guard givesBack, hasDatabase(node) else { return }
        let next = realm.nodes.first { $0.isStandby && !$0.isPaused }
        count(next == nil ? "realm.given_back" : "realm.handed_over")
        realm.database.giveBack(process.key, to: next?.index)
    }
}
