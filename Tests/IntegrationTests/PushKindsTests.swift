import CallCore
import CallServer
import CallStore
import CallVocabulary
import Demo
import Foundation
import PhoneSimulator
import PushClient
import PushCore
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("Every kind of push, from the call to the phone", .world)
struct PushKindsTests {
    enum Credential: CaseIterable { case key, certificate }

    @Test(
        "a VoIP push wakes the phone, in both environments and with both kinds of credential",
        arguments: PushEnvironment.allCases, Credential.allCases)
    func voip(environment: PushEnvironment, credential: Credential) async throws {
        let (simulator, seen) = try await watched()
        let certificate = try certificate()
        let server = try await world.startServer {
            guard credential == .certificate else { return }
            for index in $0.push.apns.indices { $0.push.apns[index].credential = .certificate(certificate) }
        }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.environment = environment }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.woken().call == call)
        _ = try await alice.state(.ringing, of: call)
        let record = try await settled(call, .call)
        #expect(record.status == .accepted && record.delivery == .apnsVoIP)
        #expect(record.token.environment == environment)
        let push = try #require(seen.entries.first).push
        #expect(seen.count == 1)
        #expect(push.id == record.id.description)
        #expect(push.type == .voip && push.priority == 10 && push.topic == "org.reveille.phone.voip")
        #expect(push.deviceToken == bob.token && push.expiration == record.expiresAt.wholeSeconds)
        #expect(push.collapseID == nil)
        try await alice.hangUp(call)
        #expect(await simulator.snapshot()?.counts.rejectedTotal == 0)
    }

    @Test("a certificate is not used for a topic that it does not name: the device is unreachable")
    func foreignTopic() async throws {
        let (simulator, _) = try await watched()
        let certificate = try certificate()
        let server = try await world.startServer {
            for index in $0.push.apns.indices { $0.push.apns[index].credential = .certificate(certificate) }
        }
        let other = PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: "org.other.phone.voip",
            token: String(repeating: "0a", count: 32))
        let alice = try await caller(server, sleepers: ["bob": [other]])
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        let push = try #require(try world.reader().pushes().first)
        #expect(push.status == .cancelled)
        #expect(push.reason?.contains("org.other.phone.voip") == true, "\(push.reason ?? "")")
        #expect(try world.reader().devices(user: "bob").flatMap(\.tokens).count == 1)
        #expect(await simulator.snapshot()?.counts.received == 0)
    }

    @Test("a suspended phone shows an alert for the call, and the missed call's alert replaces it")
    func suspended() async throws {
        let (simulator, seen) = try await watched()
        let server = try await world.startServer {
            $0.timers.report = .milliseconds(100)
            $0.timers.ring = .seconds(1)
            $0.policy.missedCalls = .alert
        }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.takesAlerts = true }
        let alerts = try #require(await bob.phone.alertToken())
        let alice = try await world.onlinePhone("alice", at: server.address)
        // Three that suspend it, and the first probe.
        await simulator.inject(PushFault(.lose, deviceToken: bob.token, count: 4))
        for _ in 1...4 {
            let call = try await alice.softphone.call(.user("bob"))
            #expect(try await alice.ended(call).reason == .ringTimeout)
            #expect(try await settled(call, .missedCall).status == .accepted)
        }
        _ = try await eventually("the device is suspended") {
            try world.reader().devices(user: "bob").first?.suspendedAt
        }
        let mark = seen.count
        let call = try await alice.softphone.call(.user("bob"))
        let shown = try await bob.events.first("the call's alert") { event -> WakeablePhone.Notice? in
            if case .notified(let notice) = event, notice.type == nil { notice } else { nil }
        }
        #expect(shown.title == "alice" && shown.body == "Incoming call")
        let record = try await settled(call, .call)
        #expect(record.token.token == alerts && record.delivery == .apnsAlert)
        #expect(record.report == .notRequired)
        #expect(try world.reader().devices(user: "bob").first?.unreportedStreak == 4)
        #expect(try await alice.ended(call).reason == .ringTimeout)
        let notice = try await settled(call, .missedCall)
        #expect(notice.status == .accepted && notice.token.token == alerts)

        let pushes = seen.entries.dropFirst(mark).map(\.push)
        #expect(pushes.map(\.id) == [record.id.description, notice.id.description])
        #expect(pushes.allSatisfy { $0.type == .alert && $0.priority == 10 && $0.topic == "org.reveille.phone" })
        #expect(pushes.allSatisfy { $0.collapseID == call.description })
        let screen = try #require(await simulator.snapshot()?.phone(alerts)).alerts
        #expect(screen.filter { $0.collapseID == call.description }.map(\.body) == ["Missed call"])
        #expect(screen.count == 5)
    }

    @Test("background pushes: two an hour, the newest waits, and a session makes it obsolete")
    func background() async throws {
        let (simulator, seen) = try await watched()
        let server = try await world.startServer { $0.policy.missedCalls = .background }
        let voip = try await token(.voip, topic: "org.reveille.phone.voip", simulator)
        let alert = try await token(.alert, topic: "org.reveille.phone", simulator)
        let alice = try await caller(server, sleepers: ["bob": [voip, alert]])
        let reader = try world.reader()
        var calls: [CallID] = []
        for number in 1...4 {
            let call = try await alice.softphone.call(.user("bob"))
            try await alice.hangUp(call)
            calls.append(call)
            if number <= 2 { #expect(try await settled(call, .sync).status == .accepted) }
        }
        #expect(try await settled(calls[2], .sync).status == .cancelled)
        let held = try #require(try reader.pushes(PushFilter(purpose: .sync, call: calls[3])).first)
        #expect(held.status == .intended && held.sentAt == nil && held.report == nil)
        let syncs = seen.entries.map(\.push).filter { $0.type == .background }
        #expect(syncs.count == 2)
        #expect(syncs.allSatisfy { $0.priority == 5 && $0.topic == "org.reveille.phone" })
        let payload = try JSONObject(String(decoding: try #require(syncs.last).payload, as: UTF8.self))
        #expect(payload["type"] as? String == "sync" && payload["missed"] as? Int == 2)
        #expect((payload["aps"] as? [String: Any])?.keys.sorted() == ["content-available"])

        let bob = try await world.phone("bob", at: server.address) {
            $0.session.device.id = held.device.device
        }
        #expect(try await bob.softphone.connect().missed.count == 4)
        let dropped = try await settled(calls[3], .sync)
        #expect(dropped.status == .cancelled)
        #expect(dropped.reason == "the device has opened a session")
        #expect(seen.entries.count { $0.push.type == .background } == 2)
    }

    // MARK: FCM

    @Test("a data message wakes an Android phone, which reports it, answers, and connects")
    func data() async throws {
        let (simulator, seen) = try await watched()
        let server = try await world.startServer()
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .android }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.woken().call == call)
        try await alice.isAnswered(by: bob, call)
        let record = try await settled(call, .call)
        #expect(record.status == .accepted && record.delivery == .fcmData)
        #expect(record.report == .reported && record.token.token == bob.token)
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.received == 1 && counts.delivered == 1 && counts.reported == 1)
        #expect(counts.accessTokens == 1)
        #expect(seen.count == 0)
        #expect(try await alice.hangUp(call) == .hangup)
        try await bob.asleep()
    }

    @Test("QUOTA_EXCEEDED is retried once after FCM's delay, unless the call would be over")
    func quota() async throws {
        let (simulator, _) = try await watched()
        let server = try await world.startServer()
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .android }
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.refuseMessage(.quotaExceeded, retryAfter: 2), count: 1))
        let call = try await alice.softphone.call(.user("bob"))
        try await bob.rings(call)
        let record = try await settled(call, .call)
        let sentAt = try #require(record.sentAt)
        #expect(record.status == .accepted && sentAt - record.intendedAt >= .seconds(2))
        #expect(await simulator.snapshot()?.counts.received == 2)
        try await alice.hangUp(call)
        try await bob.asleep()

        await simulator.inject(PushFault(.refuseMessage(.quotaExceeded, retryAfter: 60), count: 1))
        let next = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(next).reason == .noDevices)
        #expect(try await settled(next, .call).reason == "QUOTA_EXCEEDED")
        #expect(await simulator.snapshot()?.counts.received == 3)
    }

    @Test("a call waits while Google issues no access token, and rings once it does")
    func accessTokenFails() async throws {
        let (simulator, _) = try await watched()
        let server = try await world.startServer {
            $0.push.fcm[0].policy.accessToken.fetchBackoff = Backoff.Limits(
                base: .milliseconds(100), cap: .milliseconds(200))
        }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .android }
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.refuseMessage(.unavailable), service: .oauth, count: 2))
        let call = try await alice.softphone.call(.user("bob"))
        try await bob.rings(call)
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.accessTokens == 1 && counts.accepted == 1)
        #expect(counts.rejected == ["UNAVAILABLE": 2])
        #expect(try await settled(call, .call).status == .accepted)
        try await alice.hangUp(call)
    }

    @Test("a revoked access token is replaced, and the refused push is sent again with the new one")
    func accessTokenRevoked() async throws {
        let (simulator, _) = try await watched()
        let server = try await world.startServer {
            $0.push.fcm[0].policy.accessToken.shortestInterval = .zero
        }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .android }
        let alice = try await world.onlinePhone("alice", at: server.address)
        for round in 1...2 {
            let call = try await alice.softphone.call(.user("bob"))
            try await bob.rings(call)
            #expect(try await settled(call, .call).status == .accepted)
            #expect(await simulator.snapshot()?.counts.accessTokens == round)
            try await alice.hangUp(call)
            try await bob.asleep()
            await simulator.revokeAccessTokens()
        }
        #expect(await simulator.snapshot()?.counts.rejectedTotal == 1)
    }

    @Test("a phone with only an FCM token for alerts shows the call, and then the missed call")
    func alert() async throws {
        let (simulator, _) = try await watched()
        let server = try await world.startServer { $0.policy.missedCalls = .alert }
        let token = try await token(.alert, topic: "reveille-phone", simulator, provider: .fcm)
        let alice = try await caller(server, sleepers: ["bob": [token]])
        _ = try await world.handset(token)
        let call = try await alice.softphone.call(.user("bob"))
        let record = try await settled(call, .call)
        #expect(record.status == .accepted && record.delivery == .fcmAlert && record.report == .notRequired)
        try await shows([["alice", "Incoming call"]], token, simulator)
        try await alice.hangUp(call)
        #expect(try await settled(call, .missedCall).delivery == .fcmAlert)
        try await shows([["alice", "Missed call"]], token, simulator)
    }

    @Test("with FCM for iPhones the call goes through APNs, and the missed call's alert through FCM replaces it")
    func mapped() async throws {
        let (simulator, seen) = try await watched()
        let server = try await world.startServer {
            $0.push.mapsIOSAlerts = true
            $0.policy.missedCalls = .alert
        }
        let token = try await token(.alert, topic: "org.reveille.phone", simulator)
        let alice = try await caller(server, sleepers: ["bob": [token]])
        _ = try await world.handset(token)
        let call = try await alice.softphone.call(.user("bob"))
        let record = try await settled(call, .call)
        #expect(record.status == .accepted && record.token == token)
        try await shows([["alice", "Incoming call"]], token, simulator)
        try await alice.hangUp(call)
        #expect(try await settled(call, .missedCall).status == .accepted)
        try await shows([["alice", "Missed call"]], token, simulator)
        // The server sent only the call to APNs itself.
        #expect(seen.entries.map(\.push.id) == [record.id.description])
    }

    // MARK: The scene

    private func watched() async throws -> (PushSimulator, Journal<SeenPush>) {
        let seen = Journal<SeenPush>()
        return (try await world.startSimulator { $0.onPush = { seen.add($0) } }, seen)
    }

    private func certificate() throws -> APNSCertificate {
        let manifest = try PushSimulatorManifest.load(folder: world.simulatorFolder)
        func text(_ file: String?) throws -> String {
            try String(contentsOfFile: world.simulatorFolder + "/" + (try #require(file)), encoding: .utf8)
        }
        return try APNSCertificate(
            certificatePEM: try text(manifest.certificateFile), keyPEM: try text(manifest.certificateKeyFile))
    }

    private func token(
        _ kind: PushKind, topic: String, _ simulator: PushSimulator, provider: PushProvider = .apns
    ) async throws -> PushToken {
        let token = try #require(
            await simulator.registerPhone(topic: topic, environment: .production, provider: provider))
        return PushToken(provider: provider, kind: kind, environment: .production, topic: topic, token: token)
    }

    /// alice, online, and users whose offline devices have registered these tokens.
    private func caller(
        _ server: CallServer, sleepers: [String: [PushToken]]
    ) async throws -> Phone {
        for (user, tokens) in sleepers {
            _ = try await world.awayPhone(user, at: server.address, push: tokens)
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        return alice
    }

    /// Waits until the phone shows these alerts: titles and texts.
    private func shows(_ alerts: [[String]], _ token: PushToken, _ simulator: PushSimulator) async throws {
        _ = try await eventually("\(alerts) on the screen") {
            let phone = await simulator.snapshot()?.phone(token.token)
            return phone?.alerts.map { [$0.title ?? "", $0.body ?? ""] } == alerts ? true : nil
        }
    }

    private func settled(_ call: CallID, _ purpose: PushPurpose) async throws -> PushRecord {
        try await eventually("the \(purpose) push is settled") {
            let filter = PushFilter(purpose: purpose, call: call)
            guard let push = try world.reader().pushes(filter).first else { return nil }
            switch push.status {
            case .intended, .sent: return nil
            case .accepted, .rejected, .unknown, .cancelled, .expired: return push
            }
        }
    }
}
