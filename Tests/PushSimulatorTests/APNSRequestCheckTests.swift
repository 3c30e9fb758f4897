import CallVocabulary
import PushSimulator
import PushVocabulary
import Testing

@Suite("What APNs says to a request")
struct APNSRequestCheckTests {
    static let token = String(repeating: "ab", count: 32)
    static let removed = String(repeating: "cd", count: 32)
    static let id = "0191d1f2-3c4d-4e5f-8a6b-7c8d9e0f1a2b"
    static let fresh = "ffffffff-0000-4000-8000-000000000000"

    static func request(_ change: (inout APNSRequest) -> Void = { _ in }) -> APNSRequest {
        var request = APNSRequest(method: "POST", path: "/3/device/\(token)", payload: Array("{\"aps\":{}}".utf8))
        request.add(header: "authorization", value: "bearer x.y.z")
        request.add(header: "apns-id", value: id)
        request.add(header: "apns-topic", value: "org.example.app.voip")
        request.add(header: "apns-push-type", value: "voip")
        request.add(header: "apns-priority", value: "10")
        request.add(header: "apns-expiration", value: "1700000045")
        change(&request)
        return request
    }

    static func judge(_ request: APNSRequest, authorization: APNSReason? = nil) -> APNSRequestCheck.Verdict {
        APNSRequestCheck.judge(
            request, freshID: { fresh },
            standing: { asked in
                switch asked {
                case token: .registered(topic: "org.example.app.voip")
                case removed: .unregistered(since: Instant(milliseconds: 1_454_948_015_990))
                default: .unknown
                }
            },
            authorize: { authorization })
    }

    static func reason(_ request: APNSRequest, authorization: APNSReason? = nil) -> APNSReason? {
        guard case .refused(let response) = judge(request, authorization: authorization) else { return nil }
        return response.reason
    }

    /// One way to be wrong for each check, in the order in which they are made.
    struct Fault: CustomTestStringConvertible, Sendable {
        let reason: APNSReason
        var authorization: APNSReason?
        let apply: @Sendable (inout APNSRequest) -> Void

        init(
            _ reason: APNSReason, authorization: APNSReason? = nil,
            _ apply: @escaping @Sendable (inout APNSRequest) -> Void
        ) {
            self.reason = reason
            self.authorization = authorization
            self.apply = apply
        }

        var testDescription: String { reason.rawValue }
    }

    static let faults: [Fault] = [
        Fault(.badMessageID) { $0.id = "not-a-uuid" },
        Fault(.methodNotAllowed) { $0.method = "GET" },
        Fault(.badTopic) { $0.topic = "org.example app.voip" },
        Fault(.badCollapseID) { $0.collapseID = String(repeating: "c", count: 65) },
        Fault(.badPriority) { $0.priority = "7" },
        Fault(.badExpirationDate) { $0.expiration = "tomorrow" },
        Fault(.invalidPushType) { $0.pushType = "call" },
        Fault(.badDeviceToken) { $0.path = "/3/device/xyz" },
        Fault(.expiredProviderToken, authorization: .expiredProviderToken) { _ in },
        Fault(.payloadTooLarge) { $0.payload = [UInt8](repeating: 32, count: 5121) },
        Fault(.duplicateHeaders) { $0.add(header: "apns-topic", value: "org.example.app.voip") },
    ]

