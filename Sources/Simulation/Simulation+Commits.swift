import CallCore

/// Commits of a process of a realm: compare-and-set on the epoch and the number of the last commit.
extension Simulation {
    func commitToDatabase(_ process: ServerProcess) {
        awaitStall(process)
        while process.committing.isEmpty, !process.waiting.isEmpty {
            process.committing = process.waiting
            process.waiting = []
            guard process.committing.allSatisfy({ $0.rows.isEmpty }) else { return sendCommit(process) }
            // Nothing to commit: but it is released under the same rule.
            process.undelivered += process.committing
            process.committing = []
            deliver(process)
        }
    }

    func sendCommit(_ process: ServerProcess) {
        guard let term = process.term else { return }
        process.attempt += 1
        let commit = Commit(
            process: process.number, node: term.node, term: term.key, attempt: process.attempt,
            number: process.lastCommit + 1, batches: process.committing)
        let delay = chance(odds.slowCommit) ? draw(100...2500) : draw(1...10)
        schedule(.realm(.statement(.append(commit))), in: delay)
        if chance(100), let node = realm?.node(of: process) { mayPause(node) }
    }

    // MARK: At the database

    func append(_ commit: Commit, _ realm: Realm) {
        let result = realm.database.append(commit)
        if result == .written {
            note("commit \(commit.number) of epoch \(commit.term.epoch)")
            for batch in commit.batches { write(batch, by: commit.process) }
            if let text = laws.violation(in: realm.database) ?? laws.violation(in: commit, of: realm.database) {
                violate(text)
            }
        }
        guard hasDatabase(realm.nodes[commit.node]), !chance(realmOdds.brokenCommit) else {
            return breakConnection(of: commit)
        }
        let event = RealmEvent.appended(process: commit.process, attempt: commit.attempt, result)
        schedule(.realm(event), in: chance(odds.slowCommit) ? draw(10...1500) : draw(0...5))
    }

    /// Whether the commit is written is unknown to the process, which learns at once or after long of the broken
    /// connection.
    func breakConnection(of commit: Commit) {
        count("realm.ambiguous")
        let event = RealmEvent.appended(process: commit.process, attempt: commit.attempt, nil)
        schedule(.realm(event), in: chance(500) ? draw(1...100) : draw(1000...10_000))
    }

    // MARK: Answers

    func appended(_ result: SharedDisk.Appended?, _ process: ServerProcess) {
        // Another answer to the same attempt has no effect.
        process.attempt += 1
        switch result {
        case nil:
            schedule(.realm(.retry(process: process.number, attempt: process.attempt)), in: process.commitPause)
            process.commitPause = min(process.commitPause * 2, 5000)
        case .fenced:
            count("realm.fenced_by_commit")
            fence(process)
        case .notNext(let last):
            guard last == process.lastCommit + 1 else { return violate("commits of the lease's holder are missing") }
            count("realm.ambiguous_written")
            written(process)
        case .written:
            if process.commitPause > 50 { count("realm.ambiguous_lost") }
            written(process)
        }
    }

    private func written(_ process: ServerProcess) {
        process.commitPause = 50
        process.lastCommit += 1
        process.undelivered += process.committing
        process.committing = []
        deliver(process)
        if live(process.number) != nil { commitToDatabase(process) }
    }
}
