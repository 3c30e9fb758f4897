import Testing

@testable import LoadTest

@Suite("A schedule") struct LoadScheduleTests {
    private let start = ContinuousClock.now

    private func schedule(ramp: Double = 0, warmUp: Double = 0, duration: Double) -> LoadSchedule {
        var plan = LoadPlan(.online, pace: .open(rate: 1), target: .own(LoadTarget.OwnServer(executable: "")))
        plan.ramp = .milliseconds(Int64(ramp * 1000))
        plan.warmUp = .milliseconds(Int64(warmUp * 1000))
        plan.duration = .milliseconds(Int64(duration * 1000))
        return LoadSchedule(plan, start: start)
    }

    private func ticks(_ schedule: LoadSchedule) -> [Double] {
        var ticks: [Double] = []
        var last = start
        while ticks.count < 100, let next = schedule.nextTick(after: last) {
            ticks.append((start.duration(to: next).inSeconds * 1000).rounded() / 1000)
            last = next
        }
        return ticks
    }

    @Test("ticks each second, and anew where the measured part begins and ends")
    func seconds() {
        #expect(ticks(schedule(ramp: 1.5, warmUp: 1, duration: 2.25)) == [1, 2, 2.5, 3.5, 4.5, 4.75])
        #expect(ticks(schedule(duration: 2)) == [1, 2])
        #expect(ticks(schedule(warmUp: 0.1, duration: 0.3)) == [0.1, 0.4])
    }

    @Test("knows the phase of each moment, and what counts")
    func phases() {
        let schedule = schedule(ramp: 1, warmUp: 1, duration: 2)
        #expect(schedule.phase(at: start) == .ramp)
        #expect(schedule.phase(at: start + .seconds(1)) == .warmUp)
        #expect(schedule.phase(at: start + .seconds(2)) == .measuring)
        #expect(schedule.phase(at: start + .seconds(4)) == .draining)
        #expect(!schedule.counts(start + .milliseconds(1999)))
        #expect(schedule.counts(start + .seconds(2)))
        #expect(!schedule.counts(start + .seconds(4)))
    }

    @Test("of sessions counts from the first on, also those of a ramp")
    func register() {
        var plan = LoadPlan(.register, pace: .open(rate: 500), target: .own(LoadTarget.OwnServer(executable: "")))
        plan.sessions = 1000
        plan.ramp = .seconds(10)
        let schedule = LoadSchedule(plan.settled, start: start)
        #expect(schedule.counts(start) && schedule.counts(start + .seconds(6)))
        #expect(schedule.phase(at: start + .seconds(6)) == .ramp)
        #expect(schedule.end > start + .seconds(3600))
    }

    @Test("that is cut ends there, and has no measured part when that had not begun")
    func cut() {
        var measured = schedule(warmUp: 1, duration: 5)
        measured.cut(at: start + .milliseconds(2500))
        #expect(measured.measured == .milliseconds(1500))
        #expect(ticks(measured) == [1, 2, 2.5])
        var early = schedule(ramp: 1, warmUp: 1, duration: 5)
        early.cut(at: start + .milliseconds(500))
        #expect(early.measured == .zero)
        #expect(ticks(early) == [0.5])
        #expect(!early.counts(start + .seconds(3)))
    }
}
