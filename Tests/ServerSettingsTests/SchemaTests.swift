import CallCore
import CallServer
import CallStore
import CallVocabulary
import Configuration
import EventLoop
import Foundation
import LibWebSockets
import PushClient
import PushCore
import ServerSettings
import StoreInterface
import Testing

@Suite("The list of settings")
struct SchemaTests {
    private let scene: Scene

    init() throws { scene = try Scene() }

    @Test("no two settings have a key, a variable or an option in common")
    func names() {
        let keys = Setting.all.map(\.key)
        #expect(Set(keys).count == keys.count)
        #expect(Set(Setting.all.map(\.environmentName)).count == keys.count)
        let flags = Setting.all.compactMap(\.flag)
        #expect(Set(flags).count == flags.count)
        #expect(Setting.all.first { $0.key == "push.apns.key_id" }?.environmentName == "REVEILLE_PUSH_APNS_KEY_ID")
    }

    @Test("with nothing set, the server's own defaults hold")
    func defaults() throws {
        let configuration = try scene.load().serverConfiguration()
        let standard = ServerConfiguration(address: configuration.address, data: configuration.data)
        #expect("\(configuration.address)" == "127.0.0.1:7350")
        #expect(configuration.shards == standard.shards)
        #expect(configuration.timers == standard.timers)
        #expect(configuration.limits == standard.limits)
        #expect(configuration.connectionLimits == standard.connectionLimits)
        #expect(configuration.policy == standard.policy)
        #expect(configuration.maxConnections == standard.maxConnections)
        #expect(configuration.node == standard.node)
        #expect(configuration.retention == RetentionPolicy())
        #expect(configuration.push.texts == AlertTexts())
        #expect(configuration.push.apns.isEmpty && configuration.push.fcm.isEmpty)
        #expect(configuration.push.isEmpty)
        #expect(configuration.tls == nil && configuration.admin == nil)
        #expect(configuration.metrics.map { "\($0.address) \($0.isOptional)" } == "127.0.0.1:7352 true")
    }

    @Test("a database is the store that it names, with its realm, and nobody is shown its password")
    func databases() throws {
        #expect(try scene.load().serverConfiguration().database == nil)
        let uri = "postgres://bob:geheim@db.example.org/calls?sslmode=verify-full"
        try scene.write("store: \(uri)\nrealm: acme")
        let loaded = try scene.load()
        #expect(try loaded.serverConfiguration().database == PostgresAddress(uri, realm: "acme"))
        #expect(loaded.settings.shown(.store) == "postgres://bob@db.example.org/calls")
        #expect("\(String(describing: loaded.settings.plain(.store)))".contains("geheim") == false)
        for (text, fault) in [
            ("store: mysql://bob:geheim@h/d", "is no address of a PostgreSQL database"),
            ("store: postgres://bob:geheim@h/d", "h is reached over a network"),
            ("store: postgres://bob:100%geheim@h/d", "the address of the database cannot be read"),
            ("store: \(uri)\nrealm: A-b", "'A-b' is no name of a realm"),
            ("realm: acme", "there is no database"), ("store.unencrypted_database: true", "there is no database"),
        ] {
            try scene.write(text)
            let faults = try scene.faults().joined(separator: "\n")
            #expect(faults.contains(fault), "\(faults)")
            #expect(!faults.contains("geheim"))
        }
    }

    @Test("a database beyond this machine needs verified TLS, or a setting that says so")
    func unencryptedDatabase() throws {
        let fault =
            "DIR/reveille.yaml:1: store: db.example.org is reached over a network, and all records and token "
            + "secrets would go there unencrypted; add sslmode=verify-full to the address, with sslrootcert=FILE for an "
            + "authority of your own; or say store.unencrypted_database: true for a network that nobody else can read"
        for place in ["bob@db.example.org/d", "bob@localhost,db.example.org/d", "bob@db.example.org/d?sslmode=require"]
        {
            try scene.write("store: postgres://\(place)\nstore.unencrypted_database: false\n")
            #expect(try scene.faults() == [fault])
            try scene.write("store: postgres://\(place)\nstore.unencrypted_database: true\n")
            #expect(try scene.faults() == [])
            #expect(try scene.load().serverConfiguration().database?.allowsUnencrypted == true)
        }
        scene.environment["PGHOST"] = "db.example.org"
        try scene.write("store: postgres:///d")
        #expect(try scene.faults() == [fault])
        scene.environment["PGSSLMODE"] = "verify-full"
        #expect(try scene.faults() == [])
    }

