import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import PhoneSimulator
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("The commands about pushes and devices", .world)
struct PushCommandTests {
    // MARK: Devices and the ledger

    @Test("a suspended device is listed, shown and resumed; then it is woken again")
    func devices() async throws {
        let (simulator, server) = try await world.startPushing { $0.timers.report = .milliseconds(100) }
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.lose, count: 3))
        for _ in 1...3 {
            let call = try await alice.softphone.call(.user("bob"))
            try await world.push("is unreported", of: call) { $0.report == .unreported }
            #expect(try await alice.hangUp(call) == .cancelled)
        }
        let device = try await eventually("the device is suspended") {
            try world.reader().devices(user: "bob").first { $0.suspendedAt != nil }
        }
        let id = device.key.device.description
        let listed = try await world.json("devices list --suspended").objects("devices")
        #expect(listed.map { $0["device_id"] as? String } == [id])
        #expect(listed.first?["is_suspended"] as? Bool == true)
        #expect(listed.first?["unreported_streak"] as? Int == 3)
        #expect(try await world.json("devices list").objects("devices").count == 2)
        #expect(try await world.json("devices list --user alice").objects("devices").count == 1)
        #expect(try await world.json("devices list --user carol").objects("devices").isEmpty)
        let table = try await world.reveille("devices list --suspended")
        #expect(table.output.hasPrefix("USER  DEVICE"))
        #expect(table.output.contains("apns/voip") && table.output.contains("suspended"))
        let shown = try await world.output("devices show bob \(id)")
        #expect(shown.contains("unreported in a row"))
        #expect(shown.contains(bob.token.prefix(8)) && !shown.contains(bob.token))

        let resumed = try await world.output("devices resume bob \(id)")
        #expect(resumed == "device \(id) of bob resumed")
        #expect(try await world.json("devices list --suspended").objects("devices").isEmpty)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.woken().call == call)
    }

    @Test("pushes, including notices, are listed by purpose, user and call, and shown completely but for the token")
    func pushes() async throws {
        let (_, server) = try await world.startPushing()
        let set = try await world.reveille("users set bob --missed-calls alert")
        #expect(set.ending == .exit(0) && set.output == "user bob set")
        let user = try await world.json("users show bob")["user"] as? [String: Any]
        #expect(user?["missed_calls"] as? String == "alert")
        let bob = try await world.sleepingPhone("bob", at: server.address) {
            $0.takesAlerts = true
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        try await bob.rings(call)
        await bob.softphone.disconnect()
        try await alice.hangUp(call)
        let notice = try await eventually("the missed call's push") {
            try world.reader().pushes(PushFilter(purpose: .missedCall)).first { $0.status == .accepted }
        }
        #expect(try await world.json("pushes list").objects("pushes").count == 2)
        #expect(try await world.json("pushes list --user alice").objects("pushes").isEmpty)
        #expect(try await world.json("pushes list --call \(call) --limit 1").objects("pushes").count == 1)
        let unneeded = try await world.json("pushes list --report not_required").objects("pushes")
        #expect(unneeded.map { $0["purpose"] as? String } == ["missed_call"])
        let notices = try await world.json("pushes list --purpose missed_call --user bob").objects("pushes")
        #expect(notices.map { $0["push_id"] as? String } == [notice.id.description])
        #expect(notices.first?["delivery"] as? String == "apns_alert")
        #expect(notices.first?["report"] as? String == "not_required")
        let table = try await world.reveille("pushes list")
        #expect(table.output.contains("missed_call") && table.output.contains("apns_voip"))

        let shown = try await world.output("pushes show \(notice.id)")
        #expect(shown.contains("apns_alert") && shown.contains("accepted"))
        #expect(shown.contains(notice.token.token.prefix(8)))
        #expect(!shown.contains(notice.token.token))
        let object = try await world.json("pushes show \(notice.id)")["push"] as? [String: Any]
        #expect(object?["call_id"] as? String == call.description)
        #expect(try await world.reveille("pushes audit").ending == .exit(0))
        let metrics = try await HTTPAnswer.curl(server, "/metrics").body
        #expect(metrics.contains("\nreveille_notices_intended_total 1\n"))
        #expect(metrics.contains("\nreveille_notices_dropped_total 0\n"))
        #expect(metrics.contains("\nreveille_core_held{what=\"notices\"} 0\n"))
        #expect(metrics.contains("\nreveille_core_held{what=\"pushes\"} 1\n"))
    }

    @Test("a device that the server does not know is exit code 1, with advice")
    func unknownDevice() async throws {
        let nobody = UUID().uuidString.lowercased()
        let server = try await world.startServer()
        try await world.phone("bob", at: server.address).softphone.connect()
        let result = try await world.reveille("devices resume bob \(nobody)")
        #expect(result.ending == .exit(1))
        #expect(result.errors == "reveille: bob has no device \(nobody); see reveille devices list --user bob")
    }

    // MARK: The simulator

    @Test("a running push-sim accepts faults, shows its state, and ends connections")
    func simulator() async throws {
        let simulator = try world.start("push-sim --port 0 --sandbox-port 0 --fcm-port 0")
        try await simulator.errors.first("the simulator is ready") { $0.contains("ready") ? true : nil }
        let server = try await world.startServer()
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)

        let phones = try await world.json("push-sim phones").objects("phones")
        #expect(phones.map { $0["token"] as? String } == [bob.token])
        let table = try await world.reveille("push-sim phones")
        #expect(table.output.contains(bob.token.prefix(8)) && !table.output.contains(bob.token))

        let given = try await world.reveille("push-sim fault refuse --reason TooManyRequests --count 1")
        #expect(given.ending == .exit(0) && given.output == "fault refuse waits")
        #expect(try await world.reveille("push-sim fault reset --code 7 --rate 0.5").ending == .exit(0))
        let faults = try await world.json("push-sim faults").objects("faults")
        #expect(faults.map { $0["fault"] as? String } == ["refuse", "reset"])
        #expect(faults.last?["rate"] as? Double == 0.5)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        #expect(try world.reader().pushes(PushFilter(call: call)).map(\.reason) == ["TooManyRequests"])
        #expect(try await world.json("push-sim faults").objects("faults").count == 1)
        #expect(try await world.reveille("push-sim clear").output == "no fault waits")
        #expect(try await world.json("push-sim faults").objects("faults").isEmpty)

        #expect(try await world.reveille("push-sim goaway --reason Shutdown --doubled").output == "GOAWAY sent")
        let next = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.woken().call == next)
        let state = try await world.json("push-sim state")["state"] as? [String: Any]
        let counts = state?["counts"] as? [String: Any]
        #expect(counts?["go_aways"] as? Int == 1 && counts?["accepted"] as? Int == 1)
        #expect((counts?["rejected"] as? [String: Int]) == ["TooManyRequests": 1])
        let words = try await world.reveille("push-sim state")
        #expect(words.output.contains("rejected: TooManyRequests"))
        #expect(try await simulator.end(by: SIGTERM) == .exit(0))
        try await world.reveille("push-sim state").expectFailure(2, "start reveille push-sim")
    }

    // MARK: FCM

    @Test("Android phones subscribe to a topic, show its notices, and get no more after unsubscribing")
    func topics() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .android }
        let carol = try await world.sleepingPhone("carol", at: server.address) { $0.system = .android }
        let done = try await world.output("fcm subscribe --push-sim rest \(bob.token) \(carol.token)")
        let lines = done.split(separator: "\n").dropFirst()
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasSuffix("done") }, "\(done)")
        #expect(await simulator.snapshot()?.phones.map(\.subscriptions) == [["rest"], ["rest"]])
        let sent = try await world.output("fcm notify --push-sim rest Soon --title Tonight")
        #expect(sent == "sent to the subscribers of rest")
        for phone in [bob, carol] {
            let notice = try await phone.events.first("the notice") { event -> WakeablePhone.Notice? in
                if case .notified(let notice) = event { notice } else { nil }
            }
            #expect(notice.title == "Tonight" && notice.body == "Soon" && notice.type == nil)
        }
        let left = try await world.json("fcm unsubscribe --push-sim rest \(bob.token)").objects("results")
        #expect(left.map { $0["result"] as? String } == ["done"])
        #expect(try await world.reveille("fcm notify --push-sim rest Again").ending == .exit(0))
        _ = try await eventually("carol's second notice") {
            await simulator.snapshot()?.phone(carol.token)?.alerts.count == 2 ? true : nil
        }
        #expect(await simulator.snapshot()?.phone(bob.token)?.alerts.count == 1)

        // Only the unknown token fails, with a message.
        let mixed = try await world.reveille("fcm subscribe --push-sim rest \(bob.token) unknown --output json")
        #expect(mixed.ending == .exit(1), "\(mixed.errors)")
        let results = try JSONObject(mixed.output).objects("results")
        #expect(results.map { $0["error"] == nil } == [true, false])
        #expect(
            results.last?["error"] as? String
                == "the registration token was deleted, or the app was removed (NOT_FOUND)")
    }

    @Test("an APNs token is mapped to an FCM token, the same each time")
    func mapping() async throws {
        let simulator = try await world.startSimulator()
        let token = try #require(await simulator.registerPhone(topic: "org.reveille.phone", environment: .production))
        var mapped: [String?] = []
        for _ in 1...2 {
            let line = "fcm map --push-sim --app org.reveille.phone \(token)"
            mapped += try await world.json(line).objects("results").map { $0["result"] as? String }
        }
        #expect(mapped.count == 2 && mapped[0] == mapped[1])
        #expect(mapped[0]?.contains(":APA91b") == true)
    }
}
