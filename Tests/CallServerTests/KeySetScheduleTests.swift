import ByteMutation
import CallVocabulary
import ClientTokens
import OutgoingHTTP
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
            ("max-age=9223372036854775807", nil, 86_400), ("max-age=18446744073709551615", nil, 300),
            ("max-age=-9223372036854775808", nil, 300), ("max-age=+900", nil, 300), ("max-age= 900", nil, 900),
            ("max-age=9 00", nil, 300), ("max-age=1e400", nil, 300), ("max-age=", nil, 300),
            ("max-age=86400", "9223372036854775807", 300), ("max-age=86400", "99999999999999999999", 300),
            ("max-age=9223372036854775807", "9223372036854775807", 300), ("max-age=900", "-9223372036854775808", 900),
            ("max-age=900", "+500", 900), ("max-age=900", "5 00", 900), ("max-age=900", "1e400", 900),
            ("max-age=900", "", 900),
        ] as [(String?, String?, Int64)])
    func ages(cacheControl: String?, age: String?, seconds: Int64) {
        var schedule = KeySetSchedule(now: at(0))
        schedule.started(at: at(100))
        schedule.succeeded(
            at: at(101), maxAge: KeySetSchedule.maxAge(cacheControl: cacheControl, age: age))
        #expect(schedule.due == at(101 + seconds))
        #expect(schedule.end == at(101 + seconds + 86_400))
    }

    @Test("Cache-Control and Age cost as much as they are long")
    func cost() {
        for worst in WorstInput.allCases {
            for form in ["§", "max-age=§", "max-age=1,§"] {
                let growth = WorstInput.growth(at: 4000) { count in
                    // Fields are made ASCII.
                    let filling = String(decoding: worst.bytes(count).map { $0 < 0x80 ? $0 : 0x3F }, as: UTF8.self)
                    return form.replacing("§", with: filling)
                } _: { (text: String) in
                    _ = KeySetSchedule.maxAge(cacheControl: text, age: text)
                }
                #expect(growth <= WorstInput.mostGrowth, "\(worst) in \(form)")
            }
        }
    }

    @Test(
        "a set is taken whatever numbers stand beside it",
        arguments: [
            "3600", "-9223372036854775808", "9223372036854775807", "18446744073709551615", "99999999999999999999",
            "1e400", "-1", "+5", " 5", "5 5", "",
        ])
    func answers(number: String) throws {
        let address = try #require(WebAddress("https://id.example.com/jwks"))
        // RFC 8037, appendix A.2.
        let key = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        let fields = [("cache-control", "max-age=\(number)"), ("age", number), ("keep-alive", "timeout=\(number)")]
        let answer = WebAnswer(
            status: 200, fields: fields.map { (name: $0.0, value: $0.1) }, body: Array(#"{"keys":[\#(key)]}"#.utf8))
        let found = try RemoteKeySet.read(.success(answer), from: address).get()
        #expect(found.set.keys.count == 1)
        var schedule = KeySetSchedule(now: at(0))
        schedule.succeeded(at: at(0), maxAge: found.maxAge)
        #expect(schedule.due >= at(300) && schedule.due <= at(86_400))
    }

    @Test("a redirect is not followed, and neither its path nor its query is told")
    func redirect() throws {
        let address = try #require(WebAddress("https://id.example.com/jwks"))
        for (location, place) in [
            ("https://b.example/geheim?k=geheim", "https://b.example"), ("/geheim?k=geheim", "another address"),
            ("http://b.example/geheim", "another address"),
        ] {
            let answer = WebAnswer(status: 302, fields: [(name: "location", value: location)], body: [])
            let failure = WebFailure(
                description: "the response has the status 302 to \(place), which is not followed")
            #expect(RemoteKeySet.read(.success(answer), from: address) == .failure(failure))
        }
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
            guard schedule.wait(at: now) == .zero else { continue }
            schedule.started(at: now)
            if fetches.isMultiple(of: 2) { schedule.failed(at: now) } else { schedule.succeeded(at: now, maxAge: nil) }
            fetches += 1
        }
        #expect(fetches == 20)
        #expect(schedule.wait(at: at(600)) == .zero && schedule.wait(at: at(575)) == .seconds(25))
        #expect(KeySetSchedule(now: at(0)).wait(at: at(0)) == .zero)
    }
}
