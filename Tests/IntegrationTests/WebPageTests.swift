import CallServer
import CallVocabulary
import EventLoop
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("Web pages on the listeners", .world)
struct WebPageTests {
    private func curl(_ address: String, _ path: String, _ options: [String] = []) async throws -> HTTPAnswer {
        try await HTTPAnswer.curl(options + ["http://\(address)\(path)"])
    }

    private func signIn(
        _ server: CallServer, host: String, _ options: [String] = [], user: String = "alice", secret: String? = nil,
        body: String? = nil
    ) async throws -> HTTPAnswer {
        let secret = secret ?? server.signInPage?.split(separator: "=").last.map(String.init) ?? ""
        let body = body ?? #"{"user":"\#(user)","secret":"\#(secret)"}"#
        return try await curl(
            "\(server.address)", "/phone/token",
            ["-H", "Host: \(host)", "-H", "Content-Type: application/json", "--data", body] + options)
    }

    @Test("the clients' port sends the library and the softphone, with HEAD and on one connection, and no board")
    func users() async throws {
        let server = try await world.startServer()
        let address = "\(server.address)"
        let library = try await curl(address, "/reveille.js")
        #expect(library.status == 200 && library.body.contains("export"))
        let head = try await curl(address, "/reveille.js", ["--head"])
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(
            head.headers["content-length"] == "\(library.body.utf8.count + 1)", "HTTPAnswer drops the last line break")
        let tag = try #require(head.headers["etag"])
        let again = try await curl(address, "/reveille.js", ["-H", "If-None-Match: \(tag)"])
        #expect(again.status == 304 && again.headers["content-length"] == nil)
        #expect(try await curl(address, "/phone/").headers["content-security-policy"]?.isEmpty == false)
        #expect(try await curl(address, "/board/").status == 404)
        #expect(try await curl(address, "/", ["-H", "Accept: text/html"]).headers["location"] == "/phone/")
        #expect(try await curl(address, "/").body.hasPrefix("Reveille "))
        #expect(try await curl(address, "/reveille.js", ["--data", "x"]).status == 405)
    }

    @Test("a page of the server signs in by name on this machine, and the token opens a session")
    func byName() async throws {
        let server = try await world.startServer { $0.signsInByName = true }
        for host in ["localhost:\(server.address.port)", "127.0.0.1", "[::1]:80"] {
            let answer = try await signIn(server, host: host, ["-H", "Origin: http://\(host)"])
            #expect(answer.status == 200 && answer.headers["cache-control"] == "no-store")
            let token = try JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["token"]
            let call = try await curl(
                "\(server.address)", "/v1/calls/\(CallID.random())",
                ["-H", "Authorization: Bearer \(try #require(token))"])
            #expect(call.status == 403, "the token is valid, and no call of alice has this id")
        }
        for user in ["", "a b", String(repeating: "a", count: 200)] {
            let answer = try await signIn(server, host: "localhost", user: user)
            #expect(answer.status == 400 && answer.body.contains("user: a name has \(Handle.rule)"), "\(answer)")
        }
        #expect(try await signIn(server, host: "localhost", body: "alice").status == 400)
        #expect(try await curl("\(server.address)", "/phone/token", ["-H", "Host: localhost"]).status == 405)
    }

    @Test("without the secret of the address nobody signs in by name, and the answer says where it is")
    func secret() async throws {
        let server = try await world.startServer { $0.signsInByName = true }
        let page = try #require(server.signInPage)
        #expect(page.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/phone\/#secret=[0-9a-f]{64}/) != nil, "\(page)")
        let wrong = String(repeating: "0", count: 64)
        for body in [
            #"{"user":"alice"}"#, #"{"user":"alice","secret":""}"#, #"{"user":"alice","secret":"\#(wrong)"}"#,
            #"{"user":"alice","secret":null}"#,
        ] {
            let answer = try await signIn(server, host: "localhost", body: body)
            #expect(answer.status == 403 && answer.body.contains("the address that its start has logged"), "\(body)")
        }
        #expect(try await signIn(server, host: "localhost").status == 200)
        let mode = try FileManager.default.attributesOfItem(atPath: world.folder + "/sign-in.key")[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test(
        "a page of another server, a name that leads here, and a proxy cannot sign in by name",
        arguments: [
            ("localhost", ["Origin: https://evil.example"]), ("localhost", ["Origin: http://localhost:81"]),
            ("localhost", ["Origin: null"]), ("evil.example", ["Origin: http://evil.example"]), ("evil.example", []),
            ("localhost.evil.example", []), ("localhost", ["X-Forwarded-For: 203.0.113.9"]),
            ("localhost", ["Forwarded: for=203.0.113.9"]), ("localhost", ["Via: 1.1 proxy"]),
        ])
    func impostors(_ host: String, _ headers: [String]) async throws {
        let server = try await world.startServer { $0.signsInByName = true }
        let answer = try await signIn(server, host: host, headers.flatMap { ["-H", $0] })
        #expect(answer.status == 403 && !answer.body.contains("\"token\""))
    }

    @Test("without the setting nobody signs in by name")
    func off() async throws {
        let server = try await world.startServer()
        let answer = try await signIn(server, host: "localhost")
        #expect(answer.status == 403 && answer.body.contains("web.sign_in_by_name"))
    }
}
