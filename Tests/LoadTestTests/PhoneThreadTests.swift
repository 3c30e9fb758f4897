import Determinism
import EventLoop
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@testable import LoadTest

/// The pace of a thread, with work that takes no time of its own.
@Suite("A phone thread") struct PhoneThreadTests {
    /// Is free, or not, as it is told, and ends nothing by itself.
    private final class StubWork: Workload {
        let stages = [LoadStage.inviteResult]
        var underWay = 0
        var begun: [ContinuousClock.Instant] = []
        var most = 0
        var isFree: (Int) -> Bool = { _ in true }
        var asked = 0
        var isClosed = false
        var isHurried = false
        let recorder: Recorder

        init(_ recorder: Recorder) { self.recorder = recorder }

        func prepare(_ completion: @escaping (Result<Void, any Error>) -> Void) {}

        func begin(due: ContinuousClock.Instant) -> Bool {
            asked += 1
            guard isFree(asked) else { return false }
            begun.append(due)
            underWay += 1
            most = max(most, underWay)
            return true
        }

        func end() {
            underWay -= 1
            recorder.completed()
        }

        func endHeld() { isHurried = true }

        func close() { isClosed = true }
    }

    private struct Parts {
        let loop: EventLoop
        let thread: PhoneThread
        let work: StubWork
        let counters: RunCounters
    }

    /// Runs `body` on a phone thread that is made for it.
    private func onThread<Value: Sendable>(
        _ plan: LoadPlan, _ body: @escaping @Sendable (Parts) throws -> Value
    ) async throws -> Value {
        try await onThread(plan) { parts, done in done(Result { try body(parts) }) }
    }

    /// - Parameter body: calls what it is given once, on the loop.
    private func onThread<Value: Sendable>(
        _ plan: LoadPlan,
        _ body: @escaping @Sendable (Parts, @escaping @Sendable (Result<Value, any Error>) -> Void) throws -> Void
    ) async throws -> Value {
        let tokens = try await LoadTokens.made()
        let runtime = try SoftphoneRuntime()
        return try await runtime.loop.result { done in
            let (recorder, counters) = (Recorder(), RunCounters())
            let work = StubWork(recorder)
            let thread = PhoneThread(.alone(plan, runtime, tokens, recorder, counters: counters), work)
            do {
                try body(Parts(loop: runtime.loop, thread: thread, work: work, counters: counters), done)
            } catch {
                done(.failure(error))
            }
        }
    }

    private func plan(_ pace: LoadPlan.Pace) -> LoadPlan {
        var plan = LoadPlan(.online, pace: pace, target: .own(LoadTarget.OwnServer(executable: "")))
        plan.warmUp = .seconds(2)
        plan.duration = .seconds(8)
        plan.seed = 11
        return plan
    }

    /// What a thread did whose load was to begin 20 s ago, when nothing has run since.
    private struct Owed: Sendable {
        var schedule: LoadSchedule
        var begun: [ContinuousClock.Instant] = []
        var asked = 0
        var underWay = 0
        var result: ThreadResult
        var isClosed = false
    }

    /// - Parameter isFree: whether somebody is free for the operation of this number, from 1.
    private func owed(
        rate: Double, end: DrainEnd = .patience, isFree: @escaping @Sendable (Int) -> Bool = { _ in true }
    ) async throws -> Owed {
        let plan = plan(.open(rate: rate))
        return try await onThread(plan) { parts in
            parts.work.isFree = isFree
            let schedule = LoadSchedule(plan, start: .now - .seconds(20))
            try parts.thread.begin(schedule)
            parts.thread.stopBeginning(end: schedule.end)
            let underWay = parts.work.underWay
            // After a drain that was over before its limit, or that took longer.
            let result = parts.thread.finish(at: schedule.end + .milliseconds(2_340), end)
            return Owed(
                schedule: schedule, begun: parts.work.begun, asked: parts.work.asked, underWay: underWay,
                result: result, isClosed: parts.work.isClosed)
        }
    }

    @Test("that is given up before it prepares ends its preparation at once, without beginning it")
    func abortedFirst() async throws {
        let failures = try await onThread(plan(.closed(concurrency: 1))) { parts in
            var failures = 0
            parts.thread.abort()
            parts.thread.prepare { if case .failure = $0 { failures += 1 } }
            #expect(parts.work.isClosed)
            return failures
        }
        #expect(failures == 1)
    }

