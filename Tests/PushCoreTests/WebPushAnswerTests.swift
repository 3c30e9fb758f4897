import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Answers of Web Push services")
struct WebPushAnswerTests {
    private static func answer(_ status: Int, _ body: String = "") -> PushAnswer {
        .webPush(status: status, body: Array(body.utf8), retryAfter: nil)
    }

    @Test(
        "the status decides, and the service's words about the sender",
        arguments: [
            (200, "", .accepted, "OK"), (201, "", .accepted, "OK"), (202, "x", .accepted, "OK"),
            (301, "", .requestFaulty, "HTTP 301"), (307, "", .requestFaulty, "HTTP 307"),
            (400, #"{"reason":"BadWebPushTopic"}"#, .requestFaulty, "HTTP 400: BadWebPushTopic"),
            (400, #"{"reason":"VapidPkHashMismatch"}"#, .tokenMismatched, "HTTP 400: VapidPkHashMismatch"),
            (401, "", .topicRefused, "HTTP 401"),
            (
                401, #"{"code":401,"errno":109,"error":"Unauthorized","message":"Invalid VAPID audience"}"#,
                .credentialRefused, "HTTP 401: errno 109 Invalid VAPID audience"
            ),
            (
                401, #"{"code":401,"errno":109,"error":"Unauthorized","message":"VAPID public key mismatch"}"#,
                .tokenMismatched, "HTTP 401: errno 109 VAPID public key mismatch"
            ),
            (403, #"{"reason":"BadJwtToken"}"#, .credentialRefused, "HTTP 403: BadJwtToken"),
            (
                403, "the VAPID credentials do not correspond to those of the subscription\n", .tokenMismatched,
                "HTTP 403: the VAPID credentials do not correspond to those of the subscription"
            ),
            (401, "audience mismatch", .credentialRefused, "HTTP 401: audience mismatch"),
            (400, "Cannot POST /wpush/v2/gAAAAABsecret", .requestFaulty, "HTTP 400: Cannot POST"),
            (
                400, #"{"message":"no such path: gAAAAABwEgENRvNQzVm6AvlIYT2mkLnYTgsLYLDrWLs0"}"#, .requestFaulty,
                "HTTP 400: no such path:"
            ),
            (403, "<html>forbidden</html>", .topicRefused, "HTTP 403"),
            (
                401, #"{"error":{"code":401,"message":"Expected OAuth 2 access token.","status":"UNAUTHENTICATED"}}"#,
                .topicRefused, "HTTP 401: Expected OAuth 2 access token."
            ),
            (404, "", .tokenGone, "HTTP 404"),
            (
                410, "push subscription has unsubscribed or expired.\n", .tokenGone,
                "HTTP 410: push subscription has unsubscribed or expired."
            ),
            (406, "", .throttled, "HTTP 406"), (413, "", .requestFaulty, "HTTP 413"), (429, "", .throttled, "HTTP 429"),
            (500, "", .retryable, "HTTP 500"),
            (503, "Service\r\n  Unavailable", .retryable, "HTTP 503: Service Unavailable"),
        ] as [(Int, String, PushVerdict, String)])
    func verdicts(_ row: (status: Int, body: String, verdict: PushVerdict, reason: String)) {
        let answer = Self.answer(row.status, row.body)
        #expect(answer.verdict == row.verdict)
        #expect(answer.reason == row.reason)
        #expect(answer.tokenDeadSince == nil && answer.isAfter(registeredAt: Instant(milliseconds: .max)))
    }

    @Test("words are one line of plain characters, and cut", arguments: ["{", "\u{0}\u{1b}[31m", "[]", "{}", "\u{ff}"])
    func words(text: String) {
        let words = Self.answer(400, text + String(repeating: "é\u{7f}x", count: 1000)).reason
        #expect(words.utf8.count <= 10 + WebPushErrorWords.longest)
        #expect(words.utf8.allSatisfy { 0x20...0x7E ~= $0 })
    }

    @Test("refusals are counted by status, whatever the words")
    func counters() {
        var refusals = PushRefusals()
        for body in ["", #"{"reason":"BadJwtToken"}"#, "other: words"] {
            refusals.count(Self.answer(403, body).reason)
        }
        refusals.count("HTTP 499: x")
        #expect(refusals["HTTP 403"] == 3 && refusals.other == 1 && refusals.counts.count == 1)
    }

    @Test(
        "each refusal has an explanation, and something to do",
        arguments: [400, 401, 403, 404, 406, 410, 413, 429, 502])
    func diagnosis(status: Int) {
        let diagnosis = PushDiagnosis(
            .rejected(reason: "HTTP \(status)", isTokenDead: false), delivery: .webPush)
        #expect(diagnosis.meaning.contains("HTTP \(status)") && diagnosis.meaning.hasSuffix("."))
        #expect(!diagnosis.advice.isEmpty)
        let other = PushDiagnosis(
            .rejected(reason: "HTTP \(status): VapidPkHashMismatch", isTokenDead: false), delivery: .webPush)
        #expect(other.meaning.contains("another key"))
    }
}
