import CallCore
import CallServer
import CallStore
import CallVocabulary
import PhoneSimulator
import PushClient
import PushCore
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("Apps of other vendors", .world, .timeLimit(.minutes(2)))
struct PayloadProfileTests {
    @Test("each app on each system rings with its own profile, answers and connects", arguments: PhoneApp.allCases)
    func rings(app: PhoneApp) async throws {
        let (simulator, server) = try await world.startPushing()
        let alice = try await world.onlinePhone("alice", at: server.address)
        for system in WakeablePhone.System.allCases {
            let user = "bob-\(system.rawValue)"
            let phone = try await world.sleepingPhone(user, at: server.address) {
                $0.system = system
                $0.app = app
                $0.profile = app.rawValue
            }
            let call = try await alice.softphone.call(.user(Handle(stringLiteral: user)))
            #expect(try await phone.woken().call == call)
            try await alice.isAnswered(by: phone, call)
            try await alice.hangUp(call, seenBy: phone)
            try await world.push("is reported", of: call) { $0.report == .reported }
        }
        #expect(await simulator.snapshot()?.counts.reported == 2)
    }

    /// For each app, a template without one key that its plugin needs.
    static let broken: [(app: PhoneApp, template: String, reason: String)] = [
        (.reveille, #"{"voip": {"aps": {}, "uuid": "${call_id}"}}"#, "handle is missing"),
        (.callkitIncoming, #"{"voip": {"aps": {}, "uuid": "${call_id}", "nameCaller": "${name}"}}"#, "id is missing"),
        (.callkeepReactNative, #"{"voip": {"uuid": "${call_id}", "callerName": "${name}"}}"#, "handle is missing"),
        (
            .callkeepFlutter, #"{"voip": {"aps": {}, "uuid": "${call_id}", "caller_id": "${handle}"}}"#,
            "aps is present"
        ),
        (
            .connectycube,
            #"""
            {"voip": {"signal_type": "startCall", "session_id": "${call_id}", "call_type": "${has_video:number}",
            "caller_id": "${caller_number:string}", "caller_name": "${display_name}", "call_opponents": "1"}}
            """#, "caller_id is missing, or is not a number"
        ),
    ]

    @Test("an app that lacks a required key is killed, and the push is unreported", arguments: broken)
    func killed(row: (app: PhoneApp, template: String, reason: String)) async throws {
        let profile = try PayloadProfile(name: "broken", json: Array(row.template.utf8))
        _ = try await world.startSimulator { $0.reportWindow = .milliseconds(300) }
        let server = try await world.startServer {
            $0.timers.report = .milliseconds(200)
            _ = $0.push.profiles.add(profile)
            _ = $0.push.profiles.choose("broken", forTopic: "org.reveille.phone")
        }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.app = row.app }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let reason = try await bob.events.first("the app fails") { event -> String? in
            if case .failed(let reason) = event { reason } else { nil }
        }
        #expect(reason.contains(row.reason))
        _ = try await bob.events.first("iOS kills the app") { event -> Bool? in
            if case .killed = event { true } else { nil }
        }
        try await world.push("is unreported", of: call) { $0.report == .unreported }
        try await alice.hangUp(call)
    }

    @Test("a token with an unknown profile is refused with the list of profiles")
    func unknown() async throws {
        let (simulator, server) = try await world.startPushing()
        let known = try await world.voipToken(on: simulator)
        let token = PushToken(
            provider: known.provider, kind: known.kind, environment: known.environment, topic: known.topic,
            token: known.token, profile: "nobody")
        let bob = try await world.phone("bob", at: server.address, push: [token])
        let error = await #expect(throws: SoftphoneError.self) {
            _ = try await bob.softphone.connect()
        }
        #expect("\(error, default: "none")".contains("push[0].profile: expected one of callkeep_flutter, "))
    }
}
