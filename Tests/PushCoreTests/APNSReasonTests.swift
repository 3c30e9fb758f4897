import CallVocabulary
import PushCore
import PushVocabulary
import Testing

@Suite("Reasons of APNs")
struct APNSReasonTests {
    /// Apple's table with what it is to lead to; the test below sees to it that none is missing.
    static let table: [(reason: APNSReason, wire: String, status: Int, verdict: PushVerdict)] = [
        (.badCollapseID, "BadCollapseId", 400, .requestFaulty),
        (.badDeviceToken, "BadDeviceToken", 400, .tokenMismatched),
        (.badExpirationDate, "BadExpirationDate", 400, .requestFaulty),
        (.badMessageID, "BadMessageId", 400, .requestFaulty),
        (.badPriority, "BadPriority", 400, .requestFaulty),
        (.badTopic, "BadTopic", 400, .topicRefused),
        (.deviceTokenNotForTopic, "DeviceTokenNotForTopic", 400, .tokenMismatched),
        (.duplicateHeaders, "DuplicateHeaders", 400, .requestFaulty),
        (.idleTimeout, "IdleTimeout", 400, .retryable),
        (.invalidPushType, "InvalidPushType", 400, .requestFaulty),
        (.missingDeviceToken, "MissingDeviceToken", 400, .requestFaulty),
        (.missingTopic, "MissingTopic", 400, .topicRefused),
        (.payloadEmpty, "PayloadEmpty", 400, .requestFaulty),
        (.topicDisallowed, "TopicDisallowed", 400, .topicRefused),
        (.badCertificate, "BadCertificate", 403, .credentialRefused),
        (.badCertificateEnvironment, "BadCertificateEnvironment", 403, .credentialRefused),
        (.expiredProviderToken, "ExpiredProviderToken", 403, .providerTokenStale),
        (.forbidden, "Forbidden", 403, .credentialRefused),
        (.invalidProviderToken, "InvalidProviderToken", 403, .credentialRefused),
        (.missingProviderToken, "MissingProviderToken", 403, .credentialRefused),
        (.unrelatedKeyIDInToken, "UnrelatedKeyIdInToken", 403, .credentialRefused),
        (.badEnvironmentKeyIDInToken, "BadEnvironmentKeyIdInToken", 403, .credentialRefused),
        (.badPath, "BadPath", 404, .requestFaulty),
        (.methodNotAllowed, "MethodNotAllowed", 405, .requestFaulty),
        (.expiredToken, "ExpiredToken", 410, .tokenGone),
        (.unregistered, "Unregistered", 410, .tokenGone),
        (.payloadTooLarge, "PayloadTooLarge", 413, .requestFaulty),
        (.tooManyProviderTokenUpdates, "TooManyProviderTokenUpdates", 429, .providerTokenTooNew),
        (.tooManyRequests, "TooManyRequests", 429, .deviceThrottled),
        (.internalServerError, "InternalServerError", 500, .retryable),
        (.serviceUnavailable, "ServiceUnavailable", 503, .retryable),
        (.shutdown, "Shutdown", 503, .serverLeaving),
    ]

    @Test("the table has every reason exactly once")
    func completeness() {
        #expect(Self.table.map(\.reason) == APNSReason.allCases)
    }

    @Test("each reason has Apple's spelling and status, and its verdict", arguments: table)
    func row(_ row: (reason: APNSReason, wire: String, status: Int, verdict: PushVerdict)) {
        #expect(row.reason.rawValue == row.wire)
        #expect(row.reason.status == row.status)
        #expect(row.reason.verdict == row.verdict)
        let answer = PushAnswer.apns(status: row.status, body: Array("{\"reason\":\"\(row.wire)\"}".utf8))
        #expect(answer.reason == row.wire)
        #expect(answer.verdict == row.verdict)
    }
}

@Suite("Answers of APNs")
struct PushAnswerTests {
    private func answer(_ status: Int, _ body: String) -> PushAnswer {
        PushAnswer.apns(status: status, body: Array(body.utf8))
    }

    @Test("200 is accepted, whatever the body")
    func accepted() {
        #expect(answer(200, "").verdict == .accepted)
        #expect(answer(200, "{\"reason\":\"Shutdown\"}").verdict == .accepted)
    }

