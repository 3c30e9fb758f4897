import Testing

@testable import LoadTest

@Suite("A recorder") struct RecorderTests {
    private static let now = ContinuousClock.now

    /// Of a run whose part that counts began 10 s ago and ends in `seconds`.
    private func recorder(endsIn seconds: Double) -> Recorder {
        var plan = LoadPlan(.online, pace: .open(rate: 1), target: .own(LoadTarget.OwnServer(executable: "")))
        plan.warmUp = .seconds(5)
        plan.duration = .seconds(10 + seconds)
        let recorder = Recorder()
        recorder.schedule = LoadSchedule(plan, start: Self.now - .seconds(15))
        recorder.firstStage = .inviteResult
        return recorder
    }

    @Test("keeps the times of what began in the part that counts, whenever it ended")
    func window() {
        let recorder = recorder(endsIn: -5)
        recorder.passed(.inviteResult, since: Self.now - .seconds(12), at: Self.now)
        #expect(recorder.result.stages[LoadStage.inviteResult.rawValue] == nil)
        recorder.passed(.inviteResult, since: Self.now - .seconds(8), at: Self.now)
        recorder.passed(.inviteResult, since: Self.now - .seconds(5), at: Self.now)
        let kept = recorder.result.stages[LoadStage.inviteResult.rawValue]
        #expect(kept?.count == 1)
        #expect(kept?.percentile(50) == 8_000_000)
    }

    @Test("counts what is completed in the part that counts apart from the rest")
    func completed() {
        let running = recorder(endsIn: 3600)
        running.completed()
        #expect(running.result.completed == 1 && running.result.completedInAll == 1)
        let over = recorder(endsIn: -1)
        over.completed()
        #expect(over.result.completed == 0 && over.result.completedInAll == 1)
    }

    @Test("counts failures at any time, and tells of pieces that are over")
    func failures() {
        let recorder = Recorder()
        var ends: [Bool] = []
        recorder.onPieceOver = { ends.append($0) }
        recorder.failed("ended: busy")
        recorder.fault("session lost")
        recorder.fault("session lost", count: 2)
        recorder.completed()
        #expect(recorder.result.failures == ["ended: busy": 1, "session lost": 3])
        #expect(recorder.failures == 4)
        #expect(ends == [false, true])
    }

    @Test("counts what was due when nobody was free")
    func notBegun() {
        let recorder = recorder(endsIn: 3600)
        recorder.begun(due: Self.now, late: .milliseconds(2))
        recorder.begun(due: Self.now - .seconds(12), late: .seconds(1))
        recorder.notBegun()
        #expect(recorder.result.begun == 1)
        #expect(recorder.result.notBegun == 1)
        #expect(recorder.result.failures == [Recorder.nobodyFree: 1])
        #expect(recorder.result.lateness.count == 1)
        #expect(recorder.result.lateness.percentile(100) == 2000)
    }

    @Test("closes seconds with what happened since the last, and gives each once")
    func seconds() throws {
        let recorder = recorder(endsIn: 3600)
        recorder.begun(due: Self.now, late: nil)
        recorder.completed()
        recorder.passed(.inviteResult, since: Self.now - .milliseconds(7), at: Self.now)
        recorder.closeSecond(at: Self.now - .seconds(10), underWay: 3, cpu: .seconds(1))
        recorder.closeSecond(at: Self.now, underWay: 4, cpu: .seconds(2))
        let seconds = recorder.takeSeconds()
        #expect(seconds.map(\.completed) == [1, 0])
        #expect(seconds.map(\.begun) == [1, 0])
        #expect(seconds.map(\.underWay) == [3, 4])
        // The second that ends where the part that counts begins is not in it.
        #expect(seconds.map(\.isCounted) == [false, true])
        #expect(seconds.first?.latencies?.percentile(50) == 7000)
        #expect(recorder.takeSeconds().isEmpty)
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
        #expect(all.stages[LoadStage.inviteResult.rawValue]?.count == 2)
        #expect(all.stages[LoadStage.hangupEnded.rawValue]?.count == 1)
        #expect(all.failures == ["x": 2])
        #expect(all.completed == 1)
    }
}
