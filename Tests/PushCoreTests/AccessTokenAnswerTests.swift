import CallVocabulary
import Testing

@testable import PushCore

@Suite("The answer of a token endpoint")
struct AccessTokenAnswerTests {
    private func read(_ status: Int, _ body: String) -> AccessTokenAnswer {
        AccessTokenAnswer(status: status, body: Array(body.utf8))
    }

    @Test(
        "has a lifetime from 30 s to a day, whatever number the provider writes",
        arguments: [
            (#","expires_in":3599"#, 3599), ("", 3600), (#","expires_in":null"#, 3600), (#","expires_in":30"#, 30),
            (#","expires_in":86400"#, 86_400), (#","expires_in":86401"#, 86_400),
            (#","expires_in":9223372036854775807"#, 86_400), (#","expires_in":9223372036854775808"#, 86_400),
            (#","expires_in":18446744073709551615"#, 86_400), (#","expires_in":99999999999999999999"#, 86_400),
            (#","expires_in":29"#, nil), (#","expires_in":0"#, nil), (#","expires_in":-1"#, nil),
            (#","expires_in":-9223372036854775808"#, nil), (#","expires_in":-99999999999999999999"#, nil),
            (#","expires_in":1e400"#, nil), (#","expires_in":3600.5"#, nil), (#","expires_in":"3600""#, nil),
            (#","expires_in":"+5""#, nil), (#","expires_in":true"#, nil), (#","expires_in":[3600]"#, nil),
        ] as [(String, Int64?)])
    func lifetime(member: String, seconds: Int64?) {
        let answer = read(200, #"{"access_token":"ya29.a"\#(member)}"#)
        guard let seconds else {
            guard case .refused(let words) = answer else {
                Issue.record("\(member) is taken")
                return
            }
            #expect(words.contains("access token"))
            return
        }
        #expect(answer == .token("ya29.a", life: .seconds(seconds)))
    }

    @Test(
        "without a token says why",
        arguments: [
            (503, "busy", "no access token (HTTP 503)"), (200, "", "no access token (HTTP 200)"),
            (200, #"{"access_token":""}"#, "no access token (HTTP 200)"),
            (200, #"{"access_token":"a b"}"#, "no access token (HTTP 200)"),
            (200, #"{"access_token":7}"#, "no access token (HTTP 200)"),
            (200, #"{"access_token":"a","expires_in":5 5}"#, "no access token (HTTP 200)"),
            (200, #"{"access_token":"a","expires_in":+5}"#, "no access token (HTTP 200)"),
            (
                200, #"{"access_token":"a","expires_in":1e400}"#,
                "no access token (expires_in is not a whole number of seconds)"
            ),
            (200, #"{"access_token":"a","expires_in":5}"#, "an access token that ends after 5 s is of no use"),
            (401, #"{"access_token":"a","error":"access_denied"}"#, "no access token (access_denied)"),
            (
                400, #"{"error":"invalid_client","error_description":"Deleted."}"#,
                "no access token (invalid_client): Deleted.; the service account was deleted or may not do this"
            ),
            (
                400, #"{"error":"a\u0007","error_description":"\u001B[2J\nready\u202E"}"#,
                #"no access token (a\u{7}): \u{1B}[2J\u{A}ready\u{202E}"#
            ),
        ] as [(Int, String, String)])
    func refusals(status: Int, body: String, words: String) {
        #expect(read(status, body) == .refused(words))
    }

    @Test("has a token that fits a request")
    func length() {
        let longest = String(repeating: "a", count: 8192)
        #expect(read(200, #"{"access_token":"\#(longest)"}"#) == .token(longest, life: .seconds(3600)))
        let words = "an access token of 8193 bytes is of no use: it has at most 8192"
        #expect(read(200, #"{"access_token":"\#(longest)a"}"#) == .refused(words))
    }

    @Test("prints no token")
    func redaction() {
        let answer = read(200, #"{"access_token":"ya29.secret"}"#)
        #expect(answer == .token("ya29.secret", life: .seconds(3600)))
        #expect(!"\(answer)".contains("ya29"))
    }
}
