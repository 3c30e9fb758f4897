import CallVocabulary
import Determinism

/// Users come into memory when they are needed, and leave it when they are idle and there are more than
/// ``CoreLimits/idleUsers``.
///
/// A user leaves only when the store's tables contain every record about it, so that the next lookup reads what was
/// written last. The store is asked to settle for that, at most once at a time; each settling begins a generation of
/// records.
extension CallCore {
    /// Takes in what the store has read. What is in memory is newer.
    func takeIn(_ entries: [DirectoryEntry]) {
        for entry in entries where directory.user(entry.name) == nil { takeIn(entry) }
    }

    private func takeIn(_ entry: DirectoryEntry) {
        let user = directory.add(entry.name)
        if let policy = entry.policy {
            user.policy = policy
            user.hasOwnPolicy = true
        }
        user.rules = entry.rules
        user.revokedBefore = entry.revokedBefore
        user.missed = entry.missed.suffix(limits.missedPerUser)
        user.aliasOf = entry.aliasOf
        user.aliases = Set(entry.aliases)
        user.group = entry.group
        user.memberships = Set(entry.memberships)
        for record in entry.devices { restore(record, of: user) }
        for sync in entry.sentSyncs {
            user.backgroundBudgets[sync.device, default: BackgroundBudget()].spend(at: sync.sentAt, limits)
        }
        if user.isNobody { directory.demote(user) }
    }

    /// Drops devices that were not seen for long.
    func dropTooOld(_ handle: Handle) {
        for device in directory.user(handle)?.devices ?? [] where device.ageDeadline != nil { ageDue(device) }
    }

    private func restore(_ record: DeviceRecord, of user: User) {
        let device = Device(record, user: user)
        user.devices.append(device)
        _ = directory.setTokens(record.tokens.map(\.token), of: device, now: now)
        device.tokens = record.tokens
        awaitAge(of: device)
    }

    /// Stores a record about the user.
    func persist(_ record: StoreRecord, about user: User) {
        user.generation = generation
        persist(record)
    }

    // MARK: Leaving memory

    /// Users that may not leave yet are passed over, so many in one step.
    private static let mostPassedOver = 16

    func letIdleUsersGo() {
        var passedOver = 0
        while directory.idle.count > limits.idleUsers, let user = directory.idle.oldest {
            // Most of those behind it were written later.
            guard user.generation <= settledGeneration else { return settle() }
            if hasFullBounds(user) {
                leave(user)
            } else {
                guard passedOver < Self.mostPassedOver else { return }
                passedOver += 1
                directory.renew(user)
            }
        }
    }

    private func leave(_ user: User) {
        for device in user.devices {
            cancel(device.absence)
            cancel(device.ageDeadline)
        }
        latestDeparture = max(latestDeparture, user.generation)
        directory.remove(user)
    }

    /// So much of ``CoreLimits/storedBytesPerUser``, as time, may be forgotten with a user: each request spends some, and a
    /// user who comes back to spend it again comes back too seldom for more than the limit.
    private static let negligible = Duration.milliseconds(100)

    /// Whether nothing of the user's rate limits is spent: they are not stored.
    private func hasFullBounds(_ user: User) -> Bool {
        let window = max(timers.pushWindow, Self.minute)
        let bounds = [
            user.pushBound, user.devicePushBound, user.noticeBound, user.allowanceBound, user.deviceUpdateBound,
            user.candidateBound,
        ]
        let pairs = [user.pairBounds, user.noticePairBounds]
        return bounds.allSatisfy { $0.isFull(at: now, in: window) }
            && pairs.allSatisfy { $0.isFull(at: now, in: window) }
            && user.storageBound.isFull(at: now + Self.negligible, in: window)
            && user.devices.allSatisfy {
                $0.pushBound.isFull(at: now, in: window) && $0.noticeBound.isFull(at: now, in: window)
            }
    }

    /// A store that cannot be written now may not answer.
    static let settlePatience = Duration.seconds(10)

    /// Asks the store to apply its journal, unless it was asked a moment ago.
    func settle() {
        guard settlingSince.map({ now >= $0 + Self.settlePatience }) ?? true else { return }
        settlingSince = now
        effects.append(.settle(generation))
        generation += 1
    }

    /// The store's tables contain all records of the generation and those before it.
    func settled(_ generation: UInt64) {
        settledGeneration = max(settledGeneration, generation)
        if settledGeneration + 1 == self.generation { settlingSince = nil }
        let calls = leavingCalls
        leavingCalls = []
        for call in calls { forget(call) }
    }
}
