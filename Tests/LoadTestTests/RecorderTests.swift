import Testing

@testable import LoadTest

@Suite("A recorder") struct RecorderTests {
    private static let now = ContinuousClock.now

    /// Of a run whose measured part began 10 s ago and ends in `seconds`.
    private func recorder(endsIn seconds: Double) -> Recorder {
        var plan = LoadPlan(.online, pace: .open(rate: 1), target: .own(LoadTarget.OwnServer(executable: "")))
        plan.warmUp = .seconds(5)
        plan.duration = .seconds(10 + seconds)
        let recorder = Recorder()
        recorder.schedule = LoadSchedule(plan, start: Self.now - .seconds(15))
        recorder.firstStage = .inviteResult
        return recorder
    }

    @Test("keeps the times of what began in the measured part, whenever it ended")
    func window() {
        let recorder = recorder(endsIn: -5)
        recorder.passed(.inviteResult, since: Self.now - .seconds(12), at: Self.now)
        #expect(recorder.result.stages[.inviteResult] == nil)
        recorder.passed(.inviteResult, since: Self.now - .seconds(8), at: Self.now)
        recorder.passed(.inviteResult, since: Self.now - .seconds(5), at: Self.now)
        let kept = recorder.result.stages[.inviteResult]
        #expect(kept?.count == 1)
        #expect(kept?.percentile(50) == 8_000_000)
    }

    @Test("counts what is completed in the measured part apart from the rest")
    func completed() {
        let running = recorder(endsIn: 3600)
        running.completed()
        #expect(running.result.completed == 1 && running.result.completedInAll == 1)
        let over = recorder(endsIn: -1)
        over.completed()
        #expect(over.result.completed == 0 && over.result.completedInAll == 1)
    }

    @Test("counts failures at any time, and tells of operations that are over")
    func failures() {
        let recorder = Recorder()
        var ends: [Bool] = []
        recorder.onOperationOver = { ends.append($0) }
        recorder.failed("ended: busy")
        recorder.fault("session lost")
        recorder.fault("session lost", count: 2)
        recorder.completed()
        #expect(recorder.result.failures == ["ended: busy": 1, "session lost": 3])
        #expect(recorder.result.failureCounts.failed == 1 && recorder.result.failureCounts.others == 3)
        #expect(ends == [false, true])
    }

    @Test(
        "tells lost sessions, operations that failed, that were not begun and that did not end apart, those of a part too"
    )
    func kinds() {
        let recorder = Recorder()
        let part = Recorder(part: "churn", of: recorder)
        for each in [recorder, part] {
            each.failed("ended: busy")
            each.sessionLost("closed with 1006")
            each.fault("a candidate that nobody sent", count: 2)
        }
        recorder.notBegun()
        recorder.notOver("not over", count: 3)
        var all = recorder.result
        all.add(recorder.result)
        let counts = all.failureCounts
        #expect((counts.failed, counts.sessionsLost, counts.others) == (4, 4, 8))
        #expect((counts.notBegun, counts.notOver, counts.operations) == (2, 6, 12))
        #expect(all.failures["session lost: closed with 1006"] == 2)
        #expect(all.failures["churn: session lost: closed with 1006"] == 2)
        #expect(all.failures.values.reduce(0, +) == 24)
    }