    @Test(
        "what is not in the table is judged by its status",
        arguments: [
            (400, "{\"reason\":\"NewReason\"}", "NewReason", PushVerdict.requestFaulty),
            (403, "", "HTTP 403", .credentialRefused),
            (404, "<html>not here</html>", "HTTP 404", .requestFaulty),
            (410, "{}", "HTTP 410", .tokenGone),
            (429, "{\"reason\":", "HTTP 429", .deviceThrottled),
            (302, "", "HTTP 302", .requestFaulty),
            (500, "{\"reas", "HTTP 500", .retryable),
            (502, "<html><body>Bad Gateway</body></html>", "HTTP 502", .retryable),
            (599, "[\"reason\"]", "HTTP 599", .retryable),
        ])
    func fallback(_ row: (status: Int, body: String, reason: String, verdict: PushVerdict)) {
        let answer = answer(row.status, row.body)
        #expect(answer.reason == row.reason)
        #expect(answer.verdict == row.verdict)
        #expect(answer.tokenDeadSince == nil)
    }

    @Test(
        "the body's fields are found in any order, with any white space, beside others",
        arguments: [
            "{\"reason\":\"Unregistered\",\"timestamp\":1529354325000}",
            " {\r\n\t\"timestamp\" : 1529354325000 , \"reason\" : \"Unregistered\" } ",
            "{\"x\":\"y\",\"reason\":\"Unregistered\",\"n\":7,\"timestamp\":1529354325000}",
        ])
    func fields(_ body: String) {
        let answer = answer(410, body)
        #expect(answer.reason == "Unregistered")
        #expect(answer.tokenDeadSince == Instant(milliseconds: 1_529_354_325_000))
    }

    @Test("a reason of absurd length or with escapes is none")
    func absurdReason() {
        #expect(answer(400, "{\"reason\":\"\(String(repeating: "x", count: 65))\"}").reason == "HTTP 400")
        #expect(answer(400, #"{"reason":"a\nb"}"#).reason == "HTTP 400")
        #expect(answer(410, "{\"timestamp\":99999999999999999999}").tokenDeadSince == nil)
    }

    @Test(
        "a time that is none, or after the year 9999, is left out, and the reason counts",
        arguments: [
            "9223372036854775807", "18446744073709551615", "99999999999999999999", "253402300800000",
            "00000000000000000000000000000000000009999999999999999",
        ])
    func absurdTime(_ number: String) {
        for body in [
            "{\"timestamp\":\(number),\"reason\":\"Unregistered\"}",
            "{\"reason\":\"Unregistered\",\"timestamp\":\(number)}",
            "{\"n\":\(number),\"reason\":\"Unregistered\"}",
        ] {
            let answer = answer(410, body)
            #expect(answer.reason == "Unregistered" && answer.tokenDeadSince == nil, "\(body)")
            #expect(answer.isAfter(registeredAt: Instant(milliseconds: .max)), "\(body)")
        }
        for number in ["-1", "-9223372036854775808", "+5", "1e400", "5 5", "\"5\"", ""] {
            let answer = answer(410, "{\"reason\":\"Unregistered\",\"timestamp\":\(number)}")
            #expect(answer.reason == "Unregistered", "\(number)")
        }
        let last = answer(410, "{\"reason\":\"Unregistered\",\"timestamp\":253402300799999}")
        #expect(last.tokenDeadSince == .latest)
    }

    @Test("a 410 kills the token only when it is younger than the registration")
    func timestampRule() {
        let gone = answer(410, "{\"reason\":\"Unregistered\",\"timestamp\":5000}")
        #expect(gone.isAfter(registeredAt: Instant(milliseconds: 4999)))
        #expect(!gone.isAfter(registeredAt: Instant(milliseconds: 5000)))
        #expect(!gone.isAfter(registeredAt: Instant(milliseconds: 5001)))
        #expect(gone.isAfter(registeredAt: nil))
        #expect(answer(410, "{\"reason\":\"Unregistered\"}").isAfter(registeredAt: Instant(milliseconds: 1)))
    }

    @Test("the machine applies the timestamp rule with the push's own registration")
    func timestampRuleInMachine() throws {
        for (registered, isDead) in [(Int64(4999), true), (5001, false)] {
            var bench = MachineBench.ready()
            let place = try bench.send(push(1), registeredAt: Instant(milliseconds: registered))
            let gone = answer(410, "{\"reason\":\"Unregistered\",\"timestamp\":5000}")
            bench.give(.answered(place.connection, stream: place.stream, gone))
            #expect(bench.outcomes[push(1)] == [.rejected(reason: "Unregistered", isTokenDead: isDead)])
        }
    }
}
