import CallVocabulary

/// What is to be done. Effects are carried out in order; nothing leaves the process before the records that precede it
/// in the buffer are committed.
public enum CoreEffect: Equatable, Sendable {
    case persist(StoreRecord)
    case send(ConnectionID, ServerMessage)
    case disconnect(ConnectionID, CloseCode)
    /// Line up for the wire; the push client asks back with `pushReady`.
    case queuePush(PushOrder)
    /// Committed as sent: put it on the wire now.
    case transmitPush(PushID)
    /// Not wanted any more; it has not been on the wire.
    case dropPush(PushID)
    /// Look the call up in the store and say `callFound`.
    case findCall(CallID)
    /// For whoever watches. It has no part in what is acknowledged.
    case observe(SessionChange)
    case answer(AdminRequestID, Result<AdminReply, AdminRefusal>)
}

/// Effects in the order they are to be carried out.
public struct EffectBuffer: Sendable {
    public private(set) var effects: [CoreEffect] = []

    public init() {}

    mutating func append(_ effect: CoreEffect) { effects.append(effect) }

    /// Hands the effects over and is empty again.
    public mutating func drain() -> [CoreEffect] {
        defer { effects = [] }
        return effects
    }
}
