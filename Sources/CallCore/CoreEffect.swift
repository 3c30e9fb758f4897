import CallVocabulary
import PushVocabulary

/// What is to be done. Effects are carried out in order, once the records that precede them in the buffer are committed: so
/// nothing leaves the process before. Only ``queueNewPush(_:)`` and ``transmitPush(_:)`` need not wait. What is large and rare is indirect, because
/// effects are moved from thread to thread.
public enum CoreEffect: Equatable, Sendable {
    indirect case persist(StoreRecord)
    case send(ConnectionID, ServerMessage)
    case disconnect(ConnectionID, CloseCode)
    /// Line up for the wire; the push client asks back with `pushReady`.
    indirect case queuePush(PushIntent)
    /// The same for a push that was never in line, so that no earlier effect is about it: it may be done at once, beside the
    /// commit of what precedes it. It stays in the process until ``transmitPush(_:)``.
    indirect case queueNewPush(PushIntent)
    /// Say `pushCommitted` once the records that precede this are on disk. However long that took, the core then looks once
    /// more.
    case confirmPush(PushID)
    /// It is on disk as sent, and wanted: put it on the wire now, whatever waits for a commit.
    case transmitPush(PushID)
    /// Not wanted any more; it has not been on the wire.
    case dropPush(PushID)
    /// Look the call up in the store and say `callFound`.
    case findCall(CallID)
    /// Read the page from the store and say `historyRead`.
    indirect case readHistory(ConnectionID, RequestID, HistoryQuery)
    /// For whoever watches. It has no part in what is acknowledged.
    indirect case observe(SessionChange)
    indirect case answer(AdminRequestID, Result<AdminReply, AdminRefusal>)
}

/// Effects in the order they are to be carried out. What is to be kept lies by itself, so that it goes to the store as it
/// is.
public struct EffectBuffer: Sendable {
    private var records: [StoreRecord] = []
    /// Of each record, whose it is, where a later one may take its place.
    private var owners: [ObjectIdentifier?] = []
    /// All effects but `persist`.
    private var outputs: [CoreEffect] = []
    /// Of each output, how many records precede it.
    private var recordsBefore: [Int] = []

    public init() {}

    mutating func append(_ effect: CoreEffect) {
        outputs.append(effect)
        recordsBefore.append(records.count)
    }

    mutating func persist(_ record: StoreRecord) { add(record, of: nil) }

    /// Keeps `record` in the place of the one before of `owner`, where that has not been handed over yet.
    /// - Parameters:
    ///   - owner: what the record is of. Its records all have one key, and what they say of steps that were taken, later
    ///     ones say as well.
    ///   - place: where the one before went; kept by the owner for this alone.
    mutating func persist(_ record: StoreRecord, of owner: ObjectIdentifier, at place: inout Int?) {
        // A place from an earlier time is somebody else's now, or nobody's.
        if let place, place < owners.count, owners[place] == owner {
            records[place] = record
        } else {
            place = records.count
            add(record, of: owner)
        }
    }

    private mutating func add(_ record: StoreRecord, of owner: ObjectIdentifier?) {
        records.append(record)
        owners.append(owner)
    }

    /// Hands the effects over and is empty again: the records by themselves, for whoever commits them all before it
    /// carries out anything else.
    public mutating func take() -> (records: [StoreRecord], outputs: [CoreEffect]) {
        let taken = (records, outputs)
        // What comes next is about as much: room for it at once costs less than growing into it.
        records = []
        records.reserveCapacity(min(taken.0.count, Self.mostReserved))
        outputs = []
        outputs.reserveCapacity(min(taken.1.count, Self.mostReserved))
        owners.removeAll(keepingCapacity: true)
        recordsBefore.removeAll(keepingCapacity: true)
        return taken
    }

    private static let mostReserved = 256

    /// Hands the effects over, one by one in their order, and is empty again. A record that has taken the place of one before
    /// stands there.
    public mutating func drain() -> [CoreEffect] {
        let places = recordsBefore
        let (records, outputs) = take()
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
