import CallVocabulary
import Foundation
import HTTP2
import JWTKit
import PushCore
import PushVocabulary
import TLS
import Testing

@testable import PushSimulator

@Suite("FCM, its OAuth endpoint and the phones behind it", .simulator, .timeLimit(.minutes(5)))
struct FCMServiceTests {
    typealias Harness = SimulatorHarness

    private static let form = [HTTPField("content-type", "application/x-www-form-urlencoded")]
    private static let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="

    private struct Claims: JWTPayload {
        var iss: String
        var aud: String
        var scope = "https://www.googleapis.com/auth/firebase.messaging"
        var iat = Int(Date().timeIntervalSince1970)
        var exp = Int(Date().timeIntervalSince1970) + 3600
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    private func account() throws -> ServiceAccount {
        let text = try harness.text(harness.manifest.fcm?.serviceAccountFile)
        return try JSONDecoder().decode(ServiceAccount.self, from: Data(text.utf8))
    }

    private func exchange(
        _ client: TestClient, key: String? = nil, _ change: (inout Claims) -> Void = { _ in }
    ) async throws -> TestClient.Answer {
        let account = try account()
        var claims = Claims(iss: account.clientEmail, aud: account.tokenURI)
        change(&claims)
        let keys = JWTKeyCollection()
        await keys.add(rsa: try Insecure.RSA.PrivateKey(pem: key ?? account.privateKey), digestAlgorithm: .sha256)
        let assertion = try await keys.sign(claims)
        return try await client.send(
            HTTP2Request(
                method: "POST", authority: "localhost", path: "/token", fields: Self.form,
                body: Array((Self.grant + assertion).utf8)))
    }

    private func accessToken(_ client: TestClient) async throws -> String {
        let answer = try await exchange(client)
        let grant = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        #expect(grant?["token_type"] as? String == "Bearer")
        #expect(grant?["expires_in"] as? Int == 3599)
        return try #require(grant?["access_token"] as? String)
    }

    private func post(
        _ client: TestClient, _ path: String, _ body: String, bearer: String?, _ further: [HTTPField] = []
    ) async throws -> TestClient.Answer {
        let fields = bearer.map { [HTTPField("authorization", "Bearer \($0)")] } ?? []
        return try await client.send(
            HTTP2Request(
                method: "POST", authority: "localhost", path: path, fields: fields + further, body: Array(body.utf8)))
    }

    private func send(
        _ client: TestClient, _ message: String, bearer: String?, project: String = "reveille-phone"
    ) async throws -> TestClient.Answer {
        try await post(client, "/v1/projects/\(project)/messages:send", "{\"message\":{\(message)}}", bearer: bearer)
    }

    private func android(project: String = "reveille-phone") async throws -> String {
        try #require(
            await harness.simulator.registerPhone(topic: project, environment: .production, provider: .fcm))
    }

    private func errorCode(_ answer: TestClient.Answer) -> String {
        let object = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        let error = object?["error"] as? [String: Any]
        let details = error?["details"] as? [[String: Any]]
        #expect(error?["code"] as? Int == answer.status)
        let code = details?.first?["errorCode"] ?? details?.first?["reason"] ?? "?"
        return "\(answer.status) \(error?["status"] ?? "?") \(code)"
    }

