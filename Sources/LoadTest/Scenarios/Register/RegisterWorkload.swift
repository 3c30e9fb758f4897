import SoftphoneKit
import SoftphoneSession

/// Sessions that are opened, one operation each, and kept.
final class RegisterWorkload: Workload {
    let stages: [LoadStage] = [.open]
    private(set) var underWay = 0

    private let environment: WorkloadEnvironment
    private let pool: PhonePool
    private let count: Int
    private var next = 0
    /// By phone, while its session opens.
    private var due: [ContinuousClock.Instant?]

    init(_ environment: WorkloadEnvironment) {
        self.environment = environment
        pool = PhonePool(environment: environment)
        count = environment.share(of: environment.plan.sessions)
        due = Array(repeating: nil, count: count)
    }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        pool.onEvent = { [unowned self] in happened($1, to: $0) }
        pool.make(count: count, completion: completion)
    }

    func begin(due: ContinuousClock.Instant) -> Bool {
        guard next < count else { return false }
        underWay += 1
        self.due[next] = due
        pool.phones[next].start()
        next += 1
        return true
    }

    /// An opening that fails is not tried again.
    var isExhausted: Bool { next == count }

    func close() { pool.close() }

    private func happened(_ event: SoftphoneEvent, to phone: Int) {
        guard let due = due[phone] else { return pool.noteLoss(event, of: phone) }
        guard case .connection(let change) = event else { return }
        self.due[phone] = nil
        underWay -= 1
        switch change {
        case .up, .resumed:
            environment.recorder.passed(.open, since: due)
            environment.recorder.completed()
        case .down(_, let reason, _): failed(phone, reason)
        case .gone(let reason): failed(phone, "\(reason)")
        case .offline: failed(phone, "went offline")
        }
    }

    private func failed(_ phone: Int, _ reason: String) {
        pool.phones[phone].abandon()
        environment.recorder.failed("open: \(environment.advice.with(reason))")
    }
}

@available(*, unavailable)
extension RegisterWorkload: Sendable {}
