import ByteMutation
import CallVocabulary
import Testing

@testable import PushCore

@Suite("Answers of FCM")
struct FCMAnswerTests {
    private func answer(_ status: Int, _ body: String, retryAfter: Duration? = nil) -> PushAnswer {
        PushAnswer.fcm(status: status, body: Array(body.utf8), retryAfter: retryAfter)
    }

    private static func body(_ status: Int, _ canonical: String, _ details: String...) -> String {
        """
        {"error":{"code":\(status),"message":"Words { } \\"for\\" people.","status":"\(canonical)",\
        "details":[\(details.joined(separator: ","))]}}
        """
    }

    private static func detail(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static func violation(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    static let table: [(FCMErrorCode, Int, String, PushVerdict)] = [
        (.unspecified, 500, "UNKNOWN", .retryable), (.invalidArgument, 400, "INVALID_ARGUMENT", .requestFaulty),
        (.unregistered, 404, "NOT_FOUND", .tokenUnknown), (.senderIDMismatch, 403, "PERMISSION_DENIED", .topicRefused),
        (.quotaExceeded, 429, "RESOURCE_EXHAUSTED", .throttled),
        (.unavailable, 503, "UNAVAILABLE", .retryable), (.internalError, 500, "INTERNAL", .retryable),
        (.thirdPartyAuthError, 401, "UNAUTHENTICATED", .relayRefused),
    ]

    @Test("the table is complete")
    func complete() {
        #expect(Set(Self.table.map(\.0)) == Set(FCMErrorCode.allCases))
    }

    @Test("each code of FCM's counts before Google's and the status", arguments: table)
    func codes(_ row: (code: FCMErrorCode, status: Int, canonical: String, verdict: PushVerdict)) {
        let body = Self.body(row.status, row.canonical, Self.violation("message.data"), Self.detail(row.code.rawValue))
        let answer = answer(row.status, body, retryAfter: .seconds(7))
        #expect(answer.reason == row.code.rawValue && answer.verdict == row.verdict)
        #expect(answer.retryAfter == .seconds(7) && answer.status == row.status)
    }

    @Test("an invalid argument is the token's fault only when FCM names the token")
    func invalidToken() {
        let named = answer(
            400, Self.body(400, "INVALID_ARGUMENT", Self.detail("INVALID_ARGUMENT"), Self.violation("message.token")))
        #expect(named.verdict == .tokenMismatched)
        let other = answer(
            400,
            Self.body(400, "INVALID_ARGUMENT", Self.detail("INVALID_ARGUMENT"), Self.violation("message.android.ttl")))
        #expect(other.verdict == .requestFaulty)
    }

    @Test(
        "without a code of FCM's Google's decides, and without that the status",
        arguments: [
            (401, body(401, "UNAUTHENTICATED"), "UNAUTHENTICATED", PushVerdict.providerTokenStale),
            (403, body(403, "PERMISSION_DENIED"), "PERMISSION_DENIED", .credentialRefused),
            (404, body(404, "NOT_FOUND"), "NOT_FOUND", .requestFaulty),
            (429, body(429, "RESOURCE_EXHAUSTED"), "RESOURCE_EXHAUSTED", .throttled),
            (503, body(503, "UNAVAILABLE"), "UNAVAILABLE", .retryable),
            (400, body(400, "SOMETHING_NEW", detail("NEWER")), "NEWER", .requestFaulty),
            (500, body(500, "X", detail("no code at all")), "X", .retryable),
            (401, "", "HTTP 401", .providerTokenStale),
            (403, "<html>no</html>", "HTTP 403", .credentialRefused), (404, "{}", "HTTP 404", .requestFaulty),
            (429, "{\"error\":", "HTTP 429", .throttled), (502, "[1]", "HTTP 502", .retryable),
            (500, "{\"error\":{\"status\":7,\"details\":{}}}", "HTTP 500", .retryable),
            (500, "{\"error\":{\"details\":[7,null,{\"@type\":1}]}}", "HTTP 500", .retryable),
        ])
    func fallback(_ row: (status: Int, body: String, reason: String, verdict: PushVerdict)) {
        let answer = answer(row.status, row.body)
        #expect(answer.reason == row.reason && answer.verdict == row.verdict)
    }

    @Test("a message of combining marks, which Swift sorts to compare texts, costs no more than its length")
    func marks() {
        let marks = String(repeating: "\u{315}", count: 60_000) + String(repeating: "\u{323}", count: 60_000)
        var verdict: PushVerdict?
        let time = WorstInput.processorTime {
            verdict = answer(429, #"{"error":{"status":"RESOURCE_EXHAUSTED","message":"a\#(marks)"}}"#).verdict
        }
        #expect(verdict == .throttled && time < .seconds(2))
    }

    @Test("200 is accepted, whatever the body")
    func accepted() {
        #expect(answer(200, #"{"name":"projects/p/messages/0:1"}"#).verdict == .accepted)
        #expect(answer(200, "").verdict == .accepted)
    }

    @Test(
        "whose quota was used up is the answer's word, and where it has none, nobody's",
        arguments: [
            (#""details":[\#(code),\#(violation("subject", "device:f:CM_1"))]"#, PushVerdict.deviceThrottled),
            (#""details":[\#(violation("description", "Device message rate exceeded")),\#(code)]"#, .deviceThrottled),
            (#""details":[\#(code),\#(violation("description", "Topic message rate exceeded"))]"#, .deviceThrottled),
            (#""details":[\#(code),\#(violation("subject", "project:reveille-phone"))]"#, .providerThrottled),
            (#""details":[\#(code)],"message":"Device message rate exceeded.""#, .deviceThrottled),
            (
                #""details":[\#(code)],"message":"Quota exceeded for … of service 'fcm' for consumer 'project_number:1'.""#,
                .providerThrottled
            ),
            (#""details":[\#(limit("quota_limit", "SendsPerMinutePerProject"))]"#, .providerThrottled),
            (#""details":[\#(limit("quota_unit", "1/min/{project}")),\#(code)]"#, .providerThrottled),
            (#""details":[\#(limit("quota_limit", "x")),\#(violation("subject", "y")),\#(code)]"#, .throttled),
            (#""details":[\#(code)]"#, .throttled), (#""details":[]"#, .throttled), (#""details":7"#, .throttled),
            (
                #""details":[\#(limit("quota_unit", "1/min/{project}")),\#(violation("subject", "device:f"))]"#,
                .deviceThrottled
            ),
        ])
    func quota(members: String, verdict: PushVerdict) {
        let body = #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED",\#(members)}}"#
        let answer = PushAnswer.fcm(status: 429, body: Array(body.utf8), retryAfter: .seconds(30))
        #expect(answer.verdict == verdict, "\(members)")
        #expect(answer.retryAfter == .seconds(30))
    }

    private static let code = detail("QUOTA_EXCEEDED")
    private static func violation(_ member: String, _ words: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"\#(member)":"\#(words)"}]}"#
    }
    private static func limit(_ member: String, _ words: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":{"\#(member)":"\#(words)"}}"#
    }

    @Test(
        "Retry-After is read as seconds and as a date, and is never longer than an hour",
        arguments: [
            ("0", 0), ("7", 7), ("3600", 3600), ("3601", 3600), ("99999999999999999999", 3600), ("-1", nil), ("", nil),
            ("1.5", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", 10), ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
            ("Mon, 07 Nov 1994 08:49:37 GMT", 3600), ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("soon", nil),
            ("9223372036854775807", 3600), ("18446744073709551615", 3600), ("-9223372036854775808", nil),
            ("+5", nil), (" 5", nil), ("5 5", nil), ("1e400", nil), ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
            ("Sun, +6 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov +1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:-9:37 GMT", nil),
        ] as [(String, Int64?)])
    func retryAfter(_ row: (text: String, seconds: Int64?)) {
        // 08:49:27 of the day of RFC 9110's example, 784,111,777 s after the epoch.
        let now = Instant(milliseconds: 784_111_767_000)
        #expect(RetryAfter.duration(row.text, now: now) == row.seconds.map { .seconds($0) })
    }

    @Test("a date after a leap day is where it belongs")
    func leapDay() {
        // 2024-03-01T00:00:00Z, by date(1).
        let now = Instant(milliseconds: 1_709_251_200_000)
        #expect(RetryAfter.duration("Fri, 01 Mar 2024 00:00:05 GMT", now: now) == .seconds(5))
        #expect(RetryAfter.duration("Thu, 29 Feb 2024 23:59:59 GMT", now: now) == .zero)
    }
}
