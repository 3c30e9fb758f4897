import Testing

@testable import PushSimulator

@Suite("What FCM says to a message")
struct FCMSendRequestTests {
    private static func parse(_ json: String) -> Result<FCMSendRequest, GoogleError> {
        do throws(GoogleError) {
            return .success(try FCMSendRequest(body: Array(json.utf8)))
        } catch {
            return .failure(error)
        }
    }

    private static func error(_ json: String) -> String? {
        guard case .failure(let error) = parse(json) else { return nil }
        #expect(error.status == 400)
        #expect(error.reason == "INVALID_ARGUMENT")
        return String(decoding: PhoneLinkMessages.encode(error), as: UTF8.self)
    }

    @Test("a data message in order is read whole, in either spelling")
    func data() throws {
        for android in [
            "\"collapse_key\":\"c\",\"priority\":\"HIGH\",\"ttl\":\"3.5s\"",
            "\"collapseKey\":\"c\",\"priority\":\"high\",\"ttl\":\"3.500s\"",
        ] {
            let message = try Self.parse(
                "{\"message\":{\"token\":\"a:b\",\"data\":{\"uuid\":\"1\"},\"android\":{\(android)}}}"
            ).get()
            #expect(message.target == .token("a:b"))
            #expect(message.data == ["uuid": "1"])
            #expect(message.isHigh)
            #expect(message.timeToLive == .milliseconds(3500))
            #expect(message.collapseKey == "c")
            #expect(message.notification == nil)
            #expect(!message.isForValidationOnly)
        }
    }

    @Test("without Android's part a message is normal and kept for four weeks; a notification has its tag")
    func defaults() throws {
        let message = try Self.parse(
            """
            {"validate_only":true,"message":{"topic":"/topics/news","notification":{"title":"T","body":"B"},
            "android":{"notification":{"tag":"x"}},"apns":{"payload":{"aps":{"badge":1}}}}}
            """
        ).get()
        #expect(message.target == .topic("news"))
        #expect(!message.isHigh)
        #expect(message.timeToLive == .seconds(28 * 86_400))
        #expect(message.notification == FCMSendRequest.Notification(title: "T", body: "B", tag: "x"))
        #expect(message.apnsPayload == .object(["aps": .object(["badge": .number(1)])]))
        #expect(message.isForValidationOnly)
    }

    static let faults: [(String, String)] = [
        ("not json", "Invalid JSON payload"), ("{}", "Message is missing"),
        ("{\"message\":{}}", "Recipient of the message is not set"),
        ("{\"message\":{\"token\":\"a\",\"topic\":\"b\"}}", "oneof"),
        ("{\"message\":{\"token\":\"a\",\"priority\":\"HIGH\"}}", "Unknown name \\\"priority\\\" at 'message'"),
        ("{\"message\":{\"token\":\"a\"},\"x\":1}", "Unknown name \\\"x\\\""),
        ("{\"message\":{\"token\":\"a\",\"data\":{\"n\":5}}}", "message.data[0].value' (TYPE_STRING), 5"),
        ("{\"message\":{\"token\":\"a\",\"data\":{\"from\":\"x\"}}}", "Invalid data payload key: from"),
        ("{\"message\":{\"token\":\"a\",\"data\":{\"google.x\":\"x\"}}}", "Invalid data payload key"),
        ("{\"message\":{\"token\":\"a\",\"android\":{\"ttl\":\"38\"}}}", "Duration"),
        ("{\"message\":{\"token\":\"a\",\"android\":{\"ttl\":38}}}", "Duration"),
        ("{\"message\":{\"token\":\"a\",\"android\":{\"ttl\":\"-1s\"}}}", "Duration"),
        ("{\"message\":{\"token\":\"a\",\"android\":{\"ttl\":\"1.s\"}}}", "Duration"),
        ("{\"message\":{\"token\":\"a\",\"android\":{\"ttl\":\"1.0000000001s\"}}}", "Duration"),
        ("{\"message\":{\"token\":\"a\",\"android\":{\"ttl\":\"2419201s\"}}}", "four weeks"),
        ("{\"message\":{\"token\":\"a\",\"android\":{\"priority\":\"URGENT\"}}}", "AndroidMessagePriority"),
        ("{\"message\":{\"topic\":\"a b\"}}", "Invalid topic"),
        ("{\"message\":{\"condition\":\"'a' in themes\"}}", "Invalid condition"),
        ("{\"message\":{\"token\":\"a\",\"notification\":{\"title\":1}}}", "message.notification.title"),
    ]

    @Test("each fault is 400 INVALID_ARGUMENT in Google's shape and words", arguments: faults)
    func fault(json: String, words: String) throws {
        let error = try #require(Self.error(json))
        #expect(error.contains(words))
        #expect(error.contains("\"status\":\"INVALID_ARGUMENT\""))
        #expect(error.contains("\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\""))
    }

    @Test("a message ends at 4,096 bytes, one to a topic at 2,048", arguments: [("token", 4096), ("topic", 2048)])
    func size(target: String, limit: Int) {
        for (size, isTaken) in [(limit, true), (limit + 1, false)] {
            let text = String(repeating: "x", count: size - 1)
            let json = "{\"message\":{\"\(target)\":\"a\",\"data\":{\"k\":\"\(text)\"}}}"
            #expect((Self.error(json) == nil) == isTaken, "\(size)")
        }
    }

    @Test(
        "a condition holds as its operators say",
        arguments: [
            ("'a' in topics", true), ("'b' in topics", false), ("'a' in topics && 'b' in topics", false),
            ("'a' in topics || 'b' in topics", true),
            ("'b' in topics && 'b' in topics || 'a' in topics", true),
            ("'b' in topics && ('b' in topics || 'a' in topics)", false),
        ])
    func condition(text: String, holds: Bool) throws {
        let condition = try #require(TopicCondition(text))
        #expect(condition.holds { $0 == "a" } == holds)
    }

    @Test(
        "what is no condition is none",
        arguments: [
            "", "a in topics", "'a' in topics &&", "('a' in topics", "'a' in topics)", "'a' in topics & 'b' in topics",
            [String](repeating: "'a' in topics", count: 6).joined(separator: " || "),
            String(repeating: "(", count: 500),
        ])
    func noCondition(text: String) {
        #expect(TopicCondition(text) == nil)
    }
}