    @Test("that is behind begins all that was due, counted from when it was due, and tells how late it was")
    func behind() async throws {
        let owed = try await owed(rate: 100)
        let recorded = owed.result.recorded
        #expect(abs(owed.begun.count - 1000) < 150)
        #expect(owed.begun.allSatisfy { $0 >= owed.schedule.start && $0 < owed.schedule.end })
        #expect(recorded.begun == owed.begun.count { owed.schedule.counts($0) })
        #expect(recorded.lateness.count == recorded.begun)
        #expect(recorded.lateness.percentile(0) >= 10_000_000)
        #expect(recorded.failureCounts.notBegun == 0)
    }

    @Test("counts what is due when nobody is free, and goes on with what is due after it")
    func notBegun() async throws {
        let owed = try await owed(rate: 100) { !$0.isMultiple(of: 3) }
        let refused = owed.asked / 3
        #expect(refused > 200)
        #expect(owed.result.recorded.failureCounts.notBegun == refused)
        #expect(owed.result.recorded.failures[Recorder.nobodyFree] == refused)
        #expect(owed.begun.count == owed.asked - refused)
    }

    @Test("tells how many were under way at most, also between two seconds, and no more after the end")
    func most() async throws {
        let plan = plan(.open(rate: 100))
        let (atEnd, left, after) = try await onThread(plan) { parts in
            let (work, schedule) = (parts.work, LoadSchedule(plan, start: .now - .seconds(20)))
            work.isFree = { asked in
                if asked == 600 { while work.underWay > 0 { work.end() } }
                return true
            }
            try parts.thread.begin(schedule)
            parts.thread.stopBeginning(end: schedule.end)
            let left = work.underWay
            while work.underWay > 0 { work.end() }
            let atEnd = parts.counters.mostUnderWay
            parts.counters.underWay(600, isCounted: true)
            work.isFree = { _ in true }
            return (atEnd, left, parts.counters.mostUnderWay)
        }
        #expect((1..<590).contains(left) && atEnd == 599)
        // None was under way any more.
        #expect(after == 600)
    }