    @Test("a request in order is accepted with all that it said")
    func accepted() {
        let verdict = Self.judge(Self.request())
        #expect(
            verdict
                == .accepted(
                    AcceptedPush(
                        id: Self.id, deviceToken: Self.token, topic: "org.example.app.voip", type: .voip, priority: 10,
                        expiration: 1_700_000_045, collapseID: nil, payload: Array("{\"aps\":{}}".utf8))))
    }

    @Test("each fault alone has its reason", arguments: faults)
    func alone(fault: Fault) {
        #expect(Self.reason(Self.request(fault.apply), authorization: fault.authorization) == fault.reason)
    }

    @Test("of two faults the one checked first gives the reason")
    func order() {
        for (index, first) in Self.faults.enumerated() {
            for second in Self.faults[(index + 1)...] {
                let request = Self.request { request in
                    first.apply(&request)
                    second.apply(&request)
                }
                let authorization = first.authorization ?? second.authorization
                #expect(
                    Self.reason(request, authorization: authorization) == first.reason,
                    "\(first.reason.rawValue) comes before \(second.reason.rawValue)")
            }
        }
    }

    @Test("the provider token is not looked at when something before it is wrong")
    func authorizationComesLate() {
        var isAsked = false
        _ = APNSRequestCheck.judge(
            Self.request { $0.path = "/3/device/00" }, freshID: { Self.fresh }, standing: { _ in .unknown },
            authorize: {
                isAsked = true
                return nil
            })
        #expect(!isAsked)
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let reason: APNSReason?
        let apply: @Sendable (inout APNSRequest) -> Void

        init(_ name: String, _ reason: APNSReason?, _ apply: @escaping @Sendable (inout APNSRequest) -> Void) {
            self.name = name
            self.reason = reason
            self.apply = apply
        }

        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case("no topic", .missingTopic) { $0.topic = nil },
        Case("an empty topic", .missingTopic) { $0.topic = "" },
        Case("a topic of 256 bytes", .badTopic) { $0.topic = String(repeating: "t", count: 256) },
        Case("a collapse id of 64 bytes", nil) { $0.collapseID = String(repeating: "c", count: 64) },
        Case("a collapse id of 66 bytes in 33 characters", .badCollapseID) {
            $0.collapseID = String(repeating: "é", count: 33)
        },
        Case("priority 5", nil) { $0.priority = "5" },
        Case("priority 1", nil) { $0.priority = "1" },
        Case("no priority", nil) { $0.priority = nil },
        Case("an empty priority", .badPriority) { $0.priority = "" },
        Case("a background push with priority 10", .badPriority) { $0.pushType = "background" },
        Case("expiration 0", nil) { $0.expiration = "0" },
        Case("a negative expiration", .badExpirationDate) { $0.expiration = "-1" },
        Case("an expiration with a plus sign", .badExpirationDate) { $0.expiration = "+1" },
        Case("an expiration with a fraction", .badExpirationDate) { $0.expiration = "1700000045.5" },
        Case("an expiration beyond 64 bits", .badExpirationDate) { $0.expiration = "99999999999999999999" },
        Case("no push type on a VoIP topic", nil) { $0.pushType = nil },
        Case("an alert on a VoIP topic", .invalidPushType) { $0.pushType = "alert" },
        Case("a VoIP push on the app's own topic", .invalidPushType) { $0.topic = "org.example.app" },
        Case("the push type in capitals", .invalidPushType) { $0.pushType = "VoIP" },
        Case("another path", .badPath) { $0.path = "/3/devices/\(token)" },
        Case("the old path", .badPath) { $0.path = "/2/device/\(token)" },
        Case("no device token", .missingDeviceToken) { $0.path = "/3/device/" },
        Case("no device token and no slash", .missingDeviceToken) { $0.path = "/3/device" },
        Case("an odd number of digits", .badDeviceToken) { $0.path = "/3/device/abc" },
        Case("a token nobody was given", .badDeviceToken) {
            $0.path = "/3/device/" + String(repeating: "00", count: 32)
        },
        Case("a token with a query", .badDeviceToken) { $0.path += "?a=b" },
        Case("the token in capitals", nil) { $0.path = "/3/device/" + token.uppercased() },
        Case("the token of a removed app", .unregistered) { $0.path = "/3/device/\(removed)" },
        Case("another app's topic", .deviceTokenNotForTopic) { $0.topic = "org.example.other.voip" },
        Case("no payload", .payloadEmpty) { $0.payload = [] },
        Case("a VoIP payload of 5,120 bytes", nil) { $0.payload = [UInt8](repeating: 32, count: 5120) },
        Case("a header APNs does not know, twice", nil) {
            $0.add(header: "x-trace", value: "1")
            $0.add(header: "x-trace", value: "2")
        },
        Case("two equal apns-ids", .duplicateHeaders) { $0.add(header: "apns-id", value: id) },
    ]

    @Test("the borders of each check", arguments: cases)
    func borders(item: Case) {
        #expect(Self.reason(Self.request(item.apply)) == item.reason)
    }

    @Test("alert and background payloads end at 4,096 bytes", arguments: ["alert", "background"], [4096, 4097])
    func alertPayload(type: String, size: Int) {
        let request = Self.request {
            $0.topic = "org.example.app"
            $0.pushType = type
            $0.priority = "5"
            $0.payload = [UInt8](repeating: 32, count: size)
        }
        let verdict = APNSRequestCheck.judge(
            request, freshID: { Self.fresh }, standing: { _ in .registered(topic: "org.example.app") },
            authorize: { nil })
        if size == 4096 {
            guard case .accepted(let push) = verdict else { return #expect(Bool(false), "\(verdict)") }
            #expect(push.type.rawValue == type)
        } else {
            #expect(verdict == .refused(.refused(.payloadTooLarge, id: Self.id)))
        }
    }

    @Test("a refusal echoes the apns-id as it came and names the reason in JSON")
    func refusalBody() {
        let upper = Self.id.uppercased()
        let verdict = Self.judge(
            Self.request {
                $0.id = upper
                $0.topic = "a b"
            })
        guard case .refused(let response) = verdict else { return #expect(Bool(false)) }
        #expect(response.status == 400)
        #expect(response.id == upper)
        #expect(String(decoding: response.body, as: UTF8.self) == "{\"reason\":\"BadTopic\"}")
    }

    @Test("a request without an apns-id, or with a bad one, is given one")
    func freshID() {
        guard case .accepted(let push) = Self.judge(Self.request { $0.id = nil }) else { return #expect(Bool(false)) }
        #expect(push.id == Self.fresh)
        #expect(Self.judge(Self.request { $0.id = "7" }) == .refused(.refused(.badMessageID, id: Self.fresh)))
    }

    @Test("410 carries the time since when the token is dead, in milliseconds")
    func unregistered() {
        guard case .refused(let response) = Self.judge(Self.request { $0.path = "/3/device/\(Self.removed)" }) else {
            return #expect(Bool(false))
        }
        #expect(response.status == 410)
        let body = "{\"reason\":\"Unregistered\",\"timestamp\":1454948015990}"
        #expect(String(decoding: response.body, as: UTF8.self) == body)
    }

    @Test("an accepted push has an answer without a body")
    func emptyBody() {
        let response = APNSResponse.accepted(id: Self.id)
        #expect(response.status == 200)
        #expect(response.body.isEmpty)
    }

    @Test("the provider token is found behind bearer in any case, and nowhere else")
    func bearer() {
        var request = APNSRequest(method: "POST", path: "/", payload: [])
        #expect(request.providerToken == nil)
        request.authorization = "Bearer a.b.c"
        #expect(request.providerToken == "a.b.c")
        request.authorization = "basic a.b.c"
        #expect(request.providerToken == nil)
        request.authorization = "bearer "
        #expect(request.providerToken == nil)
    }

    @Test("each reason has the status that Apple documents")
    func statuses() {
        let expected: [Int: Int] = [400: 14, 403: 8, 404: 1, 405: 1, 410: 2, 413: 1, 429: 2, 500: 1, 503: 2]
        #expect(Dictionary(grouping: APNSReason.allCases, by: \.status).mapValues(\.count) == expected)
        #expect(APNSReason.badEnvironmentKeyIDInToken.rawValue == "BadEnvironmentKeyIdInToken")
    }
}
