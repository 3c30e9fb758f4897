import CallCore
import CallServer
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import TestCleanup
import Testing

/// The resources below `/v1/backend`, with curl as the backend.
@Suite("Backends by HTTP", .world, .timeLimit(.minutes(2)))
struct BackendTests {
    private struct Backend {
        let server: CallServer
        let token: String

        func callAsFunction(
            _ method: String, _ path: String, _ body: String? = nil, _ headers: String...
        ) async throws -> HTTPAnswer {
            var options = ["--request", method, "--header", "Authorization: Bearer \(token)", "--header", "Expect:"]
            if let body { options += ["--header", "Content-Type: application/json", "--data", body] }
            for header in headers { options += ["--header", header] }
            return try await HTTPAnswer.curl(options + ["http://\(server.address)/v1/backend\(path)"])
        }
    }

    private func tokens(_ roles: [(String, BackendToken.Role, BackendScope)]) throws -> (
        [BackendToken], texts: [String]
    ) {
        let made = roles.map { BackendToken.make(name: $0.0, role: $0.1, scope: $0.2) }
        return (try BackendToken.read(made.map(\.line).joined(separator: "\n")), made.map(\.text))
    }

    private func start(
        _ role: BackendToken.Role = .admin, _ scope: BackendScope = BackendScope()
    ) async throws -> Backend {
        let (list, texts) = try tokens([("pbx", role, scope)])
        let server = try await world.startServer { $0.backendTokens = list }
        return Backend(server: server, token: texts[0])
    }

