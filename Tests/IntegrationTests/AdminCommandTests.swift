import CallServer
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("The commands that administer a running server", .world)
struct AdminCommandTests {
    @Test("groups are created, listed, shown, replaced and deleted")
    func groups() async throws {
        _ = try await world.startServer()
        let made = try await world.output("groups set sales alice +81312345678 --strategy hunt")
        #expect(made == "group sales: 2 members, rung one after the other")
        #expect(try await world.reveille("groups set desk bob").ending == .exit(0))

        let table = try await world.reveille("groups list")
        #expect(table.output == "GROUP  STRATEGY  MEMBERS\ndesk   all             1\nsales  hunt            2")
        let list = try await world.json("groups list").objects("groups")
        #expect(list.map { $0["name"] as? String } == ["desk", "sales"])
        #expect(list.last?["strategy"] as? String == "hunt")
        #expect(list.last?["members"] as? [String] == ["alice", "+81312345678"])

        #expect(
            try await world.output("groups set late bob carol --delay carol=20")
                == "group late: 2 members, rung all at once, 1 with a delay")
        #expect(try await world.output("groups show late").hasSuffix("1  bob\n2  carol    20 s"))
        #expect(try await world.reveille("groups delete late").ending == .exit(0))
        let shown = try await world.reveille("groups show sales")
        #expect(shown.output.hasPrefix("group sales: 2 members, rung one after the other\n"))
        #expect(shown.output.hasSuffix("1  alice\n2  +81312345678"))
        #expect(try await world.reveille("groups set sales carol").ending == .exit(0))
        let replaced = try await world.json("groups show sales")
        #expect((replaced["group"] as? [String: Any])?["members"] as? [String] == ["carol"])
        #expect((replaced["group"] as? [String: Any])?["strategy"] as? String == "all")