    @Test("counts failures of one kind as one, whatever time each was told to wait, and tells codes apart")
    func grouped() {
        let recorder = Recorder()
        for wait in [0, 7, 1250] {
            recorder.failed("invite: refused (rate_limited): Too many messages; wait \(wait) ms.")
        }
        for code in [3501, 3503] { recorder.fault("session lost: closed with \(code), 4 ms late") }
        #expect(
            recorder.result.failures == [
                "invite: refused (rate_limited): Too many messages; wait N ms.": 3,
                "session lost: closed with 3501, N ms late": 1, "session lost: closed with 3503, N ms late": 1,
            ])
    }

    @Test("counts what was due when nobody was free")
    func notBegun() {
        let recorder = recorder(endsIn: 3600)
        recorder.begun(due: Self.now, late: .milliseconds(2))
        recorder.begun(due: Self.now - .seconds(12), late: .seconds(1))
        recorder.notBegun()
        #expect(recorder.result.begun == 1)
        #expect(recorder.result.failureCounts.notBegun == 1)
        #expect(recorder.result.failures == [Recorder.nobodyFree: 1])
        #expect(recorder.result.lateness.count == 1)
        #expect(recorder.result.lateness.percentile(100) == 2000)
    }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { Self.now + .milliseconds(Int64(seconds * 1000)) }

    @Test("closes seconds with what happened in each, and gives each once")
    func seconds() throws {
        let recorder = recorder(endsIn: 3600)
        for end in -15 ... -11 { recorder.closeSecond(at: at(Double(end)), underWay: 0, time: ThreadTime()) }
        recorder.begun(due: at(-10.9), late: nil)
        recorder.passed(.inviteResult, since: at(-10.307), at: at(-10.3))
        recorder.completed(at: at(-10.3))
        recorder.closeSecond(at: at(-10), underWay: 3, time: ThreadTime(cpu: .seconds(1)))
        recorder.closeSecond(at: at(-9), underWay: 4, time: ThreadTime(cpu: .seconds(2)))
        let seconds = recorder.takeSeconds().suffix(2)
        #expect(seconds.map(\.completed) == [1, 0])
        #expect(seconds.map(\.begun) == [1, 0])
        #expect(seconds.map(\.underWay) == [3, 4])
        // The second that ends where the measured part begins is not in it.
        #expect(seconds.map(\.isCounted) == [false, true])
        #expect(seconds.first?.latencies?.percentile(50) == 7000)
        #expect(recorder.takeSeconds().isEmpty)
    }

    @Test("counts by the clock: the seconds that count add up to what counts, however late each is closed")
    func lateSeconds() {
        let recorder = recorder(endsIn: -5)
        for end in -15 ... -11 { recorder.closeSecond(at: at(Double(end)), underWay: 0, time: ThreadTime()) }
        // Before the measured part, and in its first second, whose thread has not come to close the one before.
        recorder.completed(at: at(-10.001))
        for moment in [-9.999, -9.998, -8.999] {
            recorder.begun(due: at(moment), late: .milliseconds(1))
            recorder.completed(at: at(moment))
        }
        for end in -10 ... -6 { recorder.closeSecond(at: at(Double(end)), underWay: 0, time: ThreadTime()) }
        // One that was due before the second that is closed; one in the last second, and one after it.
        recorder.begun(due: at(-6.001), late: .milliseconds(2))
        recorder.completed(at: at(-5.001))
        recorder.completed(at: at(-4.999))
        recorder.closeSecond(at: at(-5), underWay: 0, time: ThreadTime())
        let counted = recorder.takeSeconds().filter(\.isCounted)
        #expect(counted.map(\.completed) == [2, 1, 0, 0, 1])
        #expect(counted.map(\.begun) == [2, 1, 0, 0, 1])
        #expect(recorder.result.completed == 4 && recorder.result.begun == 4 && recorder.result.completedInAll == 6)
    }

    @Test("loses nothing of the seconds that were not closed when the load ends before its time")
    func cutSeconds() {
        let recorder = recorder(endsIn: 3600)
        recorder.closeSecond(at: at(-15), underWay: 0, time: ThreadTime())
        for moment in [-10.5, -9.5, -8.7, -8.4] { recorder.completed(at: at(moment)) }
        recorder.schedule?.cut(at: at(-8.5))
        recorder.closeSecond(at: at(-8.5), underWay: 0, time: ThreadTime())
        let seconds = recorder.takeSeconds()
        #expect(seconds.filter(\.isCounted).map(\.completed) == [1, 2])
        #expect(seconds.last?.end == at(-8.5))
        #expect(recorder.result.completed == 3)
    }

    @Test("the time that a thread waited is the kernel's second figure, where it counts")
    func waiting() {
        #expect(ThreadTime.waiting(in: "316883 72228 2\n") == .nanoseconds(72_228))
        for text in ["0 0 0\n", "", "316883 72228\n", "316883 no 2\n"] { #expect(ThreadTime.waiting(in: text) == nil) }
    }

    @Test("adds up with another's")
    func merged() {
        let (one, other) = (recorder(endsIn: 3600), recorder(endsIn: 3600))
        one.passed(.inviteResult, since: Self.now - .milliseconds(1), at: Self.now)
        other.passed(.inviteResult, since: Self.now - .milliseconds(3), at: Self.now)
        other.passed(.hangupEnded, since: Self.now - .milliseconds(3), at: Self.now)
        one.failed("x")
        other.failed("x")
        other.completed()
        var all = one.result
        all.add(other.result)
        #expect(all.stages[.inviteResult]?.count == 2)
        #expect(all.stages[.hangupEnded]?.count == 1)
        #expect(all.failures == ["x": 2])
        #expect(all.completed == 1)
    }
}
