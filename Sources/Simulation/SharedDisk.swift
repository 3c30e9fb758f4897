import CallVocabulary

/// The database of a realm: the lease, by the database's clock, and the numbers and terms of all commits. The records
/// themselves are the simulation's `disk`.
///
/// Each method is one statement, which the lock of a row makes atomic.
struct SharedDisk {
    /// What became of an attempt to commit.
    enum Appended: Equatable {
        case written
        /// Another process has the lease.
        case fenced
        /// The last number is another: an earlier attempt has written this commit, or commits are missing.
        case notNext(last: Int)
    }

    struct Entry {
        var number: Int
        var term: TermKey
        /// The serial numbers of its batches.
        var batches: Set<Int>
    }

    /// The duration of the lease in milliseconds.
    static let lease: Int64 = 3000

    private(set) var term = TermKey(epoch: 0, id: 0)
    private(set) var until: Int64 = 0
    /// The node that may take the lease before its end.
    private(set) var handoverTo: Int?
    private(set) var journal: [Entry] = []
    /// The ids of terms so far, also of those that are not in this database.
    private var ids = 0
    /// The earliest time at which a record of this term may have been decided.
    private(set) var termBegan = Instant(milliseconds: 0)
    private var batches: [Int: TermKey] = [:]
    /// The latest time of a process at which committed records were decided. A process that takes the lease starts no
    /// earlier.
    private(set) var latest: Instant
    /// The database answers nobody until then.
    var awayUntil: Int64 = 0
    /// The clock of the database's machine less the simulation's time, in milliseconds. A standby of the database that is
    /// promoted has another clock.
    var clockOffset: Int64 = 0

    init(latest: Instant) { self.latest = latest }

    var lastCommit: Int { journal.last?.number ?? 0 }

    // MARK: The lease

    func mayTake(_ node: Int, at time: Int64) -> Bool { until <= time || handoverTo == node }

    /// - Returns: the new term; nil when another process holds the lease.
    mutating func take(by node: Int, at time: Int64) -> TermKey? {
        guard mayTake(node, at: time) else { return nil }
        term = nextTerm()
        termBegan = latest
        until = time + Self.lease
        handoverTo = nil
        return term
    }

    /// The term of a take-over that only a primary has which is lost then: this database gives its number again.
    mutating func takeElsewhere(by node: Int, at time: Int64) -> TermKey? {
        mayTake(node, at: time) ? nextTerm() : nil
    }

    private mutating func nextTerm() -> TermKey {
        ids += 1
        return TermKey(epoch: term.epoch + 1, id: ids)
    }

    /// Also after the end, as long as no other process has taken it.
    /// - Returns: whether the process still has the lease.
    mutating func renew(_ term: TermKey, at time: Int64) -> Bool {
        guard term == self.term, until > .min else { return false }
        until = time + Self.lease
        return true
    }

    /// - Parameter node: the node that takes the lease next; nil for any.
    mutating func giveBack(_ term: TermKey, to node: Int?) {
        guard term == self.term else { return }
        if let node { handoverTo = node } else { until = .min }
    }

    // MARK: The journal

    func clock(at time: Int64) -> Int64 { time + clockOffset }

    mutating func append(_ commit: Commit) -> Appended {
        guard commit.term == term else { return .fenced }
        guard commit.number == lastCommit + 1 else { return .notNext(last: lastCommit) }
        let serials = commit.batches.map(\.serial)
        journal.append(Entry(number: commit.number, term: commit.term, batches: Set(serials)))
        for serial in serials { batches[serial] = commit.term }
        for batch in commit.batches { latest = max(latest, batch.decidedAt) }
        return .written
    }

    /// The term that has committed the batch; nil when it is not durable.
    func term(ofBatch serial: Int) -> TermKey? { batches[serial] }
}

/// The batches of one commit, as they are sent to the database. A repeated commit has the same.
struct Commit {
    var process: Int
    var node: Int
    var term: TermKey
    var attempt: Int
    var number: Int
    var batches: [ServerProcess.Batch]
}
