import SoftphoneKit
import SoftphoneSession

/// A workload beside standing calls, which have no part in it. On the thread's loop.
final class AmongStandingCalls: Workload {
    /// The users of these calls are counted from here, behind those of any work.
    private static let firstUser = 900_000_000

    private let work: any Workload
    private let pool: PhonePool
    private let standing: StandingCalls
    private let count: Int

    init(_ work: any Workload, _ environment: WorkloadEnvironment) {
        self.work = work
        count = environment.share(of: environment.plan.standing)
        var apart = environment
        apart.firstUser = Self.firstUser
        pool = PhonePool(environment: apart)
        standing = StandingCalls(pool: pool, perPair: LoadPlan.standingPerPair)
    }

    var stages: [LoadStage] { work.stages }
    var underWay: Int { work.underWay }
    var isExhausted: Bool { work.isExhausted }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        pool.onEvent = { [unowned self] phone, event in
            pool.noteLoss(event, of: phone)
            standing.happened(event, to: phone)
        }
        pool.open(count: LoadPlan.sessions(ofStanding: count)) { [unowned self] opened in
            guard case .success = opened else { return completion(opened) }
            standing.setUp(count: count) { [unowned self] stand in
                guard case .success = stand else { return completion(stand) }
                work.prepare(completion)
            }
        }
    }

    func endHeld() { work.endHeld() }

    func begin(due: ContinuousClock.Instant) -> Bool { work.begin(due: due) }

    var figures: [Figure] {
        let left = standing.calls.count { !$0.isOver }
        return work.figures + [LoadFigure.Work.standingCalls.figure(left)]
    }

    func close() {
        standing.removeAll()
        pool.close()
        work.close()
    }
}

@available(*, unavailable)
extension AmongStandingCalls: Sendable {}
