import CallVocabulary
import EventLoop
import Foundation
import HTTP2
import JWTKit
import PushSimulator
import PushVocabulary
import Testing

@Suite("A provider's connection to the simulator", .simulator, .timeLimit(.minutes(5)))
struct ProviderConnectionTests {
    typealias Harness = SimulatorHarness

    @Test("a push in order is answered 200 with its apns-id and reaches the attached phone")
    func delivered() async throws {
        let device = try await harness.phone()
        let phone = try await TestPhone.attach(device)
        let client = try await harness.client()
        let id = UUID().uuidString.lowercased()
        let payload = "{\"aps\":{},\n \"uuid\":\"6b1e\",\"name\":\"Zoë\"}"
        let answer = try await client.send(
            Harness.push(
                to: device, token: harness.providerToken(), id: id, payload: payload))
        #expect(answer.status == 200)
        #expect(answer.first("apns-id") == id)
        #expect(answer.first("apns-unique-id") == nil)
        #expect(answer.body.isEmpty)
        let push = try await phone.nextPush()
        #expect(push.id == id)
        #expect(push.isVoIP)
        #expect(push.mustReport)
        #expect(
            push.headers == [
                "apns-id": id, "apns-topic": Harness.voipTopic, "apns-push-type": "voip", "apns-priority": "10",
                "apns-expiration": "0",
            ])
        #expect(String(decoding: push.payload, as: UTF8.self) == payload.replacing("\n", with: " "))
        #expect(try await phone.report(id) == .accepted)
        #expect(try await phone.report(id) == .notAwaited)
        let seen = try await harness.snapshot()
        #expect(seen.counts.received == 1)
        #expect(seen.counts.accepted == 1)
        #expect(seen.counts.delivered == 1)
        #expect(seen.counts.reported == 1)
        #expect(seen.counts.reportedInVain == 1)
        #expect(seen.counts.rejectedTotal == 0)
        #expect(seen.phone(device)?.awaitedReports == 0)
        #expect(seen.phone(device)?.app == "background")
    }

    @Test("each bad provider token has its reason, and none opens the connection")
    func badTokens() async throws {
        let device = try await harness.phone()
        let own = try harness.key()
        let (keyID, teamID) = (harness.manifest.keyID, harness.manifest.teamID)
        let good = try await harness.providerToken()
        let parts = good.split(separator: ".").map(String.init)
        let unsigned = Data("{\"alg\":\"none\",\"kid\":\"\(keyID)\"}".utf8).base64EncodedString()
            .replacing("=", with: "")
        let cases: [(String, String?, APNSReason)] = [
            ("missing", nil, .missingProviderToken),
            ("garbage", "garbage", .invalidProviderToken),
            ("three empty parts", "..", .invalidProviderToken),
            ("expired", try await harness.providerToken(age: .seconds(3601)), .expiredProviderToken),
            ("from the future", try await harness.providerToken(age: .seconds(-120)), .invalidProviderToken),
            (
                "a foreign key under our id",
                try await Harness.sign(key: ES256PrivateKey(), keyID: keyID, teamID: teamID), .invalidProviderToken
            ),
            (
                "an unknown key id",
                try await Harness.sign(key: own, keyID: "UNKNOWN000", teamID: teamID), .invalidProviderToken
            ),
            ("no key id", try await Harness.sign(key: own, keyID: nil, teamID: teamID), .invalidProviderToken),
            (
                "another team",
                try await Harness.sign(key: own, keyID: keyID, teamID: "OTHERTEAM0"), .invalidProviderToken
            ),
            ("a signature cut short", String(good.dropLast(4)), .invalidProviderToken),
            ("alg none", "\(unsigned).\(parts[1]).", .invalidProviderToken),
        ]
        let client = try await harness.client()
        for (name, token, reason) in cases {
            let answer = try await client.send(Harness.push(to: device, token: token))
            #expect(answer.status == 403, "\(name)")
            #expect(answer.text == "{\"reason\":\"\(reason.rawValue)\"}", "\(name)")
        }
        #expect(await client.limit() == 1)
        let seen = try await harness.snapshot()
        #expect(seen.counts.accepted == 0)
        #expect(
            seen.counts.rejected == [
                "MissingProviderToken": 1, "ExpiredProviderToken": 1, "InvalidProviderToken": cases.count - 2,
            ])
    }

    @Test("one stream is allowed until the first valid token, then 1000")
    func streams() async throws {
        let device = try await harness.phone()
        let client = try await harness.client()
        #expect(try await client.send(Harness.push(to: device, token: "x")).status == 403)
        #expect(await client.limit() == 1)
        let token = try await harness.providerToken()
        #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
        #expect(try await client.nextLimit() == 1000)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 {
                group.addTask { try await client.send(Harness.push(to: device, token: token)).status }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(try await harness.snapshot().counts.accepted == 201)
    }

    @Test("a token belongs to one environment, and is bad in the other")
    func environments() async throws {
        let device = try await harness.phone(Harness.voipTopic, .sandbox)
        let token = try await harness.providerToken()
        let production = try await harness.client(.production)
        let refused = try await production.send(Harness.push(to: device, token: token))
        #expect(refused.status == 400)
        #expect(refused.text == "{\"reason\":\"BadDeviceToken\"}")
        let sandbox = try await harness.client(.sandbox)
        let accepted = try await sandbox.send(Harness.push(to: device, token: token))
        #expect(accepted.status == 200)
        #expect(accepted.first("apns-unique-id")?.count == 36)
    }

    @Test("tokens that were never issued are bad, unless the simulator is told to take them")
    func unknownTokens() async throws {
        let unknown = String(repeating: "0", count: 64)
        let answer = try await harness.client().send(Harness.push(to: unknown, token: harness.providerToken()))
        #expect(answer.text == "{\"reason\":\"BadDeviceToken\"}")
        try await Harness.with({ $0.acceptsUnknownTokens = true }) {
            let client = try await harness.client()
            let token = try await harness.providerToken()
            #expect(try await client.send(Harness.push(to: unknown, token: token)).status == 200)
            #expect(try await harness.snapshot().counts.dropped == ["no_phone": 1])
            let sandboxed = try await harness.phone(Harness.voipTopic, .sandbox)
            #expect(try await client.send(Harness.push(to: sandboxed, token: token)).status == 400)
        }
    }

    @Test("headers sent twice and payloads too large are seen on the wire")
    func wire() async throws {
        let (device, client, token) = try await harness.provider()
        var twice = Harness.push(to: device, token: token)
        twice.fields.append(HTTPField("apns-topic", Harness.voipTopic))
        #expect(try await client.send(twice).text == "{\"reason\":\"DuplicateHeaders\"}")
        let large = "\"" + String(repeating: "x", count: 100_000) + "\""
        let answer = try await client.send(Harness.push(to: device, token: token, payload: large))
        #expect(answer.status == 413)
        #expect(answer.text == "{\"reason\":\"PayloadTooLarge\"}")
        #expect(try await client.send(Harness.push(to: device, token: token)).status == 200)
    }

    @Test("a second token within 20 minutes is refused, and the first goes on")
    func refreshedTooOften() async throws {
        let device = try await harness.phone()
        let client = try await harness.client()
        let first = try await harness.providerToken(age: .seconds(60))
        let second = try await harness.providerToken()
        #expect(try await client.send(Harness.push(to: device, token: first)).status == 200)
        let refused = try await client.send(Harness.push(to: device, token: second))
        #expect(refused.status == 429)
        #expect(refused.text == "{\"reason\":\"TooManyProviderTokenUpdates\"}")
        #expect(try await client.send(Harness.push(to: device, token: first)).status == 200)
        let fresh = try await harness.client()
        #expect(try await fresh.send(Harness.push(to: device, token: second)).status == 200)
    }

    /// Signs a provider token with the openssl command alone; its DER signature becomes the two numbers JOSE wants.
    private static let foreignSigner = """
        import base64, json, subprocess, sys, time
        key, alg, kid, team = sys.argv[1:]
        b64 = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
        signed = b64(json.dumps({"alg": alg, "kid": kid}).encode()) + b"." \
            + b64(json.dumps({"iss": team, "iat": int(time.time())}).encode())
        der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=signed, stdout=subprocess.PIPE).stdout
        r = der[4:4 + der[3]]
        s = der[6 + der[3]:]
        print((signed + b"." + b64(r[-32:].rjust(32, bytes(1)) + s[-32:].rjust(32, bytes(1)))).decode(), end="")
        """

    @Test("curl pushes with a token that openssl signed, and gets APNs' answers")
    func curl() async throws {
        let device = try await harness.phone()
        let phone = try await TestPhone.attach(device)
        let token = try await foreignToken(algorithm: "ES256")
        let endpoint = try #require(harness.manifest.endpoint("production"))
        let arguments = [
            "--silent", "--show-error", "--http2", "--max-time", "20", "--cacert", harness.folder + "/ca.pem",
            "--write-out", " %{http_code} %{http_version}", "--header", "authorization: bearer \(token)",
            "--header", "apns-topic: \(Harness.voipTopic)", "--header", "apns-push-type: voip",
            "--header", "apns-expiration: 0", "--data", "{\"aps\":{}}",
        ]
        let url = "https://localhost:\(endpoint.port)/3/device/"
        #expect(try await Harness.run("curl", arguments + [url + device]) == " 200 2")
        #expect(try await phone.nextPush().payload == Array("{\"aps\":{}}".utf8))
        #expect(try await Harness.run("curl", arguments + [url + "00"]) == "{\"reason\":\"BadDeviceToken\"} 400 2")
        #expect(
            try await Harness.run("curl", arguments + ["--header", "apns-priority: 3", url + device])
                == "{\"reason\":\"BadPriority\"} 400 2")
        // The right signature under the name of another algorithm is not ES256.
        let misnamed = try await foreignToken(algorithm: "ES384")
        let answer = try await harness.client().send(Harness.push(to: device, token: misnamed))
        #expect(answer.text == "{\"reason\":\"InvalidProviderToken\"}")
    }

    private func foreignToken(algorithm: String) async throws -> String {
        try await Harness.run(
            "python3",
            [
                "-c", Self.foreignSigner, harness.folder + "/" + harness.manifest.keyFile, algorithm,
                harness.manifest.keyID, harness.manifest.teamID,
            ])
    }
}
