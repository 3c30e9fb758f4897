import CallVocabulary
import Testing

@testable import CallServer

@Suite("When an identity provider's keys are fetched")
struct KeySetScheduleTests {
    private func at(_ seconds: Int64) -> Instant { Instant(milliseconds: seconds * 1000) }

    @Test(
        "the age is that of Cache-Control, from 5 minutes to 24 hours",
        arguments: [
            (nil, nil, 600), ("max-age=3600", nil, 3600), ("public, max-age=3600, must-revalidate", "600", 3000),
            ("max-age=10", nil, 300), ("max-age=0", nil, 300), ("no-store", nil, 300),
            ("no-cache, max-age=3600", nil, 300),
            ("MAX-AGE=\"900\"", nil, 900), ("max-age=99999999", nil, 86_400), ("max-age=900, max-age=600", nil, 600),
            ("max-age=x", nil, 300), ("max-age=-1", nil, 300), ("max-age=99999999999999999999", nil, 300),
            ("max-age=900", "-5", 900), ("max-age=900", "5000", 300), ("max-age=900", "x", 900),
            ("s-maxage=900", nil, 600), ("private", nil, 600),
        ] as [(String?, String?, Int64)])
    func ages(cacheControl: String?, age: String?, seconds: Int64) {
        var schedule = KeySetSchedule(now: at(0))
        schedule.started(at: at(100))
        schedule.succeeded(
            at: at(101), maxAge: KeySetSchedule.maxAge(cacheControl: cacheControl, age: age))
        #expect(schedule.due == at(101 + seconds))
        #expect(schedule.end == at(101 + seconds + 86_400))
    }

    @Test("a provider that is down is asked again ever more rarely, and its keys count for a day")
    func outage() {
        var schedule = KeySetSchedule(now: at(0))
        schedule.started(at: at(0))
        schedule.succeeded(at: at(0), maxAge: .seconds(600))
        var now: Int64 = 600
        var delays: [Int64] = []
        for _ in 0..<7 {
            schedule.started(at: at(now))
            schedule.failed(at: at(now))
            delays.append((schedule.due - at(now)).components.seconds)
            now += delays.last ?? 0
            #expect(schedule.end == at(600 + 86_400))
        }
        #expect(delays == [30, 60, 120, 240, 300, 300, 300])
        schedule.succeeded(at: at(now), maxAge: nil)
        // Never due before another fetch is allowed.
        #expect(delays.allSatisfy { .seconds($0) >= KeySetSchedule.spacing })
        #expect(schedule.failures == 0 && schedule.end == at(now + 600 + 86_400))
    }

    @Test("unknown keys cost at most two fetches a minute, however many there are")
    func flood() {
        var schedule = KeySetSchedule(now: at(0))
        var fetches = 0
        for millisecond in stride(from: Int64(0), to: 600_000, by: 10) {
            let now = Instant(milliseconds: millisecond)
            guard schedule.mayFetch(at: now) else { continue }
            schedule.started(at: now)
            if fetches.isMultiple(of: 2) { schedule.failed(at: now) } else { schedule.succeeded(at: now, maxAge: nil) }
            fetches += 1
        }
        #expect(fetches == 20)
    }
}
