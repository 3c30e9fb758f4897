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
        for system in Self.phones {
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
        #expect(await simulator.snapshot()?.counts.reported == Self.phones.count)
    }

    /// A browser has no plugins: its page is this project's.
    private static let phones: [WakeablePhone.System] = [.iPhone, .android]

    /// The members of the least payload with which an app rings, by key.
    private static func least(_ app: PhoneApp, _ system: WakeablePhone.System) -> [String: String] {
        switch (app, system) {
        case (.reveille, _), (.callkeepReactNative, _): ["uuid": "${call_id}", "handle": "${handle}"]
        case (.callkitIncoming, .iPhone): ["id": "${call_id}"]
        case (.callkitIncoming, .android), (.callkitIncoming, .web):
            ["id": "${call_id}", "nameCaller": "${display_name}"]
        case (.callkeepFlutter, .iPhone): ["uuid": "${call_id}", "caller_id": "${handle}"]
        case (.callkeepFlutter, .android), (.callkeepFlutter, .web):
            ["uuid": "${call_id}", "caller_name": "${display_name}"]
        case (.connectycube, _):
            [
                "signal_type": "startCall", "session_id": "${call_id}", "call_type": "${has_video:number}",
                "caller_id": "${caller_number}", "caller_name": "${display_name}", "call_opponents": "1",
            ]
        // On iOS these are members of `aps`.
        case (.linphone, _): ["call-id": "${call_id}"]
        }
    }

    private static func template(
        _ app: PhoneApp, _ system: WakeablePhone.System, without key: String? = nil
    ) throws -> PayloadProfile {
        let members = least(app, system).filter { $0.key != key }.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",")
        let json =
            switch (app, system) {
            case (.linphone, .iPhone): "{\"voip\":{\"aps\":{\(members)}}}"
            case (_, .iPhone): "{\"voip\":{\(members)}}"
            case (_, .android), (_, .web): "{\"data\":{\(members)}}"
            }
        return try PayloadProfile(name: key?.lowercased() ?? "least", json: Array(json.utf8))
    }

    @Test(
        "an app rings with the keys that its plugin needs; without any one it is killed, and the push is unreported",
        arguments: PhoneApp.allCases, phones)
    func needs(app: PhoneApp, system: WakeablePhone.System) async throws {
        let keys = Self.least(app, system).keys.sorted()
        let profiles = try [Self.template(app, system)] + keys.map { try Self.template(app, system, without: $0) }
        _ = try await world.startSimulator { $0.reportWindow = .milliseconds(300) }
        let server = try await world.startServer {
            $0.timers.report = .milliseconds(200)
            for profile in profiles { _ = $0.push.profiles.add(profile) }
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        for profile in profiles {
            let bob = try await world.sleepingPhone("bob-\(profile.name)", at: server.address) {
                $0.system = system
                $0.app = app
                $0.profile = profile.name
            }
            let call = try await alice.softphone.call(.user(Handle(stringLiteral: "bob-\(profile.name)")))
            guard let key = keys.first(where: { $0.lowercased() == profile.name }) else {
                #expect(try await bob.woken().call == call)
                try await alice.hangUp(call)
                continue
            }
            let reason = try await bob.events.first("the app fails without \(key)") { event -> String? in
                if case .failed(let reason) = event { reason } else { nil }
            }
            #expect(reason.contains(key) || reason.contains("the call's id"), "\(key): \(reason)")
            if system == .iPhone {
                _ = try await bob.events.first("iOS kills the app") { event -> Bool? in
                    if case .killed = event { true } else { nil }
                }
            }
            try await world.push("is unreported", of: call) { $0.report == .unreported }
            #expect(!bob.events.entries.contains { if case .woken = $0 { true } else { false } }, "\(key)")
            try await alice.hangUp(call)
        }
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
        let words = "push[0].profile: expected one of callkeep_flutter, "
        #expect("\(error, default: "none")".contains(words))
        let carol = try await world.onlinePhone("carol", at: server.address)
        let update = await #expect(throws: SoftphoneError.self) {
            try await carol.softphone.updatePushTokens([token])
        }
        #expect("\(update, default: "none")".contains(words))
    }
}