        #expect(try await world.reveille("groups delete sales").output == "group sales deleted")
        for command in ["groups show sales", "groups delete sales"] {
            let missing = try await world.reveille(command)
            #expect(missing.ending == .exit(1))
            #expect(missing.errors == "reveille: no group sales; see reveille groups list")
            #expect(missing.output.isEmpty)
        }
    }

    @Test("a user's policy is set field by field, and shown with the user's aliases and groups")
    func users() async throws {
        let server = try await world.startServer()
        _ = try await world.onlinePhone("alice", at: server.address)
        for line in [
            "users set alice --do-not-disturb on", "users set alice --call-waiting off --decline device",
            "users set alice --do-not-disturb off", "aliases set +81312345678 alice", "groups set sales alice",
        ] {
            let result = try await world.reveille(line)
            #expect(result.ending == .exit(0), "\(result.errors)")
            #expect(result.errors.isEmpty && !result.output.isEmpty)
        }
        let user = try await world.json("users show alice")["user"]
        let view = try #require(user as? [String: Any])
        #expect(view["handle"] as? String == "alice")
        #expect(view["call_waiting"] as? Bool == false)
        #expect(view["do_not_disturb"] as? Bool == false)
        #expect(view["decline_policy"] as? String == "device")
        #expect(view["aliases"] as? [String] == ["+81312345678"])
        #expect(view["groups"] as? [String] == ["sales"])
        let table = try await world.reveille("users show alice")
        #expect(table.output.contains("call waiting     off"))
        #expect(table.output.contains("a decline ends   that device only"))
        #expect(table.output.contains("aliases          +81312345678"))
    }

    @Test("block lists and forwarding are set, shown and take effect; the story of a call says where it went")
    func rules() async throws {
        let server = try await world.startServer()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let carol = try await world.onlinePhone("carol", at: server.address)
        _ = try await world.output("groups set desk dave")
        #expect(
            try await world.output("users forward bob --busy group:desk --no-answer carol --after 20s")
                == "user bob forwards calls: busy to group desk, no answer within 20 s to carol")
        let call = try await alice.softphone.call(.user("bob"))
        try await carol.rings(call)
        try await carol.softphone.decline(call)
        #expect(try await alice.ended(call).reason == .declined)
        let story = try await world.output("calls show \(call)")
        #expect(story.contains("The call was forwarded to carol."), "\(story)")
        #expect(story.contains("forwarded (to carol: unknown_callee)"), "\(story)")
        let view = try #require(try await world.json("calls show \(call)")["call"] as? [String: Any])
        #expect(view["forwarded_to"] as? String == "carol" && view["to"] as? String == "bob")

        #expect(try await world.output("users block carol alice mallory") == "user carol blocks alice, mallory")
        await #expect(throws: SoftphoneError.callEnded(.declined)) { try await alice.softphone.call(.user("carol")) }
        #expect(try await world.output("users unblock carol alice") == "user carol no longer blocks alice")
        try await carol.rings(try await alice.softphone.call(.user("carol")))

        let table = try await world.output("users show carol")
        #expect(table.contains("blocked callers  mallory"), "\(table)")
        let user = try #require(try await world.json("users show bob")["user"] as? [String: Any])
        #expect(user["forward_busy"] as? [String: String] == ["group": "desk"])
        #expect(user["forward_no_answer"] as? String == "carol" && user["no_answer_seconds"] as? Int == 20)
        #expect(try await world.output("users forward bob --off") == "user bob forwards no calls")
        for (line, error) in [
            ("users forward bob --busy bob", "bob cannot forward calls to itself."),
            ("users forward bob --busy group:gone", "There is no group gone."),
            ("users unblock bob alice", "bob does not block alice."),
        ] {
            let refused = try await world.reveille(line)
            #expect(refused.errors.contains(error), "\(line): \(refused.errors)")
            #expect(refused.ending != .exit(0))
        }
    }

    @Test("a deleted device is logged out, is listed no more, and no call reaches it")
    func deletedDevice() async throws {
        let server = try await world.startServer()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let bob = try await world.onlinePhone("bob", at: server.address)
        let id = try #require(try await world.json("devices list --user bob").objects("devices").first?["device_id"])
        #expect(
            try await world.output("devices delete bob \(String("\(id)".prefix(8)))") == "device \(id) of bob deleted")
        #expect(try await world.json("devices list --user bob").objects("devices").isEmpty)
        #expect(try await world.json("sessions list --user bob").objects("sessions").isEmpty)
        await #expect(throws: SoftphoneError.self) { try await bob.softphone.call(.user("alice")) }
        await #expect(throws: SoftphoneError.callEnded(.unknownCallee)) {
            try await alice.softphone.call(.user("bob"))
        }
        let missing = try await world.reveille("devices delete bob \(id)")
        #expect(missing.ending == .exit(1) && missing.errors.contains("bob has no device"), "\(missing.errors)")
    }

    @Test("a user whose tokens are revoked is logged out at once; older tokens, in the cache too, open no session")
    func revokedTokens() async throws {
        let server = try await world.startServer()
        _ = try await world.onlinePhone("bob", at: server.address)
        let call = "/v1/calls/0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e"
        func status(_ token: String, _ path: String) async throws -> String {
            let url = "http://\(server.address)\(path)"
            let options = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "15"]
            let header = "Authorization: Bearer \(token)"
            return try await Program.run("/usr/bin/curl", options + ["-H", header, url]).output
        }
        let former = try await world.output("token bob")
        // The second one is answered with the verdict on the first.
        for _ in 0..<2 { #expect(try await status(former, call) == "403") }
        // Without TURN servers a good token gets 404.
        #expect(try await status(former, "/v1/turn") == "404")
        #expect(
            try await world.output("users revoke bob") == "user bob is logged out; tokens issued until now are refused")
        #expect(try await world.json("sessions list --user bob").objects("sessions").isEmpty)
        #expect(try await world.output("users show bob").contains("refused from before"))
        for path in [call, "/v1/turn"] { #expect(try await status(former, path) == "401") }
        let newer = try await world.output("token bob")
        #expect(try await status(newer, call) == "403")
        #expect(try await status(newer, "/v1/turn") == "404")
        let to = try await world.reveille("users revoke bob --before 2199-01-01")
        #expect(to.ending == .exit(1) && to.errors.contains("to come"), "\(to.errors)")
        // A new token is good; the phone gets one for each start.
        _ = try await world.onlinePhone("bob", at: server.address)
    }

    @Test("aliases are created, listed, redirected and deleted")
    func aliases() async throws {
        _ = try await world.startServer()
        #expect(try await world.reveille("aliases set +81312345678 alice").output == "+81312345678 is alice")
        #expect(try await world.reveille("aliases set +81312345678 bob").ending == .exit(0))
        #expect(try await world.reveille("aliases set desk@example.org alice").ending == .exit(0))
        let table = try await world.reveille("aliases list")
        #expect(
            table.output.split(separator: "\n").map { $0.split(separator: " ") }
                == [["ALIAS", "USER"], ["+81312345678", "bob"], ["desk@example.org", "alice"]])
        #expect(try await world.reveille("aliases delete desk@example.org").ending == .exit(0))
        let list = try await world.json("aliases list").objects("aliases")
        #expect(list as? [[String: String]] == [["alias": "+81312345678", "user": "bob"]])
        let missing = try await world.reveille("aliases delete desk@example.org")
        #expect(missing.ending == .exit(1))
        #expect(missing.errors == "reveille: no alias desk@example.org; see reveille aliases list")
    }

    @Test("with a killed server, or as another user, the exit code is 2, with advice")
    func unreachable() async throws {
        let (server, _) = try await world.serve()
        #expect(try await world.reveille("groups set sales alice").ending == .exit(0))
        let others = try await askAsAnother()
        #expect(others.ending == .exit(2))
        #expect(others.errorLines.count == 1)
        #expect(others.errors.contains("run this as the user who runs the server"))
        try await server.end(by: SIGKILL)
        #expect(FileManager.default.fileExists(atPath: world.folder + "/admin.sock"))
        try await world.reveille("groups list").expectFailure(2, "no server is running on")
    }

    /// Runs as a user without access to the socket. The superuser always has access, so it changes its user id.
    private func askAsAnother() async throws -> Program.Result {
        let socket = world.folder + "/admin.sock"
        chmod(socket, 0)
        defer { chmod(socket, 0o600) }
        let line = [Program.reveille, "groups", "list", "--data", world.folder]
        guard geteuid() == 0 else { return try await Program.run(line[0], Array(line.dropFirst())) }
        return try await Program.run("/usr/bin/setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups"] + line)
    }

    @Test("a server replaces the socket of a killed one, and not that of a running one")
    func sockets() async throws {
        let (killed, _) = try await world.serve()
        try await killed.end(by: SIGKILL)
        let (server, _) = try await world.serve()
        #expect(try await world.reveille("groups list").ending == .exit(0))
        let second = try await world.reveille("serve --port 0")
        #expect(second.ending == .exit(2))
        #expect(try await world.reveille("groups list").ending == .exit(0))
        #expect(try await server.end(by: SIGTERM) == .exit(0))
        #expect(!FileManager.default.fileExists(atPath: world.folder + "/admin.sock"))
    }

    @Test("a server does not start with too long a socket path, nor over a file that is no socket")
    func badSockets() async throws {
        let long = world.folder + "/" + String(repeating: "x", count: 100)
        let tooLong = await #expect(throws: DataFolder.Failure.self) {
            _ = try await world.startServer { $0.data = DataFolder(path: long) }
        }
        #expect(tooLong?.description.hasPrefix("the data folder's path is too long") == true)
        try DataFolder(path: world.folder).prepare()
        try Data("precious".utf8).write(to: URL(fileURLWithPath: world.folder + "/admin.sock"))
        let error = await #expect(throws: DataFolder.Failure.self) { _ = try await world.startServer() }
        #expect(error?.description.hasPrefix("\(world.folder)/admin.sock is in the way") == true)
        #expect(FileManager.default.contents(atPath: world.folder + "/admin.sock") == Data("precious".utf8))
        try FileManager.default.removeItem(atPath: world.folder + "/admin.sock")
        // The failed start holds no lock on the folder.
        _ = try await world.startServer()
    }

    @Test("Debian's WebSocket client follows the protocol's text, with valid and invalid requests")
    func foreignClient() async throws {
        _ = try await world.startServer()
        try await Program.script("admin.py", world.folder + "/admin.sock")
    }
}
