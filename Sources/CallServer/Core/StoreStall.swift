import CallCore
import CallMonitor
import CallVocabulary
import EventLoop
import Logging
import StoreInterface

/// Detects that the store stalls. When a commit takes more than a few seconds, requests are refused, and all other
/// inputs wait.
///
/// A hung disk, or a database that does not answer, returns no error at first. A full disk returns one, and the store
/// tries again. Confined to the core's loop.
final class StoreStall {
    /// The age of the oldest commit at which requests are refused, reads too: their replies would contain state that is
    /// not durable.
    static let patience = ServerFacts.longestCommit
    private static let betweenLooks = Duration.milliseconds(500)

    /// - Parameter failure: of the last attempt to commit; nil while it has not returned.
    static func refusal(after failure: StoreFailure?) -> SignalError {
        SignalError(
            .overloaded(retryAfter: .seconds(5)),
            "The server's \(fault(failure)); try again shortly. What was asked for may be done by then.")
    }

    private static func fault(_ failure: StoreFailure?) -> String {
        switch failure?.reason {
        case nil: "store does not answer"
        case .diskFull: "disk is full"
        case .noSynchronousStandby: "database waits for its standby server"
        case .unreachable, .tooManyConnections, .leaseExpired, .postgreSQL, .accessDenied:
            "database cannot be reached"
        case .fenced: "place was taken by another server"
        default: "store cannot be written"
        }
    }

    private let outputs: CoreOutputs
    private let log: Logger
    /// Why commits fail now; nil while they succeed or do not return.
    private let failure: () -> StoreFailure?
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

    init(
        loop: EventLoop, outputs: CoreOutputs, log: Logger, patience: Duration = StoreStall.patience,
        failure: @escaping () -> StoreFailure?
    ) {
        self.outputs = outputs
        self.log = log
        self.patience = patience
        self.failure = failure
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

    /// During a stall, leaves the store's answers in `inputs`: requests are refused, others are held.
    func admit(_ inputs: inout [CoreInput]) {
        guard isOn else { return }
        let error = Self.refusal(after: failure())
        var refusals: [RequestRefusal] = []
        var passed: [CoreInput] = []
        for input in inputs {
            if let refusal = input.refusal(error) {
                refusals.append(refusal)
            } else if case .store = input {
                // The core's deadlines for its questions go on.
                passed.append(input)
            } else {
                held.append(input)
            }
        }
        inputs = passed
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
        let failure = failure()
        if !isOn {
            isOn = true
            log.error(
                "the \(Self.fault(failure)); requests are refused",
                metadata: ["commit_waits_ms": .stringConvertible(age.wholeMilliseconds)])
        }
        var refusals: [RequestRefusal] = []
        for batch in batches.prefix(while: { $0.since.duration(to: now) >= patience }) {
            refusals += batch.refuseAnswers(with: Self.refusal(after: failure))
        }
        outputs.refuse(refusals)
        onLook?(true, [])
        setTimer(after: Self.betweenLooks)
    }

    private func end() {
        guard isOn else { return }
        isOn = false
        log.notice("the store is written again")
        let held = held
        self.held = []
        onLook?(false, held)
    }
}

@available(*, unavailable)
extension StoreStall: Sendable {}
