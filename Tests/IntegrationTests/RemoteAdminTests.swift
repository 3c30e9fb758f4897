import CallServer
import CallVocabulary
import Foundation
import LibWebSockets
import SoftphoneKit
import SoftphoneSession
import TLS
import TestCertificates
import Testing

@Suite("The commands over TCP", .world, .timeLimit(.minutes(2)))
struct RemoteAdminTests {
    private static let token = "0123456789abcdef-right"

    /// A server whose admin API listens on TCP.
    /// - Returns: `host:port` for phones, and for administrators.
    private static func serve(
        _ arguments: String..., environment: [String: String] = [:]
    ) async throws -> (phones: String, admin: String, program: Program) {
        try DataFolder(path: world.folder).prepare()
        let file = world.folder + "/admin-token"
        try Data(token.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let server = try world.start(
            Program.reveille,
            [
                "serve", "--data", world.folder, "--port", "0", "--admin-listen", "127.0.0.1:0",
                "--admin-token-file", file,
            ] + arguments, environment: environment)
        func address(_ message: String) async throws -> String {
            try await server.errors.first(message) { line -> String? in
                guard let object = try? JSONObject(line), object["message"] as? String == message else { return nil }
                return object["address"] as? String
            }
        }
        return (try await address("listening"), try await address("the admin API is listening"), server)
    }

    private static func ask(_ line: String, _ environment: [String: String] = [:]) async throws -> Program.Result {
        try await Program.run(Program.reveille, line.split(separator: " ").map(String.init), environment: environment)
    }

    @Test("the right token reads and changes like the socket, from flags and from the environment")
    func right() async throws {
        let (phones, admin, _) = try await Self.serve()
        let (alice, _, call) = try await world.liveCall(at: phones)
        let flags = "--server ws://\(admin) --token \(Self.token)"
        for line in ["devices list --output json", "pushes audit", "calls show \(call) --output json"] {
            let remote = try await Self.ask("\(line) \(flags)")
            #expect(remote.ending == .exit(0), "\(line): \(remote.errors)")
            let local = try await Self.ask("\(line) --data \(world.folder)")
            #expect(remote.output == local.output)
            #expect(!remote.output.isEmpty)
        }
        let around = ["REVEILLE_SERVER": "ws://\(admin)", "REVEILLE_TOKEN": Self.token]
        let ended = try await Self.ask("calls end \("\(call)".prefix(8))", around)
        #expect(ended.ending == .exit(0), "\(ended.errors)")
        #expect(ended.output == "call \(call) ended")
        #expect(try await alice.ended(call).reason == .admin)
    }

    @Test("a wrong token, the phones' listener and wss:// without TLS are exit code 2, each with advice")
    func wrong() async throws {
        let (phones, admin, _) = try await Self.serve()
        let wrong = "0123456789abcdef-wrong"
        for line in ["stats", "devices list", "pushes audit", "calls watch --once", "top --once", "drain"] {
            let result = try await Self.ask("\(line) --server ws://\(admin) --token \(wrong)")
            #expect(result.ending == .exit(2), "\(line)")
            #expect(
                result.errors
                    == "reveille: the server at ws://\(admin)/ does not know this token; "
                    + "give the one in its configuration", "\(line)")
            #expect(result.output.isEmpty)
        }
        let check = try await Self.ask("check --server ws://\(admin) --token \(wrong)")
        #expect(check.ending == .exit(3))
        #expect(check.output.hasPrefix("REVEILLE UNKNOWN - the server at ws://\(admin)/ does not know this token"))
        let phonesResult = try await Self.ask("stats --server ws://\(phones) --token \(Self.token)")
        #expect(phonesResult.ending == .exit(2))
        #expect(phonesResult.errorLines.count == 1)
        #expect(
            phonesResult.errors.hasSuffix(
                "what answers there takes no WebSocket at this path now; check the port and the path, and whether /readyz is 200"
            ))
        try await Self.ask("stats --server wss://\(admin) --token \(Self.token)").expectFailure(
            2, "check whether the server expects ws://")
        // The refused commands started no drain.
        let info = try JSONObject(try await Self.ask("stats --output json --data \(world.folder)").output)
        #expect((info["server"] as? [String: Any])?["is_draining"] as? Bool == false)
    }

    @Test("after SIGHUP the new token for reading is accepted, and the old one is refused")
    func readTokenReload() async throws {
        let file = world.folder + "/read-token"
        try DataFolder(path: world.folder).prepare()
        func write(_ token: String) throws {
            try Data(token.utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }
        let (old, new) = ("0123456789abcdef-old", "0123456789abcdef-new")
        try write(old)
        let (_, admin, server) = try await Self.serve(environment: ["REVEILLE_ADMIN_READ_TOKEN_FILE": file])
        func ending(_ line: String, _ token: String) async throws -> Program.Ending {
            try await Self.ask("\(line) --server ws://\(admin) --token \(token)").ending
        }
        #expect(try await ending("stats", old) == .exit(0))
        #expect(try await ending("stats", new) == .exit(2))
        try write(new)
        let start = server.errors.count
        server.send(SIGHUP)
        try await server.errors.first("the change is taken over", from: start) {
            $0.contains(#""setting":"admin.read_token_file""#) ? true : nil
        }
        #expect(try await ending("stats", new) == .exit(0))
        #expect(try await ending("stats", old) == .exit(2))
        // The new token permits reading only; the other token is unchanged.
        let change = try await Self.ask("groups set sales bob --server ws://\(admin) --token \(new)")
        #expect(change.ending != .exit(0) && change.errors.contains("admin.token_file"), "\(change.errors)")
        #expect(try await ending("stats", Self.token) == .exit(0))
    }

    @Test("a server that asks for certificates lets in commands that show one, and top too; a token for reading reads")
    func clientCertificate() async throws {
        let (identity, admins) = (try await TestIdentity(), try await TestIdentity(name: "ops"))
        try DataFolder(path: world.folder).prepare()
        let (reading, readToken) = (world.folder + "/read-token", "0123456789abcdef-reading")
        try Data(readToken.utf8).write(to: URL(fileURLWithPath: reading))
        let (_, admin, _) = try await Self.serve(
            "--tls-certificate", identity.files.certificateFile, "--tls-key", identity.files.keyFile,
            environment: [
                "REVEILLE_ADMIN_CLIENT_CA": admins.files.certificateFile, "REVEILLE_ADMIN_CLIENT_NAMES": "ops",
                "REVEILLE_ADMIN_READ_TOKEN_FILE": reading,
            ])
        let server = "--server wss://localhost:\(try World.port(of: admin)) --ca-file \(identity.files.certificateFile)"
        let shown = "--client-certificate \(admins.files.certificateFile) --client-key \(admins.files.keyFile)"
        let top = try await Self.ask("top --once --token \(readToken) \(server) \(shown)")
        #expect(top.ending == .exit(0) && !top.output.isEmpty, "\(top.errors)")
        let around = [
            "REVEILLE_TOKEN": readToken, "REVEILLE_CLIENT_CERTIFICATE": admins.files.certificateFile,
            "REVEILLE_CLIENT_KEY": admins.files.keyFile,
        ]
        let groups = try await Self.ask("groups list \(server)", around)
        #expect(groups.ending == .exit(0), "\(groups.errors)")
        let refused = try await Self.ask("groups set sales bob \(server)", around)
        #expect(refused.ending != .exit(0) && refused.errors.contains("admin.token_file"), "\(refused.errors)")
        let set = try await Self.ask("groups set sales bob --token \(Self.token) \(server)", around)
        #expect(set.ending == .exit(0), "\(set.errors)")
        let stranger = try await Self.ask("groups list --token \(Self.token) \(server)")
        #expect(stranger.ending == .exit(2), "\(stranger.output)")
    }

    @Test("over wss the certificate is verified: an untrusted one is exit code 2, --ca-file makes it trusted")
    func certificate() async throws {
        let (identity, other) = (try await TestIdentity(), try await TestIdentity())
        let files = identity.files
        let (_, admin, _) = try await Self.serve(
            "--tls-certificate", files.certificateFile, "--tls-key", files.keyFile)
        let line = "stats --output json --token \(Self.token) --server wss://localhost:\(try World.port(of: admin))"
        let trusted = try await Self.ask("\(line) --ca-file \(files.certificateFile)")
        #expect(trusted.ending == .exit(0), "\(trusted.errors)")
        // The certificate is of a test: it ends in two days.
        let problems = try JSONObject(trusted.output)["problems"] as? [[String: Any]] ?? []
        #expect(Set(problems.map { $0["code"] as? String }) == ["listener_certificate_expiring"])
        for rest in ["", " --ca-file \(other.files.certificateFile)"] {
            try await Self.ask(line + rest).expectFailure(2, "is not trusted: ")
        }
    }
}
