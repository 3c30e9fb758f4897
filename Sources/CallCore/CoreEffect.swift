import CallVocabulary
import PushVocabulary

/// An action for the shell, which is the server around the core. The shell performs effects in order, after it has
/// committed the records that precede them in the buffer: nothing leaves the process before. Only ``queueNewPush(_:)``,
/// ``transmitPush(_:)`` and ``lookUp(_:_:)`` need not wait.
///
/// Large, rare payloads are indirect, because effects are moved between threads.
public enum CoreEffect: Equatable, Sendable {
    indirect case persist(StoreRecord)
    case send(ConnectionID, ServerMessage)
    case disconnect(ConnectionID, CloseCode)
    /// Add the push to the push client's queue; the push client answers with `pushReady` in its turn.
    indirect case queuePush(PushIntent)
    /// The same for a push that was never queued, so that no earlier effect concerns it. It may be performed at once,
    /// in parallel with the commit of the records before it. The push stays in the process until ``transmitPush(_:)``.
    indirect case queueNewPush(PushIntent)
    /// Answer `pushCommitted` once the records that precede this are on disk. The core then checks again whether the
    /// push is still needed.
    case confirmPush(PushID)
    /// Send the push now, without waiting for pending commits: it is on disk as sent.
    case transmitPush(PushID)
    /// Drop the push from the queue; it was not sent.
    case dropPush(PushID)
    /// Look up in the store what is wanted, and answer `found` with this number. It may be performed at once, without
    /// waiting for pending commits: the tables contain every record about what is not in memory.
    indirect case lookUp(UInt64, Wanted)
    /// Make the store's tables contain all records that precede this, and answer `settled` with this generation.
    case settle(UInt64)
    /// Read the page from the store and answer `historyRead`.
    indirect case readHistory(ConnectionID, RequestID, HistoryQuery)
    /// Ask the backend and answer `authorized`, in time: the core does not wait longer than its policy says.
    indirect case authorize(AuthorizationQuestion)
    /// Ask the backend about a session and answer `sessionAuthorized`, under the same time limit.
    indirect case authorizeSession(ConnectionID, SessionQuestion)
    /// For observers. Nothing that the server acknowledges depends on it.
    indirect case observe(SessionChange)
    indirect case answer(AdminRequestID, Result<AdminReply, AdminRefusal>)
}

/// Effects in the order in which they are performed. Records are kept apart from the others, so that the store gets
/// them as an array.
public struct EffectBuffer: Sendable {
    private var records: [StoreRecord] = []
    /// For each record, its owner, if a later record of the owner may replace it.
    private var owners: [ObjectIdentifier?] = []
    /// All effects but `persist`.
    private var outputs: [CoreEffect] = []
    /// For each output, how many records precede it.
    private var recordsBefore: [Int] = []

    public init() {}

    mutating func append(_ effect: CoreEffect) {
        outputs.append(effect)
        recordsBefore.append(records.count)
    }

    mutating func persist(_ record: StoreRecord) { add(record, of: nil) }

    /// Appends `record`, or replaces the owner's previous record if that was not taken yet.
    /// - Parameters:
    ///   - owner: the object that the record describes. All its records have the same key, and a later one contains
    ///     everything of an earlier one.
    ///   - place: the index of the owner's previous record; nil before the first.
    /// - Returns: the index of this record, for the owner's next one.
    mutating func persist(_ record: StoreRecord, of owner: ObjectIdentifier, at place: Int?) -> Int {
        // An index from before the last `take()` belongs to another owner, or to none.
        if let place, place < owners.count, owners[place] == owner {
            records[place] = record
            return place
        }
        add(record, of: owner)
        return records.count - 1
    }

    private mutating func add(_ record: StoreRecord, of owner: ObjectIdentifier?) {
        records.append(record)
        owners.append(owner)
    }

    /// Returns the effects and empties the buffer. The records come separately, for a shell that commits all of them
    /// before it performs any output.
    public mutating func take() -> (records: [StoreRecord], outputs: HeldEffects) {
        let taken = (records, outputs)
        // The next batch has about the same size: reserving it costs less than growing.
        records = []
        records.reserveCapacity(min(taken.0.count, Self.mostReserved))
        outputs = []
        outputs.reserveCapacity(min(taken.1.count, Self.mostReserved))
        owners.removeAll(keepingCapacity: true)
        recordsBefore.removeAll(keepingCapacity: true)
        return (taken.0, HeldEffects(taken.1))
    }

    private static let mostReserved = 256

    /// Returns the effects one by one in their order, and empties the buffer. A record that replaced an earlier one has
    /// the place of the earlier one.
    public mutating func drain() -> [CoreEffect] {
        let places = recordsBefore
        let outputs = self.outputs
        let (records, _) = take()
        var effects: [CoreEffect] = []
        var next = 0
        for (output, place) in zip(outputs, places) {
            while next < place {
                effects.append(.persist(records[next]))
                next += 1
            }
            effects.append(output)
        }
        return effects + records[next...].map { .persist($0) }
    }
}
