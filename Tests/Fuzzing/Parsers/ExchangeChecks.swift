import CallServer
import CallVocabulary
import ClientTokens
import OutgoingHTTP

/// Whatever another server answers: the next request to it is due within the documented time.
enum ExchangeChecks {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    static func check(_ bytes: [UInt8]) throws(Violation) {
        guard let answer = try HTTPChecks.answer(bytes, longestBody: RemoteKeySet.longest) else { return }
        try check(keySet: answer)
        // A receiver of events that is busy.
        let wait = answer.retryAfter ?? .seconds(1)
        try require(wait >= .seconds(1) && wait <= .seconds(86_400), "a wait of \(wait)")
        try FrameChecks.check(authorization: answer.body)
    }

    private static func check(keySet answer: WebAnswer) throws(Violation) {
        guard let address = WebAddress("https://id.example.com/jwks") else { preconditionFailure("an address") }
        var ages = [KeySetSchedule.maxAge(cacheControl: answer.field("cache-control"), age: answer.field("age"))]
        switch RemoteKeySet.read(.success(answer), from: address) {
        case .success(let found):
            try require(answer.status == 200 && !found.set.keys.isEmpty, "a set without keys is taken")
            ages.append(found.maxAge)
        case .failure(let failure): try require(!failure.description.isEmpty, "a refusal without a reason")
        }
        for age in ages {
            var schedule = KeySetSchedule(now: now)
            schedule.succeeded(at: now, maxAge: age)
            let (wait, end) = (schedule.due - now, schedule.end ?? now)
            let isBounded = wait >= KeySetSchedule.shortestAge && wait <= KeySetSchedule.longestAge
            try require(isBounded && end - schedule.due == KeySetSchedule.grace, "due in \(wait), ends at \(end)")
        }
    }
}
