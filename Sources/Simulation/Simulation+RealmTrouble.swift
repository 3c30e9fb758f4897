import CallVocabulary

/// Faults of a realm's machines, of their way to the database, and of the database.
extension Simulation {
    var realmOdds: RealmOdds { odds.realm ?? RealmOdds() }

    func troubleRealm() {
        guard let realm else { return }
        let node = pick(realm.nodes)
        if chance(odds.crash) { return kill(chance(500) ? node : realm.nodes.first { $0.home != nil } ?? node) }
        if chance(odds.stop), let process { stop(process) }
        if chance(odds.drain) { drain() }
        if chance(realmOdds.pause) { pause(homeOr(node), realm) }
        if chance(realmOdds.cut) { cut(homeOr(node)) }
        if chance(realmOdds.away) { takeAway(&realm.database) }
    }

    private func takeAway(_ database: inout SharedDisk) {
        count("realm.database_away")
        note("database away")
        let until = time + Int64(chance(300) ? draw(3000...30_000) : draw(100...3000))
        database.awayUntil = max(database.awayUntil, until)
        // A standby is promoted only when no lease is counted as held any more.
        guard until - time > SharedDisk.lease, chance(500) else { return }
        promote(&database)
    }

    /// The primary is lost for longer than any lease.
    func promoteStandby(of database: inout SharedDisk) {
        database.awayUntil = max(database.awayUntil, time + SharedDisk.lease + Int64(draw(100...5000)))
        promote(&database)
    }

    private func promote(_ database: inout SharedDisk) {
        count("realm.database_promoted")
        database.clockOffset = Int64(draw(-10_000...10_000))
    }

    /// Mostly the home: that is where faults matter.
    private func homeOr(_ node: RealmNode) -> RealmNode {
        chance(700) ? process.flatMap { realm?.node(of: $0) } ?? node : node
    }

    /// `kill -9`.
    func kill(_ node: RealmNode) {
        if case .down = node.role { return }
        count("process.crash")
        count(node.home == nil ? "realm.kill_standby" : "realm.kill_home")
        note("node \(node.index) is killed")
        if let process = node.home { end(process, code: nil) }
        node.role = .down
        node.life += 1
        node.isPaused = false
        node.held = []
        schedule(.realm(.boot(node: node.index)), in: isHealed ? 100 : draw(100...(chance(200) ? 60_000 : 8000)))
    }

    private func cut(_ node: RealmNode) {
        count("realm.cut_off")
        note("node \(node.index) is cut off")
        node.cutUntil = time + Int64(chance(400) ? draw(3000...20_000) : draw(50...3000))
    }

    // MARK: SIGSTOP and SIGCONT

    /// Sometimes a node is stopped at a moment that matters: a statement is under way, or a push is about to leave.
    func mayPause(_ node: RealmNode) {
        guard let realm, chance(realmOdds.pause / 4) else { return }
        count("realm.pause_at_point")
        pause(node, realm)
    }

    private func pause(_ node: RealmNode, _ realm: Realm) {
        if case .down = node.role { return }
        guard !node.isPaused else { return }
        let duration = chance(500) ? draw(2500...10_000) : draw(50...2500)
        count(duration > Int(SharedDisk.lease) ? "realm.long_pause" : "realm.pause")
        note("node \(node.index) is paused for \(duration) ms")
        node.isPaused = true
        node.home?.isPaused = true
        realm.hasPaused = true
        schedule(.realm(.resume(node: node.index)), in: duration)
        guard let process = node.home else { return }
        // Its clients' sockets stay, and some clients notice.
        for link in links.indices where links[link].isClientOpen && links[link].serverHolds(process.number) {
            schedule(.realm(.silence(link: link)), in: draw(2000...20_000))
        }
    }

    /// - Returns: whether the event is one of a paused node, and is held until the node continues.
    func hold(_ event: Event) -> Bool {
        guard let realm, let node = node(of: event, realm), node.isPaused else { return false }
        node.held.append(event)
        return true
    }

    private func node(of event: Event, _ realm: Realm) -> RealmNode? {
        switch event {
        case .realm(.tick(let node, _)), .realm(.answered(let node, _, _, _)): realm.nodes[node]
        case .toServer(let link, _): live(links[link].process).flatMap(realm.node)
        default: event.process.flatMap(live).flatMap(realm.node)
        }
    }

    /// The process goes on with everything that was under way to it, in the order of arrival.
    func resume(_ node: RealmNode, _ realm: Realm) {
        guard node.isPaused else { return }
        note("node \(node.index) continues")
        node.isPaused = false
        node.home?.isPaused = false
        realm.hasPaused = realm.nodes.contains { $0.isPaused }
        if let process = node.home, !isLatest(process) { count("realm.continued_without_lease") }
        let held = node.held
        node.held = []
        for event in held where inspector.violations.isEmpty { perform(event) }
    }

    /// All machines run, and reach the database as soon as it is back.
    func healRealm() {
        guard let realm else { return }
        for node in realm.nodes {
            node.cutUntil = time
            schedule(.realm(.resume(node: node.index)), in: 0)
            if case .down = node.role { schedule(.realm(.boot(node: node.index)), in: draw(0...500)) }
        }
    }

    // MARK: Clients of a home that is none

    /// The process that the balancer chooses: one that says that it is ready. It learns late of a home that is paused.
    func balanced() -> ServerProcess? {
        let ready = homes.filter { $0.hasRecovered && !$0.isResting }
        guard ready.count > 1 else { return ready.first }
        return chance(isHealed ? 0 : 300) ? ready.first : ready.last
    }

    /// After a client has connected: it waits for its session only for a while.
    func watch(_ link: Int, to process: ServerProcess) {
        guard process.isPaused || !isLatest(process) || !hasDatabase(process) else { return }
        count("realm.client_at_former_home")
        schedule(.realm(.giveUp(link: link)), in: draw(3000...15_000))
    }

    func silence(_ link: Int, _ realm: Realm) {
        guard let process = live(links[link].process), process.isPaused else { return }
        receive(.end(nil), from: link)
    }

    func giveUp(_ link: Int) {
        guard let phone = links[link].phone.map({ phones[$0] }), phone.link == link, !phone.isOpen else { return }
        hangUpSocket(phone)
        schedule(.act(phone: phone.index, .connect(.open)), in: draw(50...3000))
    }

    /// A client that is refused may try another server.
    func leaveFormerHome(_ phone: Phone) {
        guard realm != nil, let link = phone.link, let process = live(links[link].process), !isLatest(process),
            chance(500)
        else { return }
        hangUpSocket(phone)
        schedule(.act(phone: phone.index, .connect(.resume)), in: draw(50...2000))
    }
}