    @Test("a PBX calls from a number that is no user, follows the call by long poll, and hangs up")
    func call() async throws {
        let backend = try await start(.calls)
        let bob = try await world.onlinePhone("bob", at: backend.server.address)
        let body = #"{"from":"+49301234","from_name":"Desk","to":"bob","sdp":"offer"}"#
        let placed = try await backend("POST", "/calls", body, "Idempotency-Key: order-1")
        #expect(placed.status == 200, "\(placed.body)")
        let id = try #require(try placed.object["call_id"] as? String)
        let again = try await backend("POST", "/calls", body, "Idempotency-Key: order-1")
        #expect(try again.object["call_id"] as? String == id)
        let other = #"{"from":"+49301234","to":"bob"}"#
        #expect(try await backend("POST", "/calls", other, "Idempotency-Key: order-1").status == 422)

        let incoming = try await bob.incoming()
        #expect("\(incoming.id)" == id)
        let state = try await backend("GET", "/calls/\(id)").object
        let version = try #require(state["version"] as? String)
        #expect(try await backend("GET", "/calls/\(id)?after=\(version)&wait=0").status == 204)
        async let waiting = backend("GET", "/calls/\(id)?after=\(version)&wait=20")
        try await bob.softphone.answer(incoming.id, sdp: RawJSON(bytes: Array(#""answer""#.utf8)))
        var answered = try await waiting.object
        while answered["state"] as? String != "answered" {
            let version = try #require(answered["version"] as? String)
            answered = try await backend("GET", "/calls/\(id)?after=\(version)&wait=20").object
        }
        #expect(answered["sdp"] as? String == "answer")
        try await bob.softphone.connected(incoming.id)
        #expect(try await backend("POST", "/calls/\(id)/connected").object["state"] as? String == "connected")
        #expect(try await backend("POST", "/calls/\(id)/hangup").object["state"] as? String == "ended")
        _ = try await bob.ended(incoming.id)
        #expect(try await backend("GET", "/calls/\(id)").object["reason"] as? String == "hangup")

        let page = try await backend("GET", "/calls?limit=5")
        let items = try #require(try page.object["items"] as? [[String: Any]])
        #expect(items.map { $0["call_id"] as? String } == [id])
        let next = try #require(try page.object["next"] as? String)
        #expect(page.headers["reveille-next"] == next)
        let rest = try await backend("GET", "/calls?cursor=\(next)").object
        #expect((rest["items"] as? [Any])?.count == 0 && rest["next"] as? String == next)
        let csv = try await backend("GET", "/calls", nil, "Accept: text/csv")
        #expect(csv.headers["content-type"]?.hasPrefix("text/csv") == true)
        #expect(csv.body.hasPrefix("call_id,from,from_name,to,"))
        #expect(csv.body.contains("\n\(id),+49301234,Desk,bob,"))
        #expect(try await backend("GET", "/pushes").object["next"] == nil)
    }

    @Test("the directory is read and changed as administrators do")
    func directory() async throws {
        let backend = try await start()
        let sales = #"{"strategy":"hunt","members":["bob","carol"]}"#
        #expect(try await backend("PUT", "/groups/sales", sales).body == "{}")
        let group = try await backend("GET", "/groups/sales").object
        #expect(group["members"] as? [String] == ["bob", "carol"])
        #expect(try await backend("PUT", "/aliases/+491", #"{"user":"bob"}"#).status == 200)
        #expect(try await backend("PATCH", "/users/bob", #"{"do_not_disturb":true}"#).status == 200)
        #expect(try await backend("POST", "/users/bob/block", #"{"callers":["mallory"]}"#).status == 200)
        #expect(try await backend("PUT", "/users/bob/forward", #"{"no_answer":"carol"}"#).status == 200)
        let bob = try await backend("GET", "/users/bob").object
        #expect(bob["aliases"] as? [String] == ["+491"] && bob["groups"] as? [String] == ["sales"])
        #expect(bob["do_not_disturb"] as? Bool == true)
        #expect(try await backend("PATCH", "/users/a%2Fb", #"{"call_waiting":false}"#).status == 200)
        #expect(try await backend("GET", "/users/a%2Fb").object["handle"] as? String == "a/b")
        #expect(try await backend("DELETE", "/aliases/+491").status == 200)
        #expect(try await backend("DELETE", "/aliases/+491").status == 404)
        #expect(try await backend("DELETE", "/groups/sales").status == 200)
        let fault = try await backend("PUT", "/groups/sales", #"{"members":"bob"}"#)
        #expect(fault.status == 400 && fault.body.contains("params."))
        #expect(try await backend("PUT", "/groups/sales", "[1]").status == 400)
        #expect(try await backend("GET", "/nothing").status == 404)
        let method = try await backend("POST", "/groups/sales")
        #expect(method.status == 405 && method.headers["allow"]?.contains("PUT") == true)

        _ = try await world.onlinePhone("dave", at: backend.server.address)
        let sessions = try await backend("GET", "/users/dave/sessions").object["items"] as? [[String: Any]]
        let device = try #require(sessions?.first?["device_id"] as? String)
        #expect((try await backend("GET", "/users/dave/devices").object["items"] as? [Any])?.count == 1)
        #expect(try await backend("POST", "/users/dave/devices/\(device)/resume").status == 200)
        #expect(try await backend("DELETE", "/users/dave/sessions/\(device)").status == 200)
        #expect(try await backend("DELETE", "/users/dave/sessions/\(DeviceID.random())").status == 404)
    }

    @Test("a refusal names what is missing, and a reload replaces the tokens")
    func refusals() async throws {
        let (list, texts) = try tokens([
            ("reader", .read, BackendScope()), ("crm", .admin, BackendScope(users: ["bob"])),
        ])
        let server = try await world.startServer { $0.backendTokens = list }
        let (reader, crm) = (Backend(server: server, token: texts[0]), Backend(server: server, token: texts[1]))
        let role = try await reader("DELETE", "/groups/sales")
        #expect(role.status == 403)
        #expect(try role.object["message"] as? String == "This takes the role admin; the token reader has read.")
        #expect(role.headers["www-authenticate"] == #"Bearer error="insufficient_scope", scope="admin""#)
        #expect(try await reader("GET", "/groups").status == 200)
        #expect(try await crm("PATCH", "/users/bob", #"{"call_waiting":true}"#).status == 200)
        for (method, path) in [("GET", "/users/carol"), ("GET", "/groups"), ("GET", "/calls")] {
            #expect(try await crm(method, path).status == 403, "\(path)")
        }
        #expect(try await crm("POST", "/calls", #"{"from":"alice","to":"bob"}"#).status == 403)
        let alice = try await world.onlinePhone("alice", at: server.address)
        let carol = try await world.onlinePhone("carol", at: server.address)
        let own = try #require(
            try await crm("POST", "/calls", #"{"from":"bob","to":"alice"}"#).object["call_id"] as? String)
        let other = try await alice.softphone.call(.user("carol"))
        try await carol.rings(other)
        for path in ["/calls/\(own)", "/calls/\(own)/record"] {
            #expect(try await crm("GET", path).status == 200, "\(path)")
        }
        for path in ["/calls/\(other)", "/calls/\(other)/record"] {
            let refusal = try await crm("GET", path)
            #expect(try refusal.status == 403 && refusal.errorCode == "forbidden", "\(path)")
        }
        for path in ["/calls/\(CallID.random())", "/calls/\(CallID.random())/record"] {
            #expect(try await crm("GET", path).status == 404, "\(path)")
        }
        let unknown = try await Backend(server: server, token: "rvb_0")("GET", "/groups")
        #expect(unknown.status == 401 && unknown.headers["www-authenticate"] == #"Bearer error="invalid_token""#)
        let none = try await HTTPAnswer.curl("http://\(server.address)/v1/backend/groups")
        #expect(none.status == 401 && none.headers["www-authenticate"] == "Bearer")

        let (new, newTexts) = try tokens([("reader", .read, BackendScope())])
        var reload = ServerReload()
        reload.backendTokens = new
        try await server.reload(reload)
        #expect(try await reader("GET", "/groups").status == 401)
        #expect(try await Backend(server: server, token: newTexts[0])("GET", "/groups").status == 200)
    }

    @Test("the requests of the article are answered")
    func article() async throws {
        let backend = try await start()
        _ = try await world.onlinePhone("bob", at: backend.server.address)
        let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Sources/CallServer/CallServer.docc/BuildYourBackend.md")
        let blocks = try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```").filter {
            $0.hasPrefix("sh\n") && $0.contains("curl ")
        }
        #expect(blocks.count == 4)
        _ = try await backend("PUT", "/aliases/+491", #"{"user":"alice"}"#)
        var environment = ["TOKEN": backend.token, "VERSION": "0", "NEXT": "1.1"]
        for block in blocks {
            let script = block.dropFirst(3).replacing("127.0.0.1:7350", with: "\(backend.server.address)")
            let result = try await Program.run(
                "/bin/sh", ["-ec", "curl() { /usr/bin/curl --silent --show-error --fail \"$@\"; }\n\(script)"],
                environment: environment)
            #expect(result.ending == .exit(0), "\(block): \(result.errors)")
            if let call = (try? JSONObject(result.output))?["call_id"] as? String { environment["CALL"] = call }
        }
        #expect(environment["CALL"] != nil)
    }

    @Test("the command makes a token, and a server takes it after SIGHUP")
    func command() async throws {
        let (program, address) = try await world.serve()
        let token = try await world.output("token backend pbx --role read").filter { !$0.isNewline }
        let file = world.folder + "/backend-tokens"
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains(token) == false)
        let path = "http://\(address)/v1/backend/groups"
        let header = "Authorization: Bearer \(token)"
        #expect(try await HTTPAnswer.curl("--header", header, path).status == 401)
        program.send(SIGHUP)
        _ = try await program.errors.first("the settings are reloaded") { $0.contains("admin reload") ? true : nil }
        #expect(try await HTTPAnswer.curl("--header", header, path).status == 200)
        let count = program.errors.count
        #expect(try await world.reveille("token backend pbx --revoke").errors.contains("revoked 1 of \(file)"))
        program.send(SIGHUP)
        _ = try await program.errors.first("they are reloaded again", from: count) {
            $0.contains("admin reload") ? true : nil
        }
        #expect(try await HTTPAnswer.curl("--header", header, path).status == 401)
        try await world.reveille("token backend pbx --revoke").expectFailure(1, "has no token of the name pbx")
        try await world.reveille("token backend pbx").expectFailure(64, "--role")
    }

    @Test("the command writes no file at the end of a link")
    func link() async throws {
        try FileManager.default.createDirectory(atPath: world.folder, withIntermediateDirectories: true)
        let (file, victim) = (world.folder + "/backend-tokens", world.folder + "/victim")
        try Data("kept\n".utf8).write(to: URL(fileURLWithPath: victim))
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: victim)
        try await world.reveille("token backend pbx --role read").expectFailure(
            1, "\(file) is a link; name the file that it leads to with --file")
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "kept\n")
    }
}