    @Test("a password in the command line is refused, and one in the file or the environment is taken")
    func passwordInArguments() throws {
        let uri = "postgres://bob:geheim@localhost/d"
        scene.environment["REVEILLE_STORE"] = uri
        #expect(try scene.faults() == [])
        scene.environment["REVEILLE_STORE"] = nil
        try scene.write("store: \(uri)")
        #expect(try scene.faults() == [])
        for given in [uri, "postgres://bob@localhost/d?password=geheim"] {
            scene.flags.set(.store, given)
            #expect(
                try scene.faults() == [
                    "--store: every user of this machine can read a password in a command's arguments; take it out, and "
                        + "give it in PGPASSWORD, in a pgpass file (~/.pgpass), or in the settings file"
                ])
        }
    }

    @Test("metrics are served where somebody says, and then the port has to be free; off is nowhere")
    func metrics() throws {
        for (text, place) in [
            ("metrics.listen: 127.0.0.1:7352", "127.0.0.1:7352 false"), ("metrics.listen: '[::1]:9'", "[::1]:9 false"),
            ("metrics.listen: 0.0.0.0:9\nlisten.insecure: true", "0.0.0.0:9 false"), ("metrics.listen: off", nil),
        ] {
            try scene.write(text)
            let metrics = try scene.load().serverConfiguration().metrics
            #expect(metrics.map { "\($0.address) \($0.isOptional)" } == place)
            #expect(metrics?.tls == nil)
        }
    }

    /// Those whose value is a number, a word or a switch, and is the server's.
    static let plain = Setting.all.filter { setting in
        switch setting.kind {
        case .integer, .flag, .choice, .text:
            !setting.isForCommands && !setting.key.hasPrefix("log.") && !setting.key.hasPrefix("push.simulator")
                && !setting.key.hasPrefix("push.apns") && !setting.key.hasPrefix("push.fcm")
                && !setting.key.hasPrefix("push.webpush")
                && setting.key != "listen.insecure" && setting.key != "push.profiles"
                // See `databases`.
                && !setting.key.hasPrefix("store") && setting.key != "realm"
                // Of no use without admin.client_ca.
                && setting.key != "admin.client_names"
                // Of no use without keys, or proxies.
                && !["turn.urls", "turn.ttl_seconds"].contains(setting.key) && !setting.key.hasPrefix("authorize.")
                && !["tokens.jwks_url", "tokens.issuer", "tokens.audience", "tokens.user_claim"].contains(setting.key)
                && setting.key != "listen.proxy_protocol"
        case .address, .addressOrOff, .path, .paths: false
        }
    }

    @Test(
        "each setting changes what the server is started with, and nothing but its own part",
        arguments: plain.map(\.key))
    func effect(key: String) throws {
        let setting = try #require(Setting.all.first { $0.key == key })
        let before = try scene.load().serverConfiguration()
        try scene.write("\(key): \(other(setting))")
        #expect(try scene.faults() == [])
        let after = try scene.load().serverConfiguration()
        let changed = Set(zip(Self.parts(before), Self.parts(after)).filter { $0.1 != $1.1 }.map(\.0.0))
        let expected: String =
            switch setting.part {
            case .timers: "timers"
            case .limits: "limits"
            case .connectionLimits: "connection limits"
            case .connections: "connections"
            case .rates: "rates"
            case .policy: "policy"
            case .push: "push"
            case .tokens: "tokens"
            case .turn: "turn"
            case .authorization: "authorization"
            case .tls, .admin, .backends, .webhooks, .log: "none"
            case nil: "start"
            }
        #expect(changed == [expected])
    }

    private static func parts(_ configuration: ServerConfiguration) -> [(String, String)] {
        [
            ("timers", "\(configuration.timers)"), ("limits", "\(configuration.limits)"),
            ("connection limits", "\(configuration.connectionLimits)"), ("rates", "\(configuration.rates)"),
            ("policy", "\(configuration.policy)"),
            (
                "connections",
                "\(configuration.maxConnections) \(String(describing: configuration.maxConnectionsPerAddress)) "
                    + "\(configuration.proxies) \(configuration.maxUnreadBytes)"
            ), ("push", "\(configuration.push.texts)"), ("tokens", "\(configuration.tokens.leeway)"),
            ("turn", "\(String(describing: configuration.turn))"),
            (
                "start",
                "\(configuration.address) \(configuration.shards) \(configuration.node) \(configuration.retention) "
                    + "\(configuration.origins) \(configuration.signsInByName)"
            ),
        ]
    }

    private func other(_ setting: Setting) -> String {
        switch (setting.kind, setting.standard) {
        case (.integer(let range), .int(let standard)) where standard == range.lowerBound: "\(range.upperBound)"
        case (.integer(let range), _): setting.key == "shards" ? "64" : "\(range.lowerBound)"
        case (.flag, let standard): standard == .bool(true) ? "false" : "true"
        case (.choice(let choices), let standard): choices.first { .string($0) != standard } ?? ""
        default:
            switch setting.key {
            case "listen.host", "listen.proxies": "127.0.0.2"
            case "listen.origins": "https://app.example.com"
            default: "other"
            }
        }
    }

    @Test("days that are none are for ever, the others are days")
    func retention() throws {
        try scene.write("retention:\n  calls_days: 30\n  pushes_days: 0\n  missed_days: 1")
        let retention = try scene.load().serverConfiguration().retention
        #expect(retention == RetentionPolicy(calls: .seconds(30 * 86_400), pushes: nil, missed: .seconds(86_400)))
    }

    @Test("proxies send a header where the settings say so, which without proxies is a warning")
    func proxyProtocol() throws {
        let addresses = try [#require(AddressRange("10.0.0.5")), #require(AddressRange("fd00::/8"))]
        for sendHeaders in [false, true] {
            try scene.write("listen.proxies: 10.0.0.5, fd00::/8\nlisten.proxy_protocol: \(sendHeaders)")
            let proxies = try scene.load().serverConfiguration().proxies
            #expect(proxies == TrustedProxies(addresses: addresses, sendHeaders: sendHeaders))
            #expect(try scene.faults() == [])
        }
        try scene.write("listen.proxy_protocol: true")
        #expect(try scene.faults().count == 1 && scene.load().serverConfiguration().proxies.sendHeaders)
    }

    @Test("a burst that was not given follows the messages a second")
    func burst() throws {
        try scene.write("limits.messages_per_second: 50")
        #expect(try scene.load().serverConfiguration().connectionLimits.burst == 200)
        try scene.write("limits.messages_per_second: 50\nlimits.message_burst: 60")
        #expect(try scene.load().serverConfiguration().connectionLimits.burst == 60)
    }

    @Test("the value of a secret is shown nowhere")
    func redaction() throws {
        try scene.write("token: hush-hush")
        let settings = try scene.load().settings
        #expect(settings.text(.token) == "hush-hush")
        #expect(settings.shown(.token) == "<redacted>")
        #expect(settings.plain(.token) as? String == "<redacted>")
        #expect(settings.shown(.server) == "" && settings.plain(.server) == nil)
    }

    // MARK: The reference file

    private static let reference = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Resources/reveille.yaml")

    @Test("the reference file is the one that reveille config reference prints")
    func referenceFile() throws {
        #expect(try String(contentsOf: Self.reference, encoding: .utf8) == SettingsReference.text)
    }

    @Test("the reference file has every setting with its variable and option, and as it is it sets nothing")
    func referenceKeys() throws {
        let lines = SettingsReference.text.split(separator: "\n").map(String.init)
        for setting in Setting.all {
            let index = try #require(lines.firstIndex { $0.hasPrefix("#\(setting.key): ") }, "\(setting.key)")
            #expect(lines[index - 2] == "# \(setting.meaning)")
            #expect(lines[index - 1].contains(setting.environmentName))
            if let flag = setting.flag { #expect(lines[index - 1].contains("; \(flag);")) }
            if let need = setting.need { #expect(lines[index - 1].hasSuffix("; \(need))")) }
        }
        #expect(lines.allSatisfy { $0.hasPrefix("#") && $0.count <= 120 })
        try scene.write(SettingsReference.text)
        let loaded = try scene.load()
        #expect(loaded.faults == [])
        #expect(Setting.all.filter { loaded.settings[$0].origin != .standard }.map(\.key) == ["data"])
    }

    @Test("with every comment sign taken away, the reference file is valid and says the defaults")
    func referenceValues() throws {
        let settings = SettingsReference.text.split(separator: "\n").filter { !$0.hasPrefix("# ") && $0 != "#" }
            .map { $0.dropFirst() }
        #expect(settings.count == Setting.all.count)
        try scene.write(settings.joined(separator: "\n"))
        scene.environment["REVEILLE_DATA"] = nil
        let loaded = try scene.load()
        // The files of the examples are not there, and both ways to push are among them.
        let others = loaded.errors.filter { !$0.reason.hasPrefix("cannot read /etc/reveille/") }
        #expect(others.map(\.key) == ["push.simulator"])
        for setting in Setting.all {
            guard case .file = loaded.settings[setting].origin else {
                Issue.record("\(setting.key) is not set")
                continue
            }
            if let standard = setting.standard { #expect(loaded.settings[setting].value == standard) }
        }
    }
}
