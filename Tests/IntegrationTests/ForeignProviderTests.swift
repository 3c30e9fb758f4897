import CallVocabulary
import Foundation
import PushCore
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import Testing

/// The simulator in Apple's place, for other providers: aioapns, curl with a token signed by the `openssl` program, and
/// h2load.
@Suite("A foreign provider at the push simulator", .world, .timeLimit(.minutes(2)))
struct ForeignProviderTests {
    private static let bundle = "org.reveille.phone"
    private static let voip = bundle + ".voip"

    // MARK: aioapns

    /// - Returns: the library's result of each task, in order.
    private func aioapns(topic: String, _ tasks: [[Any]]) async throws -> [JSONObject] {
        let manifest = try PushSimulatorManifest.load(folder: world.simulatorFolder)
        let endpoint = try #require(manifest.endpoint("production"))
        let texts = try tasks.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let result = try await Program.script(
            "aioapns_provider.py",
            [
                endpoint.host, "\(endpoint.port)", world.simulatorFolder + "/" + manifest.caFile,
                world.simulatorFolder + "/" + manifest.keyFile, manifest.keyID, manifest.teamID, topic,
            ] + texts)
        return try result.output.split(separator: "\n").map { try JSONObject(String($0)) }
    }

    @Test("aioapns sends a VoIP push to an attached phone, with its own id and all its headers")
    func aioapnsVoIP() async throws {
        let simulator = try await world.startSimulator()
        let phone = try await world.handset(on: simulator)
        let call = CallID.random()
        let push = PushID.random()
        let payload: [String: Any] = [
            "aps": [String: Any](), "uuid": call.description, "push_id": push.description, "handle": "alice",
            "handle_type": "user", "has_video": false, "wake_token": "w",
            "expires_at": (Instant.now + .seconds(30)).milliseconds,
        ]
        let more: [String: Any] = ["notification_id": push.description, "time_to_live": 30, "priority": 10]
        let results = try await aioapns(topic: Self.voip, [["voip", phone.token.token, "voip", payload, more]])
        #expect(results.map { $0["status"] as? String } == ["200"])
        #expect(results.map { $0["id"] as? String } == [push.description])
        let received = try await phone.push(of: call)
        #expect(received.push == push)
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.accepted == 1 && counts.delivered == 1 && counts.rejectedTotal == 0)
    }

    @Test("aioapns decodes each refusal: BadDeviceToken, Unregistered, DeviceTokenNotForTopic, PayloadTooLarge, faults")
    func aioapnsRefusals() async throws {
        let simulator = try await world.startSimulator()
        let environment = PushEnvironment.production
        let alert = try #require(await simulator.registerPhone(topic: Self.bundle, environment: environment))
        let voip = try #require(await simulator.registerPhone(topic: Self.voip, environment: environment))
        let gone = try #require(await simulator.registerPhone(topic: Self.bundle, environment: environment))
        let slow = try #require(await simulator.registerPhone(topic: Self.bundle, environment: environment))
        await simulator.removeApp(fromPhone: gone)
        await simulator.inject(PushFault(.refuse(.tooManyRequests), deviceToken: slow, count: 1))
        await simulator.inject(PushFault(.refuse(.internalServerError), deviceToken: slow, count: 1))
        let message = ["aps": ["alert": "hello"]]
        let nothing = [String: Any]()
        // 4,096 bytes, including the JSON around the text.
        let fits = ["aps": ["alert": String(repeating: "x", count: 4096 - 22)]]
        let tooLong = ["aps": ["alert": String(repeating: "x", count: 4096 - 21)]]
        let results = try await aioapns(
            topic: Self.bundle,
            [
                ["alert", alert, "alert", message, nothing],
                ["no type", alert, NSNull(), message, nothing],
                ["background", alert, "background", ["aps": ["content-available": 1]], ["priority": 5]],
                ["background 10", alert, "background", ["aps": ["content-available": 1]], ["priority": 10]],
                ["made up", "00ff00ff", "alert", message, nothing],
                ["not hexadecimal", "token", "alert", message, nothing],
                ["voip", voip, "alert", message, nothing],
                ["gone", gone, "alert", message, nothing],
                ["fits", alert, "alert", fits, nothing],
                ["too long", alert, "alert", tooLong, nothing],
                ["collapse", alert, "alert", message, ["collapse_key": String(repeating: "c", count: 65)]],
                ["slow", slow, "alert", message, nothing],
                ["broken", slow, "alert", message, nothing],
                ["fine again", slow, "alert", message, nothing],
            ])
        let expected = [
            "alert 200", "no type 200", "background 200", "background 10 400 BadPriority",
            "made up 400 BadDeviceToken", "not hexadecimal 400 BadDeviceToken", "voip 400 DeviceTokenNotForTopic",
            "gone 410 Unregistered", "fits 200", "too long 413 PayloadTooLarge", "collapse 400 BadCollapseId",
            "slow 429 TooManyRequests", "broken 500 InternalServerError", "fine again 200",
        ]
        let seen = results.map { result in
            ["task", "status", "reason"].compactMap { result[$0] as? String }.joined(separator: " ")
        }
        #expect(seen == expected)
        #expect(await simulator.snapshot()?.counts.accepted == 5)
    }

    @Test("aioapns, whose state machine respects the stream limit, sends hundreds at once")
    func aioapnsMany() async throws {
        let simulator = try await world.startSimulator()
        let phone = try #require(await simulator.registerPhone(topic: Self.voip, environment: .production))
        let results = try await aioapns(
            topic: Self.voip,
            [
                ["first", phone, "voip", ["aps": [String: Any]()], [String: Any]()],
                ["many", phone, "voip", ["aps": [String: Any]()], 500],
            ])
        #expect((results.last?["counts"] as? [String: Int]) == ["200": 500])
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.accepted == 501 && counts.rejectedTotal == 0)
    }

    @Test("aioapns and curl send the payload of each profile, which the app of that profile shows")
    func profiles() async throws {
        let simulator = try await world.startSimulator()
        let phone = try #require(await simulator.registerPhone(topic: Self.voip, environment: .production))
        let headers = [
            "authorization: bearer \(try await token())", "apns-topic: \(Self.voip)", "apns-push-type: voip",
        ]
        for profile in PayloadProfile.builtIn {
            let intent = PushIntent(
                id: .random(), call: .random(), user: "bob", device: .random(), token: .voip(phone, .production),
                from: "alice", fromName: "Alice", video: false, custom: nil, expiresAt: .now + .seconds(30))
            let body = try #require(APNSPayload(voip: intent, wakeToken: "w", profile: profile)).bytes(now: .now)
            let text = String(decoding: body, as: UTF8.self)
            let message = try JSONSerialization.jsonObject(with: Data(body))
            let results = try await aioapns(
                topic: Self.voip, [[profile.name, phone, "voip", message, [String: Any]()]])
            #expect(results.map { $0["status"] as? String } == ["200"], "\(profile.name)")
            #expect(try await curl(to: "/3/device/\(phone)", headers, body: text).status == 200, "\(profile.name)")
            let app = try #require(PhoneApp(rawValue: profile.name))
            guard case .shown(let call) = app.read(body, isAndroid: false) else {
                Issue.record("\(profile.name) shows nothing: \(text)")
                continue
            }
            #expect(call.call == intent.call.description, "\(profile.name)")
        }
        #expect(await simulator.snapshot()?.counts.accepted == 2 * PayloadProfile.builtIn.count)
    }

    // MARK: curl

    /// Sends one push by curl with these headers.
    private func curl(
        to path: String, _ headers: [String], body: String = "{\"aps\":{}}", method: String = "POST"
    ) async throws -> HTTPAnswer {
        let manifest = try PushSimulatorManifest.load(folder: world.simulatorFolder)
        let endpoint = try #require(manifest.endpoint("production"))
        let answer = try await HTTPAnswer.curl(
            [
                "--http2", "--cacert", world.simulatorFolder + "/" + manifest.caFile, "--request", method, "--data",
                body,
            ] + headers.flatMap { ["--header", $0] } + ["https://\(endpoint.host):\(endpoint.port)\(path)"])
        #expect(answer.version == "HTTP/2")
        return answer
    }

    private func token(team: String? = nil, age: TimeInterval = 0) async throws -> String {
        let manifest = try PushSimulatorManifest.load(folder: world.simulatorFolder)
        return try await OpenSSL.providerToken(
            keyFile: world.simulatorFolder + "/" + manifest.keyFile, keyID: manifest.keyID,
            teamID: team ?? manifest.teamID, issuedAt: Date() - age)
    }

    @Test("curl with a token signed by openssl gets 200 without a body, and its apns-id or a new one")
    func curlAccepted() async throws {
        let simulator = try await world.startSimulator()
        let phone = try #require(await simulator.registerPhone(topic: Self.voip, environment: .production))
        let id = PushID.random().description
        let headers = [
            "authorization: bearer \(try await token())", "apns-topic: \(Self.voip)", "apns-push-type: voip",
            "apns-priority: 10", "apns-expiration: 0",
        ]
        let named = try await curl(to: "/3/device/\(phone)", headers + ["apns-id: \(id)"])
        #expect(named.status == 200 && named.body.isEmpty)
        #expect(named.headers["apns-id"] == id)
        let nameless = try await curl(to: "/3/device/\(phone)", headers)
        #expect(nameless.status == 200 && nameless.body.isEmpty)
        #expect(PushID(nameless.headers["apns-id"] ?? "") != nil)
        #expect(nameless.headers["apns-id"] != id)
        #expect(await simulator.snapshot()?.counts.accepted == 2)
    }

    @Test("curl gets each reason with its status, as JSON; a 410 has a timestamp")
    func curlRefused() async throws {
        let simulator = try await world.startSimulator()
        let phone = try #require(await simulator.registerPhone(topic: Self.voip, environment: .production))
        let gone = try #require(await simulator.registerPhone(topic: Self.voip, environment: .production))
        let since = Instant.now.milliseconds
        await simulator.removeApp(fromPhone: gone)
        let good = "authorization: bearer \(try await token())"
        let topic = "apns-topic: \(Self.voip)"
        let (stale, stranger) = (try await token(age: 3700), try await token(team: "OTHERTEAM1"))
        let device = "/3/device/\(phone)"
        let cases: [(path: String, headers: [String], status: Int, reason: String)] = [
            (device, [topic], 403, "MissingProviderToken"),
            (device, [topic, "authorization: bearer \(good.dropLast(8))AAAAAAAA"], 403, "InvalidProviderToken"),
            (device, [topic, "authorization: bearer \(stranger)"], 403, "InvalidProviderToken"),
            (device, [topic, "authorization: bearer \(stale)"], 403, "ExpiredProviderToken"),
            (device, [good], 400, "MissingTopic"),
            (device, [good, topic, "apns-id: 1234"], 400, "BadMessageId"),
            (device, [good, topic, "apns-priority: 7"], 400, "BadPriority"),
            (device, [good, topic, "apns-expiration: soon"], 400, "BadExpirationDate"),
            (device, [good, topic, "apns-push-type: alert"], 400, "InvalidPushType"),
            (device, [good, "apns-topic: org.example.other.voip"], 400, "DeviceTokenNotForTopic"),
            ("/3/device/", [good, topic], 400, "MissingDeviceToken"),
            ("/4/device/\(phone)", [good, topic], 404, "BadPath"),
            ("/3/device/\(gone)", [good, topic], 410, "Unregistered"),
        ]
        for (path, headers, status, reason) in cases {
            let answer = try await curl(to: path, headers)
            #expect(answer.status == status && answer.reason == reason, "\(reason): \(answer)")
            #expect(PushID(answer.headers["apns-id"] ?? "") != nil, "\(reason)")
            let timestamp = try JSONObject(answer.body)["timestamp"] as? Int64
            #expect((timestamp != nil) == (status == 410), "\(reason)")
            if let timestamp { #expect(timestamp >= since && timestamp <= Instant.now.milliseconds) }
        }
        let fetched = try await curl(to: device, [good, topic], method: "GET")
        #expect(fetched.status == 405 && fetched.reason == "MethodNotAllowed")
        let page = String(repeating: "x", count: 5121)
        #expect(try await curl(to: device, [good, topic], body: page).reason == "PayloadTooLarge")
        #expect(await simulator.snapshot()?.counts.accepted == 0)
    }

    // MARK: nghttp and h2load

    @Test("nghttp sees a limit of one stream at first, and of a thousand after a valid token")
    func nghttp() async throws {
        let simulator = try await world.startSimulator()
        let phone = try #require(await simulator.registerPhone(topic: Self.voip, environment: .production))
        for (authorization, limits) in [(try await token(), ["1", "1000"]), ("none", ["1"])] {
            let (fields, url) = try load(to: phone, token: authorization)
            let result = try await Program.run("/usr/bin/nghttp", ["--verbose", "--multiply=3"] + fields + [url])
            #expect(result.ending == .exit(0), "\(result.errors)")
            let seen = result.output.split(separator: "\n").filter { $0.contains("MAX_CONCURRENT_STREAMS") }
            // Its own SETTINGS appear in the same format, with 100.
            let announced = seen.compactMap { $0.split(separator: ":").last?.prefix { $0.isNumber } }
            #expect(announced.filter { $0 != "100" } == limits.map { $0[...] }, "\(result.output)")
        }
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.accepted >= 1 && counts.connections == 2)
    }

    /// The options and the URL for h2load and nghttp.
    private func load(to phone: String, token: String) throws -> (options: [String], url: String) {
        let manifest = try PushSimulatorManifest.load(folder: world.simulatorFolder)
        let endpoint = try #require(manifest.endpoint("production"))
        let body = world.folder + "/payload"
        try Data("{\"aps\":{}}".utf8).write(to: URL(fileURLWithPath: body))
        let fields = [
            "authorization: bearer \(token)", "apns-topic: \(Self.voip)", "apns-push-type: voip", "apns-priority: 10",
            "apns-expiration: 0",
        ]
        return (
            ["-d", body] + fields.flatMap { ["-H", $0] },
            "https://\(endpoint.host):\(endpoint.port)/3/device/\(phone)"
        )
    }

    /// With TLS 1.3 a client may send before it has our SETTINGS, and h2load does. Streams above the limit of one are
    /// then refused, at most once on each connection, and h2load does not retry them.
    @Test(
        "h2load sends thousands of pushes with a signed token: all within the limit get 200", arguments: [1, 100])
    func h2load(streams: Int) async throws {
        let simulator = try await world.startSimulator()
        let phone = try #require(await simulator.registerPhone(topic: Self.voip, environment: .production))
        let (options, url) = try load(to: phone, token: try await token())
        let result = try await Program.run(
            "/usr/bin/h2load", ["-n", "4000", "-c", "2", "-m", "\(streams)"] + options + [url])
        #expect(result.ending == .exit(0), "\(result.errors)")
        let counts = try #require(await simulator.snapshot()?.counts)
        let codes = "status codes: \(counts.accepted) 2xx, 0 3xx, 0 4xx, 0 5xx"
        #expect(result.output.contains(codes), "\(result.output)")
        #expect(counts.accepted >= 4000 - 2 * (streams - 1) && counts.received == counts.accepted)
        #expect(counts.connections == 2)
    }
}

extension HTTPAnswer {
    fileprivate var reason: String? { try? object["reason"] as? String }
}
