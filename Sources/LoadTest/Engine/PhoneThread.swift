import EventLoop
import Glibc
import SoftphoneKit
import SoftphoneSession

/// One phone thread: its workload, its pace, its recorder. On its loop.
final class PhoneThread {
    private let environment: WorkloadEnvironment
    private let workload: any Workload
    private var pacer: (any Pacer)?
    private var probe: LoopProbe?
    private var occupancy: Occupancy?
    /// The operations of this thread in ``RunCounters``.
    private var toldUnderWay = 0
    private var schedule: LoadSchedule?
    private var ticker: LoopTimer?
    private var nextTick: ContinuousClock.Instant?
    private var lastTick = ContinuousClock.now
    private var preparation: ((Result<Void, any Error>) -> Void)?
    private var isAborted = false
    /// When the last operation of an exhausted workload ended.
    private(set) var doneAt: ContinuousClock.Instant?

    private var recorder: Recorder { environment.recorder }

    init(_ environment: WorkloadEnvironment, _ workload: any Workload) {
        self.environment = environment
        self.workload = workload
        recorder.firstStage = workload.stages.first
    }

    var stages: [LoadStage] { workload.stages }
    var underWay: Int { workload.underWay }
    var failures: FailureCounts { recorder.result.failureCounts }

    func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        // A closed workload never completes its preparation.
        guard !isAborted else { return completion(.failure(Self.aborted)) }
        preparation = completion
        workload.prepare { [weak self] in self?.isPrepared($0) }
    }

    private func isPrepared(_ result: Result<Void, any Error>) {
        let completion = preparation
        preparation = nil
        completion?(result)
    }

    /// Drops everything, in a run without a report.
    func abort() {
        // Timers end on their loop.
        pacer = nil
        probe = nil
        ticker = nil
        isAborted = true
        workload.close()
        isPrepared(.failure(Self.aborted))
    }

    private static let aborted = LoadError("asked to end")

    /// Begins the load.
    /// - Throws: `SystemError` when the process is out of descriptors.
    func begin(_ schedule: LoadSchedule) throws {
        self.schedule = schedule
        recorder.schedule = schedule
        occupancy = Occupancy(start: schedule.warmUpEnd)
        let begin: BeginOperation = { [unowned self] in beginOperation($0, late: $1) }
        let loop = environment.loop
        let plan = environment.plan
        switch plan.pace {
        case .open(let rate):
            pacer = try OpenPacer(
                loop: loop,
                arrivals: Arrivals(
                    rate: rate / Double(environment.threads), ramp: plan.ramp,
                    generator: environment.generator(.arrivals)), beginOperation: begin)
        case .closed:
            pacer = ClosedPacer(
                loop: loop, concurrency: environment.places, ramp: plan.ramp,
                underWay: { [unowned self] in workload.underWay }, beginOperation: begin)
        }
        probe = try LoopProbe(loop: loop, start: schedule.start) { [recorder] in recorder.lagged($0, due: $1) }
        recorder.onOperationOver = { [unowned self] in operationOver(well: $0) }
        lastTick = schedule.start
        recorder.closeSecond(at: schedule.start, underWay: 0, time: .current)
        noteDone()
        ticker = LoopTimer(loop: loop) { [weak self] in self?.tick() }
        nextTick = schedule.nextTick(after: schedule.start)
        armTicker()
        pacer?.begin(start: schedule.start)
    }

    private func noteUnderWay() {
        let underWay = workload.underWay
        var isCounted = false
        if let schedule, occupancy != nil {
            // A late thread begins operations after the end that were due before it.
            let now = min(.now, schedule.end)
            occupancy?.set(underWay, at: now)
            isCounted = now >= schedule.warmUpEnd
        }
        environment.counters.underWay(underWay - toldUnderWay, isCounted: isCounted)
        toldUnderWay = underWay
    }

    private func operationOver(well: Bool) {
        noteUnderWay()
        noteDone()
        pacer?.operationOver(well: well)
    }

    private func noteDone() {
        if doneAt == nil, workload.isExhausted, workload.underWay == 0 { doneAt = .now }
    }

    private func beginOperation(_ due: ContinuousClock.Instant, late: Duration?) -> Bool {
        // The end may be noticed a little late.
        guard !workload.isExhausted, let schedule, due < schedule.end else { return false }
        guard workload.begin(due: due) else {
            // In a closed loop nothing is due; the pacer tries again.
            if late != nil { recorder.notBegun() } else { recorder.refused() }
            return false
        }
        noteUnderWay()
        recorder.begun(due: due, late: late)
        return true
    }

    /// Begins nothing new from `end` on, which is where the measured part ends.
    func stopBeginning(end: ContinuousClock.Instant) {
        guard let pacer else { return }
        schedule?.cut(at: end)
        recorder.schedule = schedule
        pacer.finish(end: end)
        self.pacer = nil
        probe = nil
        noteUnderWay()
        if let occupancy { recorder.note(occupancy) }
        occupancy = nil
        nextTick = nil
        // Other threads may not have come to the end yet.
        recorder.onOperationOver = { [weak self] _ in self?.noteUnderWay() }
        // It may turn out late that all was done before the last tick.
        recorder.closeSecond(at: max(end, lastTick), underWay: workload.underWay, time: .current)
    }

    /// Ends at once what is held.
    func endHeld() { workload.endHeld() }

    /// Drops the connections.
    /// - Parameters:
    ///   - now: the end of the wait for operations under way, the same for all threads.
    ///   - end: what ended it.
    func finish(at now: ContinuousClock.Instant, _ end: DrainEnd) -> ThreadResult {
        if workload.underWay > 0 { noteNotOver(at: now, end) }
        ticker = nil
        let result = ThreadResult(
            recorded: recorder.result, seconds: recorder.takeSeconds(), figures: workload.figures,
            stages: workload.stages, name: environment.loop.name)
        // Failures by closing do not count.
        workload.close()
        return result
    }

    private func noteNotOver(at now: ContinuousClock.Instant, _ end: DrainEnd) {
        let time = schedule.map { max(.zero, $0.end.duration(to: now)).inSeconds } ?? 0
        let after = "\((time * 10).rounded() / 10) s after the load had ended"
        switch end {
        case .asked: recorder.cutShort(workload.underWay)
        case .patience: recorder.notOver("not over \(after)", count: workload.underWay)
        case .serverGone:
            recorder.notOver("not over when the server was given up, \(after)", count: workload.underWay)
        }
    }

    // MARK: Seconds

    func takeSeconds() -> [Recorder.Second] { recorder.takeSeconds() }

    private func armTicker() {
        guard let nextTick else { return }
        ticker?.start(after: ContinuousClock.now.duration(to: nextTick))
    }

    private func tick() {
        guard let tick = nextTick, let schedule else { return }
        guard tick < schedule.end else { return stopBeginning(end: tick) }
        recorder.closeSecond(at: tick, underWay: workload.underWay, time: .current)
        lastTick = tick
        nextTick = schedule.nextTick(after: tick)
        armTicker()
    }
}

@available(*, unavailable)
extension PhoneThread: Sendable {}

/// The results of a phone thread.
struct ThreadResult: Sendable {
    let recorded: Recorder.Result
    /// Those not taken before.
    let seconds: [Recorder.Second]
    let figures: [Figure]
    let stages: [LoadStage]
    let name: String
}
