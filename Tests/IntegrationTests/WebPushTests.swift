import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import HTTP2
import PushClient
import PushCore
import PushTestServer
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@Suite("Web Push, from the call to the browser", .world, .timeLimit(.minutes(2)))
struct WebPushTests {
    private static let key = WebPushKey.random()

    /// A push service on this machine with one subscribed browser, and a server that pushes to it.
    private final class Scene: Sendable {
        let service: PushTestServer
        let browser = WebPushTestBrowser()
        let requests = Journal<HTTP2ServerRequest>()
        let server: CallServer
        var token: PushToken { browser.token(port: service.port, key: WebPushTests.key) }

        init(
            _ configure: (inout ServerConfiguration) -> Void = { _ in },
            react: @escaping @Sendable (_ number: Int) -> PushTestServer.Reaction = { _ in .respond(201) }
        ) async throws {
            let port = Mutex<UInt16>(0)
            let requests = requests
            let count = Mutex(0)
            service = try await PushTestServer { request in
                requests.add(request)
                if let fault = WebPushTestService.fault(
                    in: request, port: port.withLock { $0 }, key: WebPushTests.key)
                {
                    return .respond(400, fault)
                }
                return react(
                    count.withLock { count in
                        defer { count += 1 }
                        return count
                    })
            }
            port.withLock { [service] in $0 = service.port }
            atEnd { [service] in await service.stop() }
            let endpoint = try await WebPushEndpoint.test(ports: [service.port], key: WebPushTests.key)
            server = try await world.startServer {
                $0.push.webPush = endpoint
                configure(&$0)
            }
        }

        /// What the browser reads in the push with this number, and its header.
        func push(_ number: Int = 0) async throws -> (content: [String: Any], request: HTTP2ServerRequest) {
            let request = try await eventually("push \(number)") {
                requests.entries.count > number ? requests.entries[number] : nil
            }
            return (try browser.object(request.body), request)
        }
    }

    private static func post(_ url: String, bearer: String, _ body: String) async throws -> HTTPAnswer {
        try await HTTPAnswer.curl(
            "--header", "Authorization: Bearer \(bearer)", "--header", "Content-Type: application/json", "--data", body,
            url)
    }