    @Test("with a seed begins at the same moments each time")
    func seeded() async throws {
        let (first, second) = (try await owed(rate: 50), try await owed(rate: 50))
        #expect(first.begun.count > 300)
        #expect(
            first.begun.map { first.schedule.start.duration(to: $0) }
                == second.begun.map { second.schedule.start.duration(to: $0) })
    }

    @Test("tells at the end of what is not over, after the time that it had, and drops the connections")
    func notOver() async throws {
        let owed = try await owed(rate: 10)
        #expect(owed.underWay > 0)
        #expect(owed.result.recorded.failures == ["not over 2.3 s after the load had ended": owed.underWay])
        #expect(owed.result.recorded.failureCounts.notOver == owed.underWay)
        #expect(owed.isClosed)
        // The beginning, and each second that was not come to.
        #expect(owed.result.seconds.map(\.end) == (0...10).map { owed.schedule.start + .seconds($0) })
    }

    @Test("tells of what is not over because there is no server any more")
    func notOverWithoutServer() async throws {
        let owed = try await owed(rate: 10, end: .serverGone)
        let words = "not over when the server was given up, 2.3 s after the load had ended"
        #expect(owed.underWay > 0 && owed.result.recorded.failures == [words: owed.underWay])
        #expect(owed.result.recorded.failureCounts.notOver == owed.underWay)
    }

    @Test("that is cut short counts what is not over, and calls it no failure")
    func cutShort() async throws {
        let plan = plan(.open(rate: 10))
        let (underWay, recorded, isHurried) = try await onThread(plan) { parts in
            let schedule = LoadSchedule(plan, start: .now - .seconds(20))
            try parts.thread.begin(schedule)
            parts.thread.stopBeginning(end: schedule.end)
            parts.thread.endHeld()
            let underWay = parts.work.underWay
            let result = parts.thread.finish(at: .now, .asked)
            return (underWay, result.recorded, parts.work.isHurried)
        }
        #expect(underWay > 0)
        #expect(recorded.cutShort == underWay && recorded.failures.isEmpty)
        #expect(isHurried)
    }

    @Test("knows how late its loop comes to what is due, also for what was due while it was busy")
    func lag() async throws {
        let runtime = try SoftphoneRuntime()
        let lags: [Duration] = try await runtime.loop.result { done in
            var lags: [Duration] = []
            var probe: LoopProbe?
            do {
                // Due since 200 ms, as after work that took so long.
                probe = try LoopProbe(loop: runtime.loop, start: .now - .milliseconds(200)) { lag, _ in
                    lags.append(lag)
                    guard lag < .milliseconds(10), probe != nil else { return }
                    probe = nil
                    done(.success(lags))
                }
            } catch {
                done(.failure(error))
            }
        }
        #expect(lags.count >= 20)
        #expect(lags.first ?? .zero >= .milliseconds(200))
        #expect(zip(lags, lags.dropFirst()).allSatisfy { $0 > $1 })
    }

    @Test("gives a preparation up that it is asked to")
    func abort() async throws {
        let (failures, isClosed) = try await onThread(plan(.open(rate: 10))) { parts in
            var failures = 0
            parts.thread.prepare { if case .failure = $0 { failures += 1 } }
            parts.thread.abort()
            parts.thread.abort()
            return (failures, parts.work.isClosed)
        }
        #expect(failures == 1)
        #expect(isClosed)
    }

    @Test("of a closed loop keeps so many under way, and begins the next when one is over")
    func closed() async throws {
        let runtime = try SoftphoneRuntime()
        let result: (begun: Int, most: Int) = try await runtime.loop.result { done in
            let recorder = Recorder()
            let work = StubWork(recorder)
            let pacer = ClosedPacer(
                loop: runtime.loop, concurrency: 3, ramp: .zero, underWay: { work.underWay },
                beginOperation: { due, late in late == nil && work.begin(due: due) })
            recorder.onOperationOver = { pacer.operationOver(well: $0) }
            pacer.begin(start: .now)
            // One ends in each turn of the loop, until 20 have been begun.
            let bound = LoopBound((pacer, work), on: runtime.loop)
            @Sendable func step() {
                let (pacer, work) = bound.value
                guard work.begun.count < 20 else {
                    pacer.finish(end: .now)
                    return done(.success((work.begun.count, work.most)))
                }
                if work.underWay > 0 { work.end() }
                runtime.loop.execute(step)
            }
            step()
        }
        #expect(result.begun == 20)
        #expect(result.most == 3)
    }

    @Test("of a closed loop with a ramp adds one after the other, and counts refusals as no failures")
    func closedRamp() async throws {
        var plan = plan(.closed(concurrency: 10))
        plan.ramp = .milliseconds(300)
        let (early, recorded): (Int, Recorder.Result) = try await onThread(plan) { [plan] parts, done in
            // The fifth is refused once.
            parts.work.isFree = { $0 != 5 }
            try parts.thread.begin(LoadSchedule(plan, start: .now))
            let early = parts.work.underWay
            let bound = LoopBound(parts, on: parts.loop)
            let deadline = ContinuousClock.now + .seconds(40)
            @Sendable func look() {
                let parts = bound.value
                guard parts.work.underWay >= 10 || ContinuousClock.now > deadline else {
                    parts.loop.execute(look)
                    return
                }
                parts.thread.stopBeginning(end: .now)
                done(.success((early, parts.thread.finish(at: .now, .asked).recorded)))
            }
            look()
        }
        // Without a ramp all ten are under way at once.
        #expect(early < 5)
        #expect(recorded.cutShort == 10)
        #expect(recorded.refused == 1 && recorded.failures.isEmpty && recorded.failureCounts.notBegun == 0)
    }

    @Test("begins nothing after the end, when it comes to that late")
    func lateEnd() async throws {
        let plan = plan(.closed(concurrency: 3))
        let asked: Int = try await onThread(plan) { parts, done in
            try parts.thread.begin(LoadSchedule(plan, start: .now - .seconds(20)))
            let bound = LoopBound(parts, on: parts.loop)
            // Behind what is due now.
            let timer = LoopBound(
                LoopTimer(loop: parts.loop) {
                    bound.value.thread.abort()
                    done(.success(bound.value.work.asked))
                }, on: parts.loop)
            timer.value.start(after: .milliseconds(50))
            Self.keep(timer, until: { bound.value.work.isClosed })
        }
        #expect(asked == 0)
    }

    /// Keeps a timer in memory.
    private static func keep(_ timer: LoopBound<LoopTimer>, until isOver: @escaping @Sendable () -> Bool) {
        timer.loop.execute { if !isOver() { keep(timer, until: isOver) } }
    }
}
