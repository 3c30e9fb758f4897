import ByteMutation
import CallVocabulary
import Testing

@testable import PushCore

@Suite("The worst answers of push providers")
struct WorstAnswerTests {
    /// Who reads an answer.
    enum Reader: CaseIterable {
        case apns, fcm, webPush, registration, accessToken, retryAfter

        func read(_ status: Int, _ body: [UInt8]) {
            switch self {
            case .apns: _ = PushAnswer.apns(status: status, body: body)
            case .fcm: _ = PushAnswer.fcm(status: status, body: body)
            case .webPush: _ = PushAnswer.webPush(status: status, body: body)
            case .registration: _ = FCMRegistrationAnswer(status: status, body: body, count: 2)
            case .accessToken: _ = AccessTokenAnswer(status: status, body: body)
            case .retryAfter:
                // Fields are made ASCII.
                let ascii = body.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }
                _ = RetryAfter.duration(String(decoding: ascii, as: UTF8.self), now: Instant(milliseconds: 0))
            }
        }
    }

    private static let forms = [
        "§", #"{"§":1}"#, #"{"reason":"§","timestamp":1}"#, #"{"error":{"status":"§","message":"§"}}"#,
        #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"a§","details":[{"@type":"§","errorCode":"§"}]}}"#,
        #"{"access_token":"§","expires_in":3600}"#, #"{"error":"§","error_description":"§"}"#,
        #"{"results":[{"error":"§"},{"apns_token":"§","status":"§"}]}"#, "Sun, 06 § 1994 08:49:37 GMT",
    ]

    private static func body(_ form: String, _ worst: WorstInput, _ count: Int) -> [UInt8] {
        let filling = String(decoding: worst.bytes(count), as: UTF8.self)
        return Array(form.replacing("§", with: filling).utf8)
    }

    @Test("cost as much as they are long, and little as far as they are read", arguments: Reader.allCases, forms)
    func cost(_ reader: Reader, _ form: String) {
        for worst in WorstInput.allCases {
            for status in [200, 400] {
                let growth = WorstInput.growth(at: 2500) {
                    Self.body(form, worst, $0)
                } _: { body in
                    reader.read(status, body)
                }
                #expect(growth <= WorstInput.mostGrowth, "\(worst), HTTP \(status)")
                let longest = Self.body(form, worst, PushAnswer.longestBody)
                #expect(WorstInput.isQuick { reader.read(status, longest) }, "\(worst), HTTP \(status)")
            }
        }
    }
}