    @Test("tokens begin with an installation's id, as Google makes them: never with a hyphen")
    func tokenStarts() async throws {
        var starts: Set<Character> = []
        for _ in 0..<100 { starts.insert(try #require(try await android().first)) }
        // One of four is missing of so many once in a million million times.
        #expect(starts == ["c", "d", "e", "f"])
    }

    @Test("a data message is answered with its name and reaches the phone, which says that it has shown the call")
    func delivered() async throws {
        let device = try await android()
        let phone = try await TestPhone.attach(device)
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        let answer = try await send(
            client,
            "\"token\":\"\(device)\",\"data\":{\"uuid\":\"6b1e\"},\"android\":{\"priority\":\"HIGH\",\"ttl\":\"38s\"}",
            bearer: bearer)
        #expect(answer.status == 200)
        let name = try JSONDecoder().decode([String: String].self, from: Data(answer.body))["name"] ?? ""
        let push = try await phone.nextPush()
        #expect(name == "projects/reveille-phone/messages/\(push.id)")
        #expect(push.provider == .fcm)
        #expect(!push.mustReport)
        #expect(push.headers["fcm-priority"] == "high")
        #expect(push.headers["fcm-ttl"] == "38")
        #expect(String(decoding: push.payload, as: UTF8.self) == "{\"data\":{\"uuid\":\"6b1e\"}}")
        #expect(try await phone.report(push.id) == .accepted)
        let seen = try await harness.snapshot()
        #expect(seen.counts.delivered == 1)
        #expect(seen.counts.reported == 1)
        #expect(seen.counts.accessTokens == 1)
        #expect(seen.phone(device)?.provider == "fcm")
    }

    @Test("each refusal has Google's status and error code")
    func refusals() async throws {
        let (device, removed) = (try await android(), try await android())
        let foreign = try await android(project: "another")
        await harness.simulator.removeApp(fromPhone: removed)
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        let good = "\"token\":\"\(device)\""
        func code(_ message: String, _ bearer: String?, _ project: String = "reveille-phone") async throws -> String {
            errorCode(try await send(client, message, bearer: bearer, project: project))
        }
        #expect(try await code(good, nil) == "401 UNAUTHENTICATED CREDENTIALS_MISSING")
        #expect(try await code(good, "x") == "401 UNAUTHENTICATED ACCESS_TOKEN_TYPE_UNSUPPORTED")
        #expect(try await code(good, bearer, "other") == "403 PERMISSION_DENIED IAM_PERMISSION_DENIED")
        #expect(try await code("\"token\":\"a:b\"", bearer) == "404 NOT_FOUND UNREGISTERED")
        #expect(try await code("\"token\":\"\(removed)\"", bearer) == "404 NOT_FOUND UNREGISTERED")
        #expect(try await code("\"token\":\"a b\"", bearer) == "400 INVALID_ARGUMENT INVALID_ARGUMENT")
        #expect(try await code("\"token\":\"\(foreign)\"", bearer) == "403 PERMISSION_DENIED SENDER_ID_MISMATCH")
        #expect(try await code("\(good),\"topic\":\"a\"", bearer) == "400 INVALID_ARGUMENT INVALID_ARGUMENT")
        await harness.simulator.revokeAccessTokens()
        #expect(try await code(good, bearer) == "401 UNAUTHENTICATED ACCESS_TOKEN_TYPE_UNSUPPORTED")
        #expect(try await post(client, "/v2/x", "", bearer: bearer).status == 404)
        #expect(try await harness.snapshot().counts.accepted == 0)
    }

    @Test("assertions are checked: key, account, audience")
    func assertions() async throws {
        let client = try await harness.fcmClient()
        let stranger = try RSAKey.generatePEM()
        for (answer, words) in [
            (try await exchange(client, key: stranger), "Invalid JWT Signature."),
            (try await exchange(client) { $0.iss = "nobody" }, "account not found"),
            (try await exchange(client) { $0.aud = "https://oauth2.googleapis.com/token" }, "audience"),
            (try await exchange(client) { $0.exp += 10 }, "short-lived"),
        ] {
            #expect(answer.status == 400)
            #expect(answer.text.contains("\"error\":\"invalid_grant\""))
            #expect(answer.text.contains(words), "\(answer.text)")
        }
        #expect(try await exchange(client).status == 200)
        #expect(try await harness.snapshot().counts.accessTokens == 1)
    }

    @Test("FCM's faults go through the admin calls, by token too, and OAuth has its own")
    func faults() async throws {
        let (device, lucky) = (try await android(), try await android())
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        for (reason, expected) in [
            ("QUOTA_EXCEEDED", "429 RESOURCE_EXHAUSTED QUOTA_EXCEEDED"),
            ("DEVICE_QUOTA_EXCEEDED", "429 RESOURCE_EXHAUSTED QUOTA_EXCEEDED"),
            ("PROJECT_QUOTA_EXCEEDED", "429 RESOURCE_EXHAUSTED QUOTA_EXCEEDED"),
            ("UNAVAILABLE", "503 UNAVAILABLE UNAVAILABLE"), ("INTERNAL", "500 INTERNAL INTERNAL"),
            ("THIRD_PARTY_AUTH_ERROR", "401 UNAUTHENTICATED THIRD_PARTY_AUTH_ERROR"),
        ] {
            let order =
                "{\"fault\":\"refuse\",\"provider\":\"fcm\",\"reason\":\"\(reason)\",\"count\":1,"
                + "\"token\":\"\(device)\",\"retry_after_s\":3}"
            #expect(try await post(client, "/simulator/v1/faults", order, bearer: nil).status == 200)
            #expect(try await send(client, "\"token\":\"\(lucky)\"", bearer: bearer).status == 200)
            let answer = try await send(client, "\"token\":\"\(device)\"", bearer: bearer)
            #expect(errorCode(answer) == expected)
            #expect(answer.first("retry-after") == "3")
        }
        await harness.simulator.inject(PushFault(.html(status: 502), service: .oauth, count: 1))
        #expect(try await send(client, "\"token\":\"\(device)\"", bearer: bearer).status == 200)
        #expect(try await exchange(client).status == 502)
        await harness.simulator.inject(PushFault(.refuseMessage(.unavailable), service: .oauth, count: 1))
        #expect(try await exchange(client).status == 503)
        #expect(try await exchange(client).status == 200)
        await harness.simulator.inject(PushFault(.splitBody(pause: .milliseconds(20)), service: .fcm, count: 1))
        let split = try await send(client, "\"token\":\"\(device)\"", bearer: bearer)
        #expect((split.status, split.pieces) == (200, 2))
        #expect(try JSONDecoder().decode([String: String].self, from: Data(split.body))["name"] != nil)
    }

    @Test(
        "GOAWAY in the middle of many messages: what it disowns was not processed, and comes to no phone",
        arguments: [PushFault.GoAway.LastStream.zero, .before, .current])
    func goAwayAmongMany(last: PushFault.GoAway.LastStream) async throws {
        let device = try await android()
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        #expect(try await send(client, "\"token\":\"\(device)\"", bearer: bearer).status == 200)
        let message = HTTP2Request(
            method: "POST", authority: "localhost", path: "/v1/projects/reveille-phone/messages:send",
            fields: [HTTPField("authorization", "Bearer \(bearer)")],
            body: Array(#"{"message":{"token":"\#(device)"}}"#.utf8))
        let fault = PushFault(.retire(.init(lastStream: last)), service: .fcm, count: 1)
        let answered = try await harness.sendMany(message, over: client, into: fault)
        #expect((answered == 16) == (last == .current))
    }

    @Test("tokens subscribe to topics, and messages to topics and conditions reach them")
    func topics() async throws {
        let (first, second) = (try await android(), try await android())
        let phones = [try await TestPhone.attach(first), try await TestPhone.attach(second)]
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        let oauth = [HTTPField("access_token_auth", "true")]
        let both = "{\"to\":\"/topics/news\",\"registration_tokens\":[\"\(first)\",\"none:x\",\"\(second)\"]}"
        #expect(try await post(client, "/iid/v1:batchAdd", both, bearer: bearer).status == 401)
        let added = try await post(client, "/iid/v1:batchAdd", both, bearer: bearer, oauth)
        #expect(added.text == "{\"results\":[{},{\"error\":\"NOT_FOUND\"},{}]}")
        #expect(try await harness.snapshot().phone(first)?.subscriptions == ["news"])
        #expect(try await send(client, "\"topic\":\"news\",\"data\":{\"n\":\"1\"}", bearer: bearer).status == 200)
        for phone in phones { #expect(try await phone.nextPush().headers["fcm-from"] == "/topics/news") }
        let one = "{\"to\":\"/topics/news\",\"registration_tokens\":[\"\(first)\"]}"
        #expect(
            try await post(client, "/iid/v1:batchRemove", one, bearer: bearer, oauth).text == "{\"results\":[{}]}")
        let condition = "\"condition\":\"'news' in topics || 'x' in topics\",\"data\":{\"n\":\"2\"}"
        #expect(try await send(client, condition, bearer: bearer).status == 200)
        #expect(try await phones[1].nextPush().payload == Array("{\"data\":{\"n\":\"2\"}}".utf8))
        #expect(try await harness.snapshot().counts.delivered == 3)
        let bad = "{\"to\":\"news\",\"registration_tokens\":[\"\(first)\"]}"
        #expect(try await post(client, "/iid/v1:batchAdd", bad, bearer: bearer, oauth).status == 400)
    }

    @Test("a token of APNs becomes one of FCM, by which a notification reaches the iPhone as an alert")
    func mapped() async throws {
        let device = try await harness.phone(Harness.topic)
        let phone = try await TestPhone.attach(device)
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        let order =
            "{\"application\":\"\(Harness.topic)\",\"sandbox\":false,\"apns_tokens\":[\"\(device)\",\"00\"]}"
        let answer = try await post(
            client, "/iid/v1:batchImport", order, bearer: bearer, [HTTPField("access_token_auth", "true")])
        let results = try #require(
            try JSONDecoder().decode([String: [[String: String]]].self, from: Data(answer.body))["results"])
        #expect(results.map { $0["status"] } == ["OK", "Internal Server Error"])
        let token = try #require(results[0]["registration_token"])
        #expect(
            try await send(
                client,
                "\"token\":\"\(token)\",\"notification\":{\"title\":\"Ann\",\"body\":\"Missed call\"},"
                    + "\"data\":{\"type\":\"missed_call\"}", bearer: bearer
            ).status == 200)
        let push = try await phone.nextPush()
        #expect(push.headers["apns-push-type"] == "alert")
        #expect(push.headers["apns-topic"] == Harness.topic)
        let alerts = try await harness.snapshot().phone(device)?.alerts
        #expect(alerts == [ShownAlert(id: push.id, title: "Ann", body: "Missed call")])
    }

    @Test("a dozing phone gets normal messages when it is picked up")
    func dozing() async throws {
        let device = try await android()
        let phone = try await TestPhone.attach(device)
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        try await phone.move(to: .dozing)
        for (priority, text) in [("NORMAL", "late"), ("HIGH", "early")] {
            let message =
                "\"token\":\"\(device)\",\"data\":{\"n\":\"\(text)\"},\"android\":{\"priority\":\"\(priority)\"}"
            #expect(try await send(client, message, bearer: bearer).status == 200)
        }
        #expect(try await phone.nextPush().payload == Array("{\"data\":{\"n\":\"early\"}}".utf8))
        #expect(try await harness.snapshot().phone(device)?.storedMessages.count == 1)
        try await phone.move(to: .awake)
        #expect(try await phone.nextPush().payload == Array("{\"data\":{\"n\":\"late\"}}".utf8))
    }

    /// Signs an assertion with the openssl command alone, from the service account's file.
    private static let foreignSigner = """
        import base64, json, subprocess, sys, tempfile, time
        account = json.load(open(sys.argv[1]))
        b64 = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
        now = int(time.time())
        signed = b64(json.dumps({"alg": "RS256", "kid": account["private_key_id"]}).encode()) + b"." + b64(json.dumps({
            "iss": account["client_email"], "aud": account["token_uri"], "iat": now, "exp": now + 3600,
            "scope": "https://www.googleapis.com/auth/firebase.messaging"}).encode())
        with tempfile.NamedTemporaryFile("w") as key:
            key.write(account["private_key"]); key.flush()
            signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key.name], input=signed,
                                       stdout=subprocess.PIPE).stdout
        print((signed + b"." + b64(signature)).decode(), end="")
        """

    @Test("curl exchanges an assertion that openssl signed at the account's token_uri, and sends a message")
    func curl() async throws {
        let device = try await android()
        let fcm = try #require(harness.manifest.fcm)
        let assertion = try await Harness.run(
            "python3", ["-c", Self.foreignSigner, harness.folder + "/" + fcm.serviceAccountFile])
        let common = [
            "--silent", "--show-error", "--http2", "--max-time", "20", "--cacert", harness.folder + "/ca.pem",
        ]
        let granted = try await Harness.run(
            "curl", common + ["--data", Self.grant + assertion, try account().tokenURI])
        let grant = try JSONSerialization.jsonObject(with: Data(granted.utf8)) as? [String: Any]
        let bearer = try #require(grant?["access_token"] as? String)
        let sent = try await Harness.run(
            "curl",
            common + [
                "--header", "authorization: Bearer \(bearer)", "--write-out", "%{http_code}",
                "--data", "{\"message\":{\"token\":\"\(device)\",\"data\":{\"a\":\"b\"}}}",
                "https://localhost:\(fcm.port)/v1/projects/\(fcm.project)/messages:send",
            ])
        #expect(sent.hasPrefix("{\"name\":\"projects/\(fcm.project)/messages/"))
        #expect(sent.hasSuffix("200"))
    }

    @Test("FCM takes the message of each profile, which the app of that profile shows")
    func profiles() async throws {
        let device = try await android()
        let phone = try await TestPhone.attach(device)
        let client = try await harness.fcmClient()
        let bearer = try await accessToken(client)
        let (alice, bob) = (try #require(Handle("alice")), try #require(Handle("bob")))
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        for profile in PayloadProfile.builtIn {
            let intent = PushIntent(
                id: .random(), call: .random(), user: bob, device: .random(),
                token: PushToken(
                    provider: .fcm, kind: .data, environment: .production, topic: "reveille-phone", token: device),
                from: alice, fromName: "Alice", video: false, custom: nil, expiresAt: now + .seconds(30))
            let body = try PushRequest(intent, wakeToken: "w", profile: profile).body(now: now)
            let text = String(decoding: body, as: UTF8.self)
            let answer = try await post(client, "/v1/projects/reveille-phone/messages:send", text, bearer: bearer)
            #expect(answer.status == 200, "\(profile.name): \(String(decoding: answer.body, as: UTF8.self))")
            let push = try await phone.nextPush()
            let app = try #require(PhoneApp(rawValue: profile.name))
            guard case .shown(let call) = app.read(push.payload, isAndroid: true) else {
                Issue.record("\(profile.name) shows nothing: \(text)")
                continue
            }
            #expect(call.call == intent.call.description, "\(profile.name)")
        }
    }
}
