import Testing

@testable import PushSimulator

@Suite("The checks of the Web Push service")
struct WebPushRequestTests {
    private static let good: [(name: String, value: String)] = [
        ("authorization", "good"), ("ttl", "30"), ("urgency", "high"), ("topic", "Yt34bX0TTm6hO2nHcU9o4g"),
        ("content-encoding", "aes128gcm"),
    ]

    /// Removes a field.
    private static let none = "(none)"

    /// The result with some fields replaced, or removed by ``none``.
    private func result(
        _ changes: [String: String] = [:], method: String = "POST", path: String = "/push/browser",
        body: [UInt8] = [1], extra: [(name: String, value: String)] = []
    ) -> Result<WebPushRequest, WebPushError> {
        let fields = Self.good.compactMap { field -> (name: String, value: String)? in
            guard let change = changes[field.name] else { return field }
            return change == Self.none ? nil : (name: field.name, value: change)
        }
        do throws(WebPushError) {
            return .success(
                try WebPushRequest(
                    method: method, path: path, fields: fields + extra, body: body,
                    standing: { id in
                        switch id {
                        case "browser": .subscribed(key: [4])
                        case "over": .gone
                        default: .unknown
                        }
                    },
                    authorize: { value, key throws(WebPushError) in
                        guard key == [4], value == "good" else { throw WebPushError(.badKey) }
                    }))
        } catch {
            return .failure(error)
        }
    }

    private func refusal(of result: Result<WebPushRequest, WebPushError>) -> WebPushRefusal? {
        if case .failure(let error) = result { error.refusal } else { nil }
    }

    @Test("a good push is read, whether it has its optional fields or not")
    func accepted() throws {
        let push = try result().get()
        #expect(push.subscription == "browser" && push.timeToLive == 30 && push.urgency == .high)
        #expect(push.topic == "Yt34bX0TTm6hO2nHcU9o4g" && push.body == [1])
        let plain = try result(["urgency": Self.none, "topic": Self.none, "ttl": "0"]).get()
        #expect(plain.urgency == .normal && plain.topic == nil && plain.timeToLive == 0)
        #expect(try result(["content-encoding": Self.none], body: []).get().body == [])
        #expect(try result(body: [UInt8](repeating: 0, count: 4096)).get().body.count == 4096)
        #expect(try result(["ttl": "2419200"]).get().timeToLive == 2_419_200)
    }

    @Test("each wrong field is refused by its name")
    func refused() {
        let longest = String(repeating: "a", count: 32)
        for (changes, expected) in [
            (["authorization": Self.none], WebPushRefusal.missingAuthorization), (["authorization": "x"], .badKey),
            (["ttl": Self.none], .missingTTL), (["ttl": ""], .badTTL), (["ttl": "-1"], .badTTL),
            (["ttl": "1.5"], .badTTL),
            (["ttl": "+5"], .badTTL), (["ttl": "99999999999999999999"], .badTTL), (["ttl": "2419201"], .badTTL),
            (["topic": ""], .badTopic), (["topic": longest + "a"], .badTopic), (["topic": "a+b"], .badTopic),
            (["topic": "a="], .badTopic), (["topic": longest], nil), (["topic": "a-_9Z"], nil),
            (["urgency": "urgent"], .badUrgency), (["urgency": "High"], .badUrgency), (["urgency": "very-low"], nil),
            (["content-encoding": Self.none], .badEncoding), (["content-encoding": "aesgcm"], .badEncoding),
        ] as [([String: String], WebPushRefusal?)] {
            #expect(refusal(of: result(changes)) == expected, "\(changes)")
        }
        #expect(refusal(of: result(method: "PUT")) == .badMethod)
        #expect(refusal(of: result(path: "/push/")) == .notFound)
        #expect(refusal(of: result(path: "/push/other")) == .notFound)
        #expect(refusal(of: result(path: "/3/device/browser")) == .notFound)
        #expect(refusal(of: result(path: "/push/over")) == .gone)
        #expect(refusal(of: result(body: [UInt8](repeating: 0, count: 4097))) == .payloadTooLarge)
        for (name, expected) in [
            ("authorization", WebPushRefusal.badAuthorization), ("ttl", .badTTL), ("topic", .badTopic),
            ("urgency", .badUrgency), ("content-encoding", .badEncoding),
        ] {
            #expect(refusal(of: result(extra: [(name: name, value: "5")])) == expected)
        }
    }

    @Test("the first fault in the order of the checks is told")
    func order() {
        let wrong = [
            "authorization": Self.none, "ttl": Self.none, "topic": "=", "urgency": "?", "content-encoding": "gzip",
        ]
        let names = ["authorization", "ttl", "topic", "urgency", "content-encoding"]
        let refusals: [WebPushRefusal] = [.missingAuthorization, .missingTTL, .badTopic, .badUrgency, .badEncoding]
        let long = [UInt8](repeating: 0, count: 5000)
        for (index, expected) in refusals.enumerated() {
            let left = wrong.filter { names[index...].contains($0.key) }
            #expect(refusal(of: result(left, body: long)) == expected)
            #expect(refusal(of: result(left, path: "/push/over", body: long)) == .gone)
        }
    }

    @Test("the body of a refusal is Mozilla's", arguments: WebPushRefusal.allCases)
    func body(refusal: WebPushRefusal) throws {
        let text = String(decoding: PhoneLinkMessages.encode(WebPushError(refusal)), as: UTF8.self)
        #expect(
            text
                == #"{"code":\#(refusal.status),"errno":\#(refusal.number),"error":"\#(refusal.rawValue)","#
                + #""message":"\#(refusal.message)"}"#)
        #expect((400...599).contains(refusal.status))
    }
}
