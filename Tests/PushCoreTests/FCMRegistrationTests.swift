import CallVocabulary
import Testing

@testable import PushCore

@Suite("FCM's registration API")
struct FCMRegistrationTests {
    private static func text(_ registration: FCMRegistration) -> String {
        String(decoding: registration.body, as: UTF8.self)
    }

    @Test("the requests are as documented, with an OAuth token that says it is one")
    func requests() throws {
        let map = try FCMRegistration(importing: ["00\"", "01"], application: "org.example.phone", isSandbox: true)
        #expect(map.path == "/iid/v1:batchImport" && !map.isNotice)
        #expect(
            Self.text(map) == #"{"application":"org.example.phone","sandbox":true,"apns_tokens":["00\"","01"]}"#)
        let add = try FCMRegistration(["a", "b"], isSubscribed: true, topic: "news-1")
        #expect(add.path == "/iid/v1:batchAdd")
        #expect(Self.text(add) == #"{"to":"/topics/news-1","registration_tokens":["a","b"]}"#)
        #expect(try FCMRegistration(["a"], isSubscribed: false, topic: "n").path == "/iid/v1:batchRemove")
        #expect(
            add.fields(accessToken: "t").map { "\($0.name): \($0.value)" } == [
                "authorization: Bearer t", "content-type: application/json", "access_token_auth: true",
            ])
    }

    @Test("a notice goes to a topic by the send API, and has 2,048 bytes at most")
    func notice() throws {
        func notice(_ count: Int) throws -> FCMRegistration {
            try FCMRegistration(
                notice: String(repeating: "n", count: count), title: "T", topic: "news", project: "example-1")
        }
        let short = try notice(1)
        #expect(short.path == "/v1/projects/example-1/messages:send" && short.isNotice)
        #expect(
            Self.text(short) == """
                {"message":{"topic":"news","notification":{"title":"T","body":"n"},"android":{"priority":"NORMAL"}}}
                """)
        #expect(!short.fields(accessToken: "t").contains { $0.name == "access_token_auth" })
        let rest = 2048 - short.body.count
        #expect(try notice(1 + rest).body.count == 2048)
        #expect(throws: FCMRegistration.Fault.noticeTooLong) { try notice(2 + rest) }
    }

    @Test("what cannot be asked is refused before it is")
    func faults() {
        #expect(throws: FCMRegistration.Fault.topicNotPlain) {
            try FCMRegistration(["a"], isSubscribed: true, topic: "a/b")
        }
        #expect(throws: FCMRegistration.Fault.noTokens) { try FCMRegistration([], isSubscribed: true, topic: "a") }
        #expect(throws: FCMRegistration.Fault.tooManyTokens) {
            try FCMRegistration(
                importing: [String](repeating: "00", count: 101), application: "a", isSandbox: false)
        }
        #expect(throws: FCMRegistration.Fault.projectNotPlain) {
            try FCMRegistration(notice: "n", title: "t", topic: "a", project: "a/b")
        }
    }

    @Test("each token has its result, in words where it failed")
    func results() {
        func answer(_ body: String, _ count: Int) -> FCMRegistrationAnswer {
            FCMRegistrationAnswer(status: 200, body: Array(body.utf8), count: count)
        }
        let map =
            #"{"results":[{"apns_token":"0","status":"OK","registration_token":"r"},{"apns_token":"1","status":"Internal Server Error"}]}"#
        #expect(
            answer(map, 2) == .outcomes([.done(registrationToken: "r"), .failed("Internal Server Error")]))
        let missing = answer(#"{"results":[{"status":"OK"}]}"#, 1)
        #expect(missing == .outcomes([.failed("OK")]), "a mapping without a token is none")
        let add = answer(#"{"results":[{},{"error":"NOT_FOUND"}]}"#, 2)
        #expect(
            add
                == .outcomes([
                    .done(registrationToken: nil),
                    .failed("the registration token was deleted, or the app was removed (NOT_FOUND)"),
                ]))
        #expect(answer("{}", 0) == .outcomes([]))
        #expect(answer("{}", 1) == .refused("the answer speaks of 0 tokens instead of 1"))
    }

    @Test(
        "a refusal of all of it says what to look at",
        arguments: [
            (401, #"{"error":{"status":"UNAUTHENTICATED"}}"#, "FCM does not take the access token (UNAUTHENTICATED)"),
            (
                403, #"{"error":{"status":"PERMISSION_DENIED","message":"No."}}"#,
                "the service account may not do this in the project (PERMISSION_DENIED): No."
            ), (500, "", "FCM failed; try again later (HTTP 500)"),
            (400, #"{"error":"InvalidTokenVersion"}"#, "FCM refuses the request (HTTP 400)"),
        ])
    func refusals(_ row: (status: Int, body: String, words: String)) {
        #expect(
            FCMRegistrationAnswer(status: row.status, body: Array(row.body.utf8), count: 1) == .refused(row.words))
    }
}
