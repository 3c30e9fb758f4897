import CallCore
import CallVocabulary
import EventLoop
import Logging
import StoreInterface

/// Detects that the store stalls. When a commit takes more than a few seconds, requests are refused, and all other
/// inputs wait.
///
/// A hung disk returns no error: calls just do not return. Confined to the core's loop.
final class StoreStall {
    /// The age of the oldest commit at which requests are refused, reads too: their replies would contain state that is
    /// not durable.
    static let patience = Duration.seconds(3)
    private static let betweenLooks = Duration.milliseconds(500)
    private static let refusal = SignalError(
        .overloaded(retryAfter: .seconds(5)),
        "The server's disk does not answer; try again shortly. What was asked for may be done by then.")

    private let outputs: CoreOutputs
    private let log: Logger
    private let patience: Duration
    private var timer: LoopTimer?
    private var isTimerSet = false
    /// In the order in which they were given to the store.
    private var batches: [PendingBatch] = []
    /// Inputs other than requests that arrived during the stall.
    private var held: [CoreInput] = []
    private(set) var isOn = false
    /// Called when a stall begins, at each check during it, and, with the held inputs, at its end. Refers back to its
    /// owner.
    var onLook: ((_ isOn: Bool, _ held: [CoreInput]) -> Void)?

    init(loop: EventLoop, outputs: CoreOutputs, log: Logger, patience: Duration = StoreStall.patience) {
        self.outputs = outputs
        self.log = log
        self.patience = patience
        timer = LoopTimer(loop: loop) { [weak self] in self?.look() }
    }

    /// Holds `effects` until the store has their rows, or their requests have waited too long.
    func hold(_ effects: HeldEffects) -> PendingBatch {
        let batch = PendingBatch(effects, since: .now)
        while batches.first?.isReleased == true { batches.removeFirst() }
        batches.append(batch)
        if !isTimerSet { setTimer(after: patience) }
        return batch
    }

    /// During a stall, empties `inputs`: requests are refused, others are held.
    func admit(_ inputs: inout [CoreInput]) {
        guard isOn else { return }
        var refusals: [RequestRefusal] = []
        for input in inputs {
            if let refusal = input.refusal(Self.refusal) { refusals.append(refusal) } else { held.append(input) }
        }
        inputs.removeAll()
        outputs.refuse(refusals)
    }

    private func setTimer(after delay: Duration) {
        isTimerSet = true
        timer?.start(after: delay)
    }

    private func look() {
        isTimerSet = false
        while batches.first?.isReleased == true { batches.removeFirst() }
        let now = ContinuousClock.now
        let age = batches.first.map { $0.since.duration(to: now) } ?? .zero
        guard age >= patience else {
            if !batches.isEmpty { setTimer(after: isOn ? Self.betweenLooks : max(Self.betweenLooks, patience - age)) }
            return end()
        }
        if !isOn {
            isOn = true
            log.error(
                "the disk does not answer; requests are refused",
                metadata: ["commit_waits_ms": .stringConvertible(age.wholeMilliseconds)])
        }
        var refusals: [RequestRefusal] = []
        for batch in batches.prefix(while: { $0.since.duration(to: now) >= patience }) {
            refusals += batch.refuseAnswers(with: Self.refusal)
        }
        outputs.refuse(refusals)
        onLook?(true, [])
        setTimer(after: Self.betweenLooks)
    }

    private func end() {
        guard isOn else { return }
        isOn = false
        log.notice("the disk answers again")
        let held = held
        self.held = []
        onLook?(false, held)
    }
}

@available(*, unavailable)
extension StoreStall: Sendable {}
