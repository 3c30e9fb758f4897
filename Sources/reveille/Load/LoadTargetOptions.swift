import ArgumentParser
import CallServer
import EventLoop
import Foundation
import LoadTest
import ServerSettings
import StoreInterface

/// The server that the load is put on.
struct LoadTargetOptions: ParsableArguments {
    @Option(
        help: """
            Connection threads of the run's own server, 1 to 64 (default: 1, which without --tls is also the core's).
            """)
    var shards: Int?
    @Flag(help: "Clients reach the run's own server over TLS, with a certificate made for the run.")
    var tls = false
    @Option(
        help: ArgumentHelp(
            """
            The PostgreSQL database for the run's own server (default: SQLite), in a realm that the run makes and \
            removes.
            """, valueName: "uri"))
    var store: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            With --store: how often the realm's home is killed with SIGKILL. The run has two servers then, with \
            HAProxy in front; the killed one starts again when the other is the home. Phones pause at most 4 s between their \
            attempts to reconnect.
            """, valueName: "time"),
        transform: TimeSpan.parse)
    var killHomeEvery: Duration?
    @Option(
        help: ArgumentHelp(
            """
            Without --target: the folder for the data of the run's own server (default: a temporary one). With \
            --target: that server's data folder on this machine, for its secret and its admin API.
            """,
            valueName: "folder"), completion: .directory)
    var data: String?
    @Option(
        help: ArgumentHelp(
            """
            A running server, ws://host:port or wss://host:port. Calls, devices and pushes stay in its store. Its \
            limits apply, above all messages_per_second of a connection (serve --messages-per-second), and \
            devices_per_user for fanout.
            """,
            valueName: "url"))
    var target: String?
    @Option(
        help: ArgumentHelp(
            "With --target: the secret of its user tokens, client-token.key in its data folder.", valueName: "file"),
        completion: .file())
    var secretFile: String?
    @Option(
        name: .customLong("server"),
        help: ArgumentHelp(
            """
            With --target: its admin API, a socket's path or ws://host:port or wss://host:port, for the audit and for \
            the groups of fanout. Not taken from $REVEILLE_SERVER, which may be another server.
            """,
            valueName: "socket or url"))
    var admin: String?
    @Option(help: "With --server at a URL: its token (default: $REVEILLE_TOKEN).") var token: String?
    @Option(
        help: ArgumentHelp(
            "With --target: the certificates in PEM to trust at wss:// and https:// URLs (default: the system's).",
            valueName: "file"), completion: .file())
    var caFile: String?
    @Option(
        help: ArgumentHelp(
            """
            With --target: its metrics, http://host:port/path or https://host:port/path (default: the URL from its \
            admin API, or port 7352 if the server is at port 7350).
            """,
            valueName: "url"))
    var metricsURL: String?
    @Option(
        help: ArgumentHelp(
            "With --target: the folder of the push simulator that it pushes to; required to wake phones.",
            valueName: "folder"), completion: .directory)
    var pushSimData: String?

    /// - Throws: `ValidationError`.
    var chosen: LoadTarget {
        get throws {
            guard let target else { return .own(try ownServer) }
            guard store == nil, killHomeEvery == nil else {
                throw ValidationError("--store and --kill-home-every are of a server of its own: leave out --target.")
            }
            guard shards == nil else {
                throw ValidationError("--shards is of a server of its own; one that runs has its own number of them.")
            }
            guard !tls else {
                throw ValidationError("--tls is of a server of its own; at one that runs, wss:// says so.")
            }
            try Self.check("target", target, schemes: ["ws", "wss"])
            guard let secretFile = secretFile ?? secretInFolder else {
                throw ValidationError(
                    "--target needs --secret-file: the client-token.key in that server's data folder, to sign users' "
                        + "tokens with; or --data, that folder, where it is on this machine.")
            }
            var server = LoadTarget.RunningServer(url: target, secretFile: secretFile)
            if let metricsURL { try Self.check("metrics-url", metricsURL, schemes: ["http", "https"]) }
            server.metricsURL = metricsURL
            server.simulatorFolder = pushSimData
            server.caFile = caFile
            server.admin = try chosenAdmin
            return .running(server)
        }
    }

    private static let secretName = "client-token.key"

    /// In the folder that is named, or in the standard one when it has a secret.
    private var secretInFolder: String? {
        if let data { return data + "/" + Self.secretName }
        let standard = DataFolder.standard.path + "/" + Self.secretName
        return FileManager.default.isReadableFile(atPath: standard) ? standard : nil
    }

    private var ownServer: LoadTarget.OwnServer {
        get throws {
            for (option, value) in [
                ("secret-file", secretFile), ("server", admin), ("token", token), ("ca-file", caFile),
                ("metrics-url", metricsURL), ("push-sim-data", pushSimData),
            ] where value != nil {
                throw ValidationError("--\(option) goes with --target: a server of its own needs none.")
            }
            try LoadOptions.check("shards", shards ?? 1, 1...64)
            var server = LoadTarget.OwnServer(executable: Self.executable)
            server.shards = shards ?? 1
            server.usesTLS = tls
            server.dataFolder = data
            server.store = try ownStore
            server.killsHomeEvery = killHomeEvery
            return server
        }
    }

    /// The realm that the run makes.
    private var ownStore: PostgresAddress? {
        get throws {
            guard let store else {
                guard killHomeEvery == nil else {
                    throw ValidationError(
                        "--kill-home-every goes with --store: two servers share a PostgreSQL database.")
                }
                return nil
            }
            guard !tls || killHomeEvery == nil else { throw ValidationError("--kill-home-every goes without --tls.") }
            if let killHomeEvery, killHomeEvery < .seconds(15) {
                throw ValidationError("--kill-home-every is 15s or more: the phones need some of that to come back.")
            }
            let realm = "load_" + String(UInt64.random(in: 1 << 32..<1 << 36), radix: 16)
            guard PostgresAddress.isAddress(store) else {
                throw ValidationError(
                    "--store is postgres://user@host/database; what was given is no such address.")
            }
            try PostgresAddress.checkArgument(store, of: "--store")
            return try ConfigurationOptions.surroundings.database(store, realm: realm)
        }
    }

    private var chosenAdmin: LoadTarget.Admin? {
        get throws {
            guard let admin else {
                guard token == nil else { throw ValidationError("--token goes with --server at a URL.") }
                return data.map { .folder($0) }
            }
            let variable = ProcessInfo.processInfo.environment["REVEILLE_TOKEN"]
            switch try AdminAddress(admin, token: token ?? variable, source: "--server") {
            case .folder(let folder): return .folder(folder.path)
            case .socket: return .socket(admin)
            case .url(_, let token, _, _): return .url(admin, token: token)
            }
        }
    }

    /// Whether the server can do what the plan needs of it.
    func check(for plan: LoadPlan) throws {
        if let killHomeEvery {
            guard plan.scenario.hasDuration else {
                throw ValidationError("--kill-home-every does not go with \(plan.scenario.rawValue).")
            }
            guard killHomeEvery < plan.loadTime else {
                throw ValidationError(
                    "--kill-home-every \(LoadPlan.text(killHomeEvery)) kills nothing: the load ends after "
                        + "\(LoadPlan.text(plan.loadTime)); give a longer --duration.")
            }
        }
        guard case .running(let server) = plan.target else { return }
        guard plan.registered == 0 else {
            throw ValidationError("--registered fills the store of the test's own server: leave out --target.")
        }
        guard !plan.hasFanOut || plan.fanOutKind != .members || server.admin != nil else {
            throw ValidationError(
                "--members sets groups by that server's admin API: name it with --server, or its data folder with "
                    + "--data."
            )
        }
        guard plan.needsPushes, server.simulatorFolder == nil else { return }
        throw ValidationError(
            "\(plan.scenario.rawValue) wakes phones: name the folder of the push simulator that the server pushes to "
                + "with "
                + "--push-sim-data.")
    }

    /// Whether what is named is there.
    func checkFiles() throws {
        if let data { try Self.checkFolder("data", data) }
        if let pushSimData { try Self.checkFolder("push-sim-data", pushSimData) }
        if let secretFile {
            try Self.checkSecret("secret-file", secretFile)
        } else if let data, target != nil {
            try Self.checkSecret("data", data + "/" + Self.secretName)
        }
        if let caFile, !FileManager.default.isReadableFile(atPath: caFile) {
            throw ValidationError("--ca-file: \(caFile.shown) cannot be read.")
        }
    }

    /// This very program.
    private static var executable: String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
    }

    private static func check(_ option: String, _ text: String, schemes: [String]) throws {
        // The part before `@` may be a password: such a URL is refused.
        guard let url = URL(string: text), let scheme = url.scheme, schemes.contains(scheme), !text.contains("@"),
            let host = url.host(), !host.isEmpty, 1...65_535 ~= url.port ?? 1
        else {
            throw ValidationError(
                "--\(option) is \(schemes.map { "\($0)://host:port" }.joined(separator: " or ")), "
                    + "not \(ShownText.quoted(text.shown)).")
        }
    }

    private static func checkSecret(_ option: String, _ file: String) throws {
        guard let contents = FileManager.default.contents(atPath: file) else {
            throw ValidationError(
                "--\(option): \(file.shown) cannot be read; copy the server's client-token.key here.")
        }
        let text = String(decoding: contents, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.count >= 64, text.count.isMultiple(of: 2), text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw ValidationError(
                "--\(option): \(file.shown) does not hold a secret of at least 64 hexadecimal digits, two for each "
                    + "byte, "
                    + "as client-token.key does.")
        }
    }

    private static func checkFolder(_ option: String, _ path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw ValidationError("--\(option): there is no folder \(path.shown).")
        }
    }
}
