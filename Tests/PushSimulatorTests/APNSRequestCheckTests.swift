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

    struct Case: CustomTestStringConvertible, Sendable {
        /// nil: accepted.
        let reason: APNSReason?
        let name: String
        let authorization: APNSReason?
        let apply: @Sendable (inout APNSRequest) -> Void

        init(
            _ reason: APNSReason?, _ name: String? = nil, authorization: APNSReason? = nil,
            _ apply: @escaping @Sendable (inout APNSRequest) -> Void
        ) {
            self.reason = reason
            self.name = name ?? reason?.rawValue ?? "accepted"
            self.authorization = authorization
            self.apply = apply
        }

        var testDescription: String { name }
    }

    /// One way to be wrong for each check, in the order in which they are made.
    static let faults: [Case] = [
        Case(.badMessageID) { $0.id = "not-a-uuid" },
        Case(.methodNotAllowed) { $0.method = "GET" },
        Case(.badTopic) { $0.topic = "org.example app.voip" },
        Case(.badCollapseID) { $0.collapseID = String(repeating: "c", count: 65) },
        Case(.badPriority) { $0.priority = "7" },
        Case(.badExpirationDate) { $0.expiration = "tomorrow" },
        Case(.invalidPushType) { $0.pushType = "call" },
        Case(.badDeviceToken) { $0.path = "/3/device/xyz" },
        Case(.expiredProviderToken, authorization: .expiredProviderToken) { _ in },
        Case(.payloadTooLarge) { $0.payload = [UInt8](repeating: 32, count: 5121) },
        Case(.duplicateHeaders) { $0.add(header: "apns-topic", value: "org.example.app.voip") },
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
                    "\(first.name) comes before \(second.name)")
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

    static let cases: [Case] = [
        Case(.missingTopic, "no topic") { $0.topic = nil },
        Case(.missingTopic, "an empty topic") { $0.topic = "" },
        Case(.badTopic, "a topic of 256 bytes") { $0.topic = String(repeating: "t", count: 256) },
        Case(nil, "a collapse id of 64 bytes") { $0.collapseID = String(repeating: "c", count: 64) },
        Case(.badCollapseID, "a collapse id of 66 bytes in 33 characters") {
            $0.collapseID = String(repeating: "é", count: 33)
        },
        Case(nil, "priority 5") { $0.priority = "5" },
        Case(nil, "priority 1") { $0.priority = "1" },
        Case(nil, "no priority") { $0.priority = nil },
        Case(.badPriority, "an empty priority") { $0.priority = "" },
        Case(.badPriority, "a background push with priority 10") { $0.pushType = "background" },
        Case(nil, "expiration 0") { $0.expiration = "0" },
        Case(.badExpirationDate, "a negative expiration") { $0.expiration = "-1" },
        Case(.badExpirationDate, "an expiration with a plus sign") { $0.expiration = "+1" },
        Case(.badExpirationDate, "an expiration with a fraction") { $0.expiration = "1700000045.5" },
        Case(.badExpirationDate, "an expiration beyond 64 bits") { $0.expiration = "99999999999999999999" },
        Case(nil, "no push type on a VoIP topic") { $0.pushType = nil },
        Case(.invalidPushType, "an alert on a VoIP topic") { $0.pushType = "alert" },
        Case(.invalidPushType, "a VoIP push on the app's own topic") { $0.topic = "org.example.app" },
        Case(.invalidPushType, "the push type in capitals") { $0.pushType = "VoIP" },
        Case(.badPath, "another path") { $0.path = "/3/devices/\(token)" },
        Case(.badPath, "the old path") { $0.path = "/2/device/\(token)" },
        Case(.missingDeviceToken, "no device token") { $0.path = "/3/device/" },
        Case(.missingDeviceToken, "no device token and no slash") { $0.path = "/3/device" },
        Case(.badDeviceToken, "an odd number of digits") { $0.path = "/3/device/abc" },
        Case(.badDeviceToken, "a token nobody was given") {
            $0.path = "/3/device/" + String(repeating: "00", count: 32)
        },
        Case(.badDeviceToken, "a token with a query") { $0.path += "?a=b" },
        Case(nil, "the token in capitals") { $0.path = "/3/device/" + token.uppercased() },
        Case(.unregistered, "the token of a removed app") { $0.path = "/3/device/\(removed)" },
        Case(.deviceTokenNotForTopic, "another app's topic") { $0.topic = "org.example.other.voip" },
        Case(.payloadEmpty, "no payload") { $0.payload = [] },
        Case(nil, "a VoIP payload of 5,120 bytes") { $0.payload = [UInt8](repeating: 32, count: 5120) },
        Case(nil, "a header APNs does not know, twice") {
            $0.add(header: "x-trace", value: "1")
            $0.add(header: "x-trace", value: "2")
        },
        Case(.duplicateHeaders, "two equal apns-ids") { $0.add(header: "apns-id", value: id) },
    ]

    @Test("each fault has its reason, and each check its borders", arguments: faults + cases)
    func borders(item: Case) {
        #expect(Self.reason(Self.request(item.apply), authorization: item.authorization) == item.reason)
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
