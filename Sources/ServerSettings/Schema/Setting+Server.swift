import CallServer
import Configuration
import Logging
import StoreInterface

/// The server, its listeners, what it keeps and what it says.
extension Setting {
    package static let data = Setting(
        "data", .path, note: "reveille in $XDG_DATA_HOME, else ~/.local/share/reveille",
        example: "/var/lib/reveille", flag: "--data",
        "The data folder: the store, and the secrets the server has made for itself.")
    public static let store = Setting(
        "store", .text(longest: 2048), note: "SQLite in the data folder",
        example: "postgres://reveille@db.example.org/reveille?sslmode=verify-full", flag: "--store", isSecret: true,
        "The PostgreSQL database with the store, as a connection URI of libpq. Its password is better in ~/.pgpass."
    )
    package static let storeUnencryptedDatabase = Setting(
        "store.unencrypted_database", .flag, .bool(false),
        "Let a database on another machine be reached without sslmode=verify-full. Token secrets go there in clear.")
    public static let realm = Setting(
        "realm", .text(longest: 40), .string(PostgresAddress.standardRealm), flag: "--realm",
        "The schema of that database which has the store. One server at a time serves a realm.")
    package static let node = Setting(
        "node", .text(longest: 64), .string("reveille"), flag: "--node",
        "What this server calls itself towards clients.")
    package static let shards = Setting(
        "shards", .integer(1...64), note: "one fewer than the processors, at most 8", example: "4", flag: "--shards",
        "Threads that carry connections. One alone, without TLS, shares the core's thread.")

    package static let listenHost = Setting(
        "listen.host", .text(longest: 64), .string("127.0.0.1"), flag: "--host",
        "The address to listen on, numeric or localhost. Beyond loopback it needs tls.certificate, or listen.insecure.")
    package static let listenPort = Setting(
        "listen.port", .integer(0...65535), .int(Int(ServerConfiguration.standardPort)), flag: "--port",
        "The port to listen on; 0 lets the system choose.")
    package static let listenInsecure = Setting(
        "listen.insecure", .flag, .bool(false), flag: "--insecure",
        "Listen beyond this machine without TLS. For a server behind a proxy that does TLS.")
    package static let listenProxies = Setting(
        "listen.proxies", .text(longest: 2048), example: "10.0.0.5, 10.1.0.0/16, fd00::/8", part: .connections,
        "Addresses of proxies in front. The client is the last address in their X-Forwarded-For that is not listed here."
    )
    package static let listenProxyProtocol = Setting(
        "listen.proxy_protocol", .flag, .bool(false), part: .connections,
        "Each connection of listen.proxies begins with a PROXY protocol header (HAProxy: send-proxy-v2), before TLS if any."
    )
    package static let listenOrigins = Setting(
        "listen.origins", .text(longest: 2048), .string("any"), example: "https://app.example.com",
        "The web pages that may connect, as scheme://host[:port] with commas between. Apps send no origin.")
    package static let webRoot = Setting(
        "web.root", .path, example: "/etc/reveille/pages", flag: "--web-root",
        "A folder with pages of your own, read at the start. The server prefers its files to its own pages."
    )
    package static let webSignInByName = Setting(
        "web.sign_in_by_name", .flag, .bool(false), flag: "--sign-in-by-name",
        "Let a browser on this machine sign in as any user, at the secret address that the start logs. To try the server."
    )
    package static let tlsCertificate = Setting(
        "tls.certificate", .path, example: "/etc/reveille/fullchain.pem", flag: "--tls-certificate", part: .tls,
        "The certificate for wss://, in PEM, with the intermediate ones after it. Goes with tls.key.")
    package static let tlsKey = Setting(
        "tls.key", .path, example: "/etc/reveille/privkey.pem", flag: "--tls-key", part: .tls,
        "The private key of tls.certificate, in PEM, not encrypted.")

    package static let metricsListen = Setting(
        "metrics.listen", .addressOrOff, .string("127.0.0.1:\(MetricsListenerConfiguration.standardPort)"),
        flag: "--metrics-listen",
        "Where /metrics and the reasons of /readyz are served; off: on the admin socket only. Beyond loopback as listen.host."
    )

    package static let retentionCalls = Setting(
        "retention.calls_days", .integer(0...36_500), .int(400),
        "How long calls that are over are kept, with their pushes; 0 for ever.")
    package static let retentionPushes = Setting(
        "retention.pushes_days", .integer(0...36_500), .int(400),
        "How long the ledger's settled pushes are kept, at most as long as their calls; 0 for as long.")
    package static let retentionMissed = Setting(
        "retention.missed_days", .integer(0...36_500), .int(30),
        "How long missed calls wait for their user to look at them; 0 for ever.")
    package static let retentionEvents = Setting(
        "retention.events_days", .integer(4...36_500), .int(7),
        "How long events for other systems are kept, delivered or not; an event is sent again for three days.")

    package static let logLevel = Setting(
        "log.level", .choice(Logger.Level.allCases.map(\.rawValue)), .string("info"), flag: "--log-level", part: .log,
        "The least that is logged, on standard error.")
    package static let logFormat = Setting(
        "log.format", .choice(["auto", "text", "json"]), .string("auto"), flag: "--log-format",
        "Lines for people (text) or for programs (json); auto is text on a terminal and json elsewhere.")

    package static let adminListen = Setting(
        "admin.listen", .address, note: "the socket only", example: "127.0.0.1:7351", flag: "--admin-listen",
        "Where administrators may connect by TCP. Needs admin.token_file. Speaks TLS when tls.certificate is given.")
    package static let adminTokenFile = Setting(
        "admin.token_file", .path, example: "/etc/reveille/admin-token", flag: "--admin-token-file", part: .admin,
        "A file with the token that administrators show: one line of 16 characters or more.")

    package static let adminReadTokenFile = Setting(
        "admin.read_token_file", .path, example: "/etc/reveille/admin-read-token", part: .admin,
        "A file with another token, for all that changes nothing: for dashboards and probes.")
    package static let adminClientCA = Setting(
        "admin.client_ca", .path, example: "/etc/reveille/admins-ca.pem",
        "Authorities in PEM: at admin.listen only clients with a certificate of theirs get in. Needs tls.certificate.")
    package static let adminClientNames = Setting(
        "admin.client_names", .text(longest: 4096), note: "all with a certificate",
        example: "ops-1, monitor.example.org",
        "Of those clients, the ones whose certificate has one of these common names or DNS names.")

    public static let server = Setting(
        "server", .text(longest: 1024), note: "the socket in the data folder", example: "wss://calls.example.org:7351",
        isForCommands: true,
        "Where reveille's commands find the server: the path of its socket, or a ws:// or wss:// address.")
    public static let token = Setting(
        "token", .text(longest: 4096), example: "the-line-in-admin.token_file", isForCommands: true,
        isSecret: true,
        "The token that the commands show at admin.listen.")
}
