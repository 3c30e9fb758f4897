import ChildProcess
import Crypto
import Foundation
import ServerSettings
import StoreTesting
import TestCleanup
import Testing

@testable import reveille

@Suite("The server's configuration, as commands read it", .cleanup)
struct ConfigTests {
    /// A data folder with a configuration file.
    private final class Folder {
        private let folder: EmptyFolder
        let path: String
        let file: String

        init(_ text: String) throws {
            folder = try EmptyFolder()
            path = folder.path
            file = path + "/reveille.yaml"
            try write(text)
        }

        /// For the owner alone, as a file with a password is.
        func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }
    }

    // MARK: serve

    @Test("serve with an invalid file reports every fault: 2")
    func badStart() async throws {
        let folder = try Folder("listen.port: x\nlisten.host: 0.0.0.0\n")
        let run = await CommandRun.of("serve --log-format text", data: folder.path)
        run.expectFailure(2, lines: 2)
        #expect(
            run.complaints.first
                == "reveille: \(folder.file):1: listen.port: 'x' is not a whole number; give 0 to 65535")
        #expect(
            run.complaints.last?.hasPrefix("reveille: \(folder.file):2: listen.host: 0.0.0.0 can be reached") == true)
        // Options override the file, but do not hide its faults.
        let overridden = await CommandRun.of("serve --log-format text --port 0 --insecure", data: folder.path)
        overridden.expectFailure(2, lines: 1, "\(folder.file):1: listen.port: 'x' is not a whole number")
    }

    @Test("serve refuses Apple's binary API before it starts, with a clear message: 2", arguments: [2195, 2196])
    func binaryAPI(port: Int) async throws {
        let folder = try EmptyFolder()
        let key = folder.path + "/key.p8"
        try Data(P256.Signing.PrivateKey().pemRepresentation.utf8).write(to: URL(filePath: key))
        let credential = "--apns-key \(key) --apns-key-id ABCDE12345 --apns-team-id ABCDE12345"
        let run = await CommandRun.of(
            "serve --log-format text --port 0 \(credential) --apns-port \(port)", data: folder.path)
        run.expectFailure(
            2, "binary provider API, which Apple shut down in March 2021", "use api.push.apple.com on port 443 or 2197")
    }

    // MARK: config

    @Test("config check exits with 0 for a valid file, 1 for a fault, 2 for no file")
    func check() async throws {
        let folder = try Folder("calls.ring_seconds: 50\n")
        let good = await CommandRun.of("config check --config \(folder.file)")
        #expect(good.exit == 0 && good.output == ["\(folder.file): fine"] && good.complaints.isEmpty, "\(good)")
        let found = await CommandRun.of("config check", data: folder.path)
        #expect(found.exit == 0 && found.output == ["\(folder.file): fine"], "\(found)")
        try folder.write("calls.ring_seconds: 700\nshards: 0\n")
        let bad = await CommandRun.of("config check --config \(folder.file)")
        bad.expectFailure(1)
        #expect(
            bad.complaints == [
                "\(folder.file):1: calls.ring_seconds: 700 is out of range; give 5 to 600 seconds",
                "\(folder.file):2: shards: 0 is out of range; give 1 to 64",
            ])
        let missing = await CommandRun.of("config check --config \(folder.file)x")
        missing.expectFailure(2, lines: 1)
    }

    @Test("config check warns of a database that may lose commits, and of one that does not answer")
    func databaseCheck() async throws {
        let database = try await PostgresServer.start(settings: ["fsync = off"])
        atEnd { try? await database.remove() }
        func check() async throws -> String {
            let run = await CommandRun.of("config check --store \(database.uri)")
            #expect(run.exit == 0 && run.output.last?.hasSuffix(": no fault, one warning") == true, "\(run)")
            #expect(run.complaints.count == 1, "\(run)")
            return try #require(run.complaints.first)
        }
        let lossy = try await check()
        #expect(lossy.hasPrefix("warning: the database: fsync is off: "), "\(lossy)")
        try await database.stop("immediate")
        let away = try await check()
        #expect(away.hasPrefix("warning: the database: not checked: "), "\(away)")
    }

    @Test("config check refuses a database that refuses the server: 1, and what to do")
    func refusingDatabase() async throws {
        let database = try await PostgresServer.start()
        atEnd { try? await database.remove() }
        let statements = [
            "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0", "CREATE ROLE locked LOGIN PASSWORD 'right'",
        ]
        for statement in statements {
            let made = try await ChildProcess.run(
                PostgresServer.programs + "/psql", ["-X", "-c", statement, database.uri])
            #expect(made.ending == .exit(0), "\(made.output)")
        }
        try Data("local all locked scram-sha-256\nlocal all all trust\n".utf8)
            .write(to: URL(filePath: database.folder + "/data/pg_hba.conf"))
        try database.send(SIGHUP)
        for (place, words) in [
            ("reveille@/none", #"CREATE DATABASE "none" OWNER "reveille" ENCODING 'UTF8'"#),
            ("reveille@/postgres?foo=1", "Correct the URI in store"),
            ("reveille@:99999/postgres", "Correct the URI in store"),
            ("reveille@/postgres?sslmode=bad", "Correct the URI in store"),
            ("reveille@/postgres?application_name=a&connect_timeout=x", "Correct the URI in store"),
            ("reveille@/latin", "the encoding of the database is LATIN1, not UTF8. Make a database for it: "),
            ("nobody@/postgres", "Check the user and the password"),
            ("locked:wrong@/postgres", "Check the user and the password"),
            ("locked@/postgres?passfile=/none", "Write the password to ~/.pgpass of the system user that runs "),
        ] {
            let uri = "postgres://\(place)\(place.contains("?") ? "&" : "?")host=\(database.folder)"
            // The command line takes no password.
            let folder = try Folder("store: '\(uri)'\n")
            let run = await CommandRun.of("config check --config \(folder.file)")
            run.expectFailure(1, lines: 1, words)
            #expect(run.complaints.first?.hasPrefix("the database: ") == true, "\(place): \(run)")
            #expect(!run.complaints.joined().contains("wrong"), "\(place): \(run)")
        }
    }

    @Test("an address of a database that cannot be read is shown by no command, and each says what to do")
    func unreadableDatabase() async throws {
        for password in ["ge@heim", "ge/heim", "ge?heim", "100%zheim"] {
            let folder = try Folder("store: 'postgres://bob:\(password)@127.0.0.1/d'\n")
            for command in [
                "config check", "config show", "config show --output json", "cluster status", "serve --log-format text",
            ] {
                let run = await CommandRun.of("\(command) --config \(folder.file)", data: folder.path)
                #expect(run.exit != 0 && run.complaints.joined().contains("percent-encode"), "\(command): \(run)")
                #expect(!"\(run)".contains("heim@") && !"\(run)".contains(password), "\(command)")
            }
        }
    }

    @Test("config show lists each setting, its source and how it is applied, as a table and as JSON")
    func show() async throws {
        let folder = try Folder("calls:\n  ring_seconds: 50\ntoken: hush-hush\n")
        let (command, file) = ("config show --config \(folder.file) --port 0", folder.file)
        let table = await CommandRun.of(command)
        #expect(table.exit == 0, "\(table)")
        #expect(Self.row("calls.ring_seconds", of: table.output) == "calls.ring_seconds 50 \(file):2 SIGHUP")
        #expect(Self.row("listen.port", of: table.output) == "listen.port 0 --port restart")
        #expect(Self.row("node", of: table.output) == "node reveille default restart")
        #expect(Self.row("token", of: table.output) == "token <redacted> \(file):3")
        let around = ["REVEILLE_CALLS_CONNECT_SECONDS": "30"]
        let loader = SettingsLoader(SettingsSources(environment: around, file: file)) { _ in throw CancellationError() }
        let lines = SettingsOutput.table(try loader.load()).lines(width: nil)
        #expect(
            Self.row("calls.connect_seconds", of: lines)
                == "calls.connect_seconds 30 environment REVEILLE_CALLS_CONNECT_SECONDS SIGHUP")

        let json = await CommandRun.of(command + " --output json")
        #expect(!(table.output + json.output).joined().contains("hush"))
        let object = try #require(json.json as? [String: Any])
        #expect(object["file"] as? String == file)
        let settings = try #require(object["settings"] as? [[String: Any]])
        #expect(settings.count == table.output.count - 1)
        let ring = try #require(settings.first { $0["key"] as? String == "calls.ring_seconds" })
        #expect(ring["value"] as? Int == 50 && ring["unit"] as? String == "seconds")
        #expect(ring["environment"] as? String == "REVEILLE_CALLS_RING_SECONDS")
        #expect(ring["flag"] as? String == "--ring-seconds" && ring["is_reloadable"] as? Bool == true)
        let origin = ring["origin"] as? [String: Any]
        #expect(origin?["kind"] as? String == "file" && origin?["line"] as? Int == 2)
        #expect(origin?["file"] as? String == file)
        let token = try #require(settings.first { $0["key"] as? String == "token" })
        #expect(token["is_secret"] as? Bool == true && token["value"] as? String == "<redacted>")
    }

    /// The row of a setting, with one space between its columns.
    private static func row(_ key: String, of lines: [String]) -> String? {
        let rows = lines.map { $0.split(separator: " ", omittingEmptySubsequences: true) }
        return rows.first { $0.first == key[...] }?.joined(separator: " ")
    }

    @Test("config check accepts the output of config reference")
    func reference() async throws {
        let reference = await CommandRun.of("config reference")
        #expect(reference.exit == 0 && reference.complaints.isEmpty)
        let folder = try Folder(reference.output.joined(separator: "\n"))
        let check = await CommandRun.of("config check", data: folder.path)
        #expect(check.exit == 0 && check.output == ["\(folder.file): fine"], "\(check)")
    }
}
