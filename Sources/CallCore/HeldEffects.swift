import CallVocabulary
import PushVocabulary

/// Proof that the records that precede a batch of effects are durable.
///
/// The write side of a store makes one for each batch that it has committed. ``HeldEffects`` release no effect without
/// one.
public struct CommitReceipt: Sendable {
    /// Created by the write side of a store, after the commit. Also by the core's loop, after a turn that made no
    /// records, if no commit is pending.
    package init() {}
}

/// Effects that wait for the commit of the records that were made with them.
public struct HeldEffects: Sendable {
    private var effects: [CoreEffect]

    package init(_ effects: [CoreEffect]) {
        self.effects = effects
    }

    public var isEmpty: Bool { effects.isEmpty }

    /// The effects, each of which may be carried out now.
    public func release(_ receipt: CommitReceipt) -> [CoreEffect] { effects }

    // MARK: What need not wait

    /// New pushes: the push client may queue them while the commit is pending.
    public var newPushes: [PushIntent] {
        effects.compactMap { if case .queueNewPush(let intent) = $0 { intent } else { nil } }
    }

    /// Pushes that an earlier commit has made durable as sent: they leave at once.
    public var transmissions: [PushID] {
        effects.compactMap { if case .transmitPush(let id) = $0 { id } else { nil } }
    }

    /// Questions to the store, about what no pending record changes.
    public var lookUps: [(number: UInt64, wanted: Wanted)] {
        effects.compactMap { if case .lookUp(let number, let wanted) = $0 { (number, wanted) } else { nil } }
    }

    /// Whether ``transmissions`` and ``lookUps`` are the only effects.
    public var needNotWait: Bool {
        effects.allSatisfy {
            switch $0 {
            case .transmitPush, .lookUp: true
            default: false
            }
        }
    }

    // MARK: While they wait

    /// The same effects, each changed by `change`, for example in its times.
    public func map(_ change: (CoreEffect) -> CoreEffect) -> HeldEffects { HeldEffects(effects.map(change)) }

    /// Takes out the effects that `refusal` gives a value for, and returns the values.
    package mutating func takeOut<Value>(_ refusal: (CoreEffect) -> Value?) -> [Value] {
        var values: [Value] = []
        effects.removeAll { effect in
            guard let value = refusal(effect) else { return false }
            values.append(value)
            return true
        }
        return values
    }
}
