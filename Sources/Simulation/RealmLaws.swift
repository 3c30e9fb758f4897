import CallVocabulary

/// The laws of a realm: what its processes release, all together, is what one process could have released.
struct RealmLaws {
    private var winners: [CallID: (party: Party, term: TermKey)] = [:]
    /// How often a winner was told again by another term.
    private(set) var repeated = 0

    /// Nothing of a term is released once a later one has begun, nor beside another one of the same number.
    func violation(releasing what: String, _ term: TermKey, latest: TermKey) -> String? {
        term == latest ? nil : "\(term.name) released \(what) after \(latest.name) had begun"
    }

    /// What is told is on the disk, and was committed by the process that tells it.
    func violation(tellingOf batch: ServerProcess.Batch, _ term: TermKey, in database: SharedDisk) -> String? {
        guard !batch.rows.isEmpty else { return nil }
        guard let committed = database.term(ofBatch: batch.serial) else { return "released what is not on the disk" }
        return committed == term ? nil : "\(term.name) released a commit of \(committed.name)"
    }

    /// No term commits once a later one has begun, nor beside another one of the same number.
    func violation(in database: SharedDisk) -> String? {
        guard let last = database.journal.last, last.term != database.term else { return nil }
        return "\(last.term.name) committed \(last.number) after \(database.term.name) had begun"
    }

    /// Time runs on from one term to the next.
    func violation(in commit: Commit, of database: SharedDisk) -> String? {
        let isBack = commit.term == database.term && commit.batches.contains { $0.decidedAt < database.termBegan }
        return isBack ? "\(commit.term.name) has times of before it began" : nil
    }

    /// A call has one winner.
    mutating func won(_ call: CallID, _ party: Party, _ term: TermKey) -> String? {
        guard let known = winners[call] else {
            winners[call] = (party, term)
            return nil
        }
        if known.term != term { repeated += 1 }
        return known.party == party ? nil : "two devices were told that they have won \(call)"
    }
}

extension TermKey {
    fileprivate var name: String { "epoch \(epoch) (term \(id))" }
}