    @Test("a call wakes a browser: its worker reports and declines with the wake token of the push")
    func wakes() async throws {
        let scene = try await Scene()
        _ = try await world.awayPhone("bob", at: scene.server.address, push: [scene.token])
        let alice = try await world.onlinePhone("alice", at: scene.server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let (content, request) = try await scene.push()
        #expect(content["uuid"] as? String == call.description && content["handle"] as? String == "alice")
        #expect(content["has_video"] as? Bool == false)
        let life = try #require(request.first("ttl").flatMap { Int($0) })
        #expect((1...45).contains(life))
        let record = try await world.push("is accepted", of: call) { $0.status == .accepted }
        #expect(record.delivery == .webPush && record.report == .awaited)
        #expect(content["push_id"] as? String == record.id.description)
        let wake = try #require(content["wake_token"] as? String)
        let report = try await Self.post(
            "http://\(scene.server.address)/v1/pushes/\(record.id)/report", bearer: wake,
            #"{"call_id":"\#(call)","result":"reported"}"#)
        #expect(report.status == 200)
        try await world.push("is reported", of: call) { $0.report == .reported }
        _ = try await alice.state(.ringing, of: call)
        let decline = try await Self.post(
            "http://\(scene.server.address)/v1/calls/\(call)/decline", bearer: wake, "{}")
        #expect(decline.status == 200)
        #expect(try await alice.ended(call).reason == .declined)
    }

    @Test("a subscription that is gone is removed", arguments: [404, 410])
    func gone(status: Int) async throws {
        let scene = try await Scene { _ in
        } react: { _ in
            .respond(status, "no such subscription")
        }
        _ = try await world.awayPhone("bob", at: scene.server.address, push: [scene.token])
        let alice = try await world.onlinePhone("alice", at: scene.server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        let record = try await world.push("is rejected", of: call) { $0.status == .rejected }
        #expect(record.reason == "HTTP \(status): no such subscription")
        _ = try await eventually("the token is gone") {
            try world.reader().devices(user: "bob").flatMap(\.tokens).isEmpty ? true : nil
        }
    }

    @Test("a missed call takes the place of the call in the push service, and is not reported")
    func missed() async throws {
        let scene = try await Scene { $0.policy.missedCalls = .alert }
        _ = try await world.awayPhone("bob", at: scene.server.address, push: [scene.token])
        let alice = try await world.onlinePhone("alice", at: scene.server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let first = try await scene.push(0)
        try await alice.hangUp(call)
        let second = try await scene.push(1)
        #expect(first.request.first("topic") == second.request.first("topic"))
        #expect(second.content["type"] as? String == "missed_call")
        #expect(second.content["uuid"] as? String == call.description)
        #expect(second.content["missed"] as? Int == 1)
        let notice = try await world.push("of the missed call", of: call) {
            $0.purpose == .missedCall && $0.status == .accepted
        }
        #expect(notice.delivery == .webPush)
    }

    @Test("a push that is told to wait is sent again, with less time to live")
    func waits() async throws {
        let scene = try await Scene { _ in
        } react: { number in
            number == 0 ? .respond(429, "", [HTTPField("retry-after", "1")]) : .respond(201)
        }
        _ = try await world.awayPhone("bob", at: scene.server.address, push: [scene.token])
        let alice = try await world.onlinePhone("alice", at: scene.server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let lives = [try await scene.push(0), try await scene.push(1)].map {
            $0.request.first("ttl").flatMap { Int($0) }
        }
        #expect(try #require(lives[1]) < (try #require(lives[0])))
        try await world.push("is accepted", of: call) { $0.status == .accepted }
        try await alice.hangUp(call)
    }

    @Test("a push that is too large for the service is refused, and the subscription stays")
    func tooLarge() async throws {
        let scene = try await Scene { _ in
        } react: { _ in
            .respond(413)
        }
        _ = try await world.awayPhone("bob", at: scene.server.address, push: [scene.token])
        let alice = try await world.onlinePhone("alice", at: scene.server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        #expect(try await world.push("is rejected", of: call) { $0.status == .rejected }.reason == "HTTP 413")
        #expect(try world.reader().devices(user: "bob").flatMap(\.tokens).count == 1)
    }

    @Test("session.open tells the key, and refuses a subscription at a host that is not listed, with the setting")
    func hosts() async throws {
        let scene = try await Scene()
        let phone = try await world.phone(
            "bob", at: scene.server.address, push: [scene.browser.token(host: "evil.example", port: 443, key: Self.key)]
        )
        do {
            try await phone.softphone.connect()
            Issue.record("the host is not listed")
        } catch {
            #expect("\(error)".contains("push.webpush.hosts"), "\(error)")
            #expect("\(error)".contains("push[0].token"), "\(error)")
        }
        let key = try await world.phone("carol", at: scene.server.address).softphone.connect().webPushKey
        #expect(key == Self.key.applicationServerKey)
    }

    @Test("without a key in the configuration the data folder has one, which the owner alone can read, and which stays")
    func keyFile() async throws {
        let file = world.folder + "/" + DataFolder.webPushKeyFile
        var keys: [String] = []
        for _ in 0..<2 {
            let server = try await world.startServer {
                $0.push.webPush = WebPushEndpoint(key: nil, subject: "mailto:test@example.org")
            }
            keys.append(try #require(try await world.phone("bob", at: server.address).softphone.connect().webPushKey))
            await server.stop()
        }
        #expect(keys[0] == keys[1])
        let kept = try #require(try DataFolder(path: world.folder).keptWebPushKey())
        #expect(kept.applicationServerKey == keys[0])
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test(
        "with another key after a reload new sessions get it, and a browser that subscribed before has no way, as the ledger says"
    )
    func otherKey() async throws {
        let scene = try await Scene()
        _ = try await world.awayPhone("bob", at: scene.server.address, push: [scene.token])
        var endpoint = try await WebPushEndpoint.test(ports: [scene.service.port])
        let key = try #require(endpoint.key)
        try await scene.server.reload(ServerReload(push: PushService.Configuration(webPush: endpoint)))
        let alice = try await world.phone("alice", at: scene.server.address)
        #expect(try await alice.softphone.connect().webPushKey == key.applicationServerKey)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        let push = try await world.push("has no way", of: call) { $0.status == .cancelled }
        #expect(push.reason?.contains("made with another key") == true)
        // A reload without a key in the configuration takes that of the data folder.
        endpoint.key = nil
        try await scene.server.reload(ServerReload(push: PushService.Configuration(webPush: endpoint)))
        let kept = try #require(try DataFolder(path: world.folder).keptWebPushKey())
        let carol = try await world.phone("carol", at: scene.server.address).softphone.connect()
        #expect(carol.webPushKey == kept.applicationServerKey)
        #expect(scene.requests.entries.isEmpty)
    }

    @Test("push-test sends to a subscription as a page has it")
    func pushTest() async throws {
        let scene = try await Scene()
        let certificates = try await PushTestCertificates.shared.value
        let (authority, pem) = (world.folder + "/ca.pem", world.folder + "/webpush.pem")
        try Data(certificates.authorityPEM.utf8).write(to: URL(fileURLWithPath: authority))
        try Data(Self.key.pem.utf8).write(to: URL(fileURLWithPath: pem))
        let result = try await Program.run(
            Program.reveille,
            [
                "push-test", "--data", world.folder, "--token", scene.browser.json(port: scene.service.port),
                "--webpush-subject", "mailto:test@example.org", "--webpush-key", pem,
            ],
            environment: [
                "SSL_CERT_FILE": authority, "REVEILLE_PUSH_WEBPUSH_HOSTS": "127.0.0.1:\(scene.service.port)",
            ])
        #expect(result.ending == .exit(0), "\(result)")
        #expect(try await scene.push().content["name"] as? String == "Reveille")
        #expect(!result.output.contains("PRIVATE") && !result.output.contains("/push/abc"))
    }
}
