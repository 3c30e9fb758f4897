import CallVocabulary

/// The laws of a realm: what its processes release, all together, is what one process could have released.
struct RealmLaws {
    private var winners: [CallID: (party: Party, epoch: Int)] = [:]
    /// How often a winner was told again by another epoch.
    private(set) var repeated = 0

    /// Nothing of an epoch is released once a later one has begun.
    func violation(releasing what: String, epoch: Int, latest: Int) -> String? {
        epoch == latest ? nil : "epoch \(epoch) released \(what) after epoch \(latest) had begun"
    }

    /// What is told is on the disk, and was committed by the process that tells it.
    func violation(tellingOf batch: ServerProcess.Batch, epoch: Int, in database: SharedDisk) -> String? {
        guard !batch.rows.isEmpty else { return nil }
        guard let committed = database.epoch(ofBatch: batch.serial) else { return "released what is not on the disk" }
        return committed == epoch ? nil : "epoch \(epoch) released a commit of epoch \(committed)"
    }

    /// No epoch commits once a later one has begun.
    func violation(in database: SharedDisk) -> String? {
        guard let last = database.journal.last, last.epoch != database.epoch else { return nil }
        return "epoch \(last.epoch) committed \(last.number) after epoch \(database.epoch) had begun"
    }

    /// Time runs on from one epoch to the next.
    func violation(in commit: Commit, of database: SharedDisk) -> String? {
        let isBack = commit.epoch == database.epoch && commit.batches.contains { $0.decidedAt < database.epochBegan }
        return isBack ? "epoch \(commit.epoch) has times of before it began" : nil
    }

    /// A call has one winner.
    mutating func won(_ call: CallID, _ party: Party, epoch: Int) -> String? {
        guard let known = winners[call] else {
            winners[call] = (party, epoch)
            return nil
        }
        if known.epoch != epoch { repeated += 1 }
        return known.party == party ? nil : "two devices were told that they have won \(call)"
    }
}
