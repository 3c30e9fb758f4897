import CallCore
import CallServer
import CallStore
import CallVocabulary
import SoftphoneKit
import SoftphoneSession
import Testing

/// Debian's python3-websockets as the client, which tests the server against the protocol's text and not only against
/// this project's client.
@Suite("A foreign client", .world)
struct ForeignClientTests {
    @Test("makes a complete call, and each message follows the protocol")
    func wholeCall() async throws {
        let server = try await world.startServer()
        try await Program.script(
            "whole_call.py", "ws://\(server.address)", try await world.token("alice", name: "Alice"),
            try await world.token("bob"))
        let calls = try world.reader().calls()
        #expect(calls.map(\.endReason) == [.hangup])
        #expect(try world.reader().pushes().isEmpty)
    }

    @Test("opens a session with a token of reveille token")
    func tokenCommand() async throws {
        let server = try await world.startServer()
        let token = try await world.output("token alice --ttl 60")
        try await Program.script("bad_input.py", "ws://\(server.address)", "not_opened_yet", token)
    }

    @Test("with invalid input gets an error, or is closed with the reason")
    func badInput() async throws {
        let scenarios = [
            "not_json", "not_a_request", "batch", "unknown_method", "too_large", "binary", "not_utf8", "not_opened_yet",
            "opened_twice", "replaced",
        ]
        let server = try await world.startServer()
        let bob = try await world.token("bob")
        var rows: [String] = []
        // A user for each: no scenario sees the calls and devices of another.
        for (index, scenario) in scenarios.enumerated() {
            rows += [scenario, try await world.token("alice\(index)"), bob]
        }
        let result = try await Program.script("bad_input.py", ["ws://\(server.address)", "in_turn"] + rows)
        #expect(result.output.split(separator: "\n").map(String.init) == scenarios)
    }

    @Test("with a token that is expired, of another server, of another device, or missing is closed with 3500")
    func badTokens() async throws {
        try await World.run { other in
            let server = try await world.startServer()
            let authority = try await TokenAuthority(folder: DataFolder(path: world.folder))
            try await Program.script(
                "bad_input.py", "ws://\(server.address)", "bad_token",
                try await world.token("alice", lifetime: .seconds(-10)), try await other.token("alice"),
                try await authority.mint(user: "alice", lifetime: .seconds(60), device: .random()))
        }
    }

    @Test("that opens no session in time is closed with 3504")
    func neverOpened() async throws {
        let server = try await world.startServer { $0.connectionLimits.openWithin = .milliseconds(300) }
        try await Program.script("bad_input.py", "ws://\(server.address)", "never_opened")
    }

    @Test("whose session is refused gets no service, and is also closed with 3504")
    func refusedSession() async throws {
        let server = try await world.startServer {
            $0.connectionLimits.openWithin = .seconds(2)
            $0.limits.devicesPerUser = 1
        }
        try await Program.script(
            "bad_input.py", "ws://\(server.address)", "refused_session", try await world.token("alice"))
    }

    @Test("that is too fast is told how long to wait, and closed with 3505 if it continues")
    func tooFast() async throws {
        let server = try await world.startServer {
            $0.connectionLimits.messagesPerSecond = 0.2
            $0.connectionLimits.burst = 20
        }
        try await Program.script(
            "bad_input.py", "ws://\(server.address)", "too_fast", try await world.token("alice"))
    }

    @Test("with invalid input disturbs no other call")
    func garbage() async throws {
        let server = try await world.startServer { $0.shards = 1 }
        let alice = try await world.phone("alice", at: server.address)
        let bob = try await world.phone("bob", at: server.address)
        let call = try await alice.connects(to: bob)
        try await Program.script(
            "bad_input.py", "ws://\(server.address)", "garbage", try await world.token("mallory"))
        try await alice.softphone.update(CallUpdate(call: call, kind: .hold))
        try await bob.events.first("the hold") { $0 == .update(CallUpdate(call: call, kind: .hold)) ? true : nil }
        #expect(try await bob.hangUp(call, seenBy: alice) == .hangup)
        let losses = (alice.events.entries + bob.events.entries).filter(\.isDown)
        #expect(losses == [])
    }
}
