import CallServer
import PushClient
import PushCore
import ServerSettings
import Testing

@Suite("What is wrong with variables and options")
struct OtherFaultTests {
    private let scene: Scene

    init() throws { scene = try Scene() }

    @Test(
        "a variable that is close to a setting's is warned of, one that others make is not",
        arguments: [
            ("REVEILLE_LISTEN_PROT", "did you mean REVEILLE_LISTEN_PORT?"),
            ("REVEILLE_RING_SECONDS", "did you mean REVEILLE_CALLS_RING_SECONDS?"),
            ("REVEILLE_CONFIGS", "did you mean REVEILLE_CONFIG?"), ("REVEILLE_PORT_7350_TCP_ADDR", nil),
            ("REVEILLE_PORT", nil), ("REVEILLE_SERVICE_HOST", nil), ("REVEILLE_TOKEN", nil), ("REVEILLE_SERVER", nil),
        ])
    func variables(name: String, advice: String?) throws {
        scene.environment[name] = "x"
        #expect(
            try scene.faults()
                == (advice.map { ["warning: environment \(name): there is no such setting; \($0)"] } ?? []))
        _ = try scene.load().serverConfiguration()
    }

    @Test("a variable without a value says nothing")
    func emptyVariable() throws {
        scene.environment["REVEILLE_SHARDS"] = ""
        let loaded = try scene.load()
        #expect(loaded.faults == [])
        #expect(loaded.settings[.shards].origin == .standard)
    }

    @Test("a secret is not quoted, whatever is wrong with it")
    func secret() throws {
        try scene.write("token: [hush, hush]")
        #expect(
            try scene.faults()
                == ["DIR/reveille.yaml:1: token: a list is of no use here; give 1 to 4096 bytes of text"])
        try scene.write("token: " + String(repeating: "hush", count: 2000))
        #expect(
            try scene.faults()
                == ["DIR/reveille.yaml:1: token: the text has 8000 bytes; give 1 to 4096 bytes of text"])
    }

    static let misplaced: [String] = [
        "store: postgres://bob:ge@heim@h/d", "store: postgres://bob:ge/heim@h/d", "store: postgres://bob:ge?heim@h/d",
        "store: postgres://bob:100%zheim@h/d", "store: geheim", "data: postgres://bob:geheim@h/d",
        "postgres://bob:geheim@h/d: true",
        "authorize.url: https://bob:geheim@h/", "authorize.url: http://h/geheim?k=1",
        "authorize.url: https://h/geheim?k=geheim", "tokens.jwks_url: https://bob:geheim@h/",
        "authorize.url: https://geheim@h/", "authorize.url: http://h/geheim", "tokens.jwks_url: http://h/geheim",
        "listen.proxies: http://geheim@proxy", "data: POSTGRES://bob:geheim@h/d", "data: mysql://bob:ge@heim@h/d",
        "data: host=h password=geheim", "store: POSTGRES://bob:geheim@h/d", "store: host=h password=geheim",
        "tokens.jwks_url: https://h/?key=geheim", "listen.proxies: http://bob:geheim@proxy:3128",
        "listen.origins: https://bob:geheim@h", "turn.urls: turn:bob:geheim@h", "server: wss://bob:geheim@h",
        "push.webpush.subject: https://bob:geheim@h", "metrics.listen: bob:geheim@h:1",
        "admin.listen: 127.0.0.1:1\nadmin.token_file: geheim0123456789abcdef0123456789abcdef",
        "authorize.url: https://h/\nauthorize.secret_file: whsec_geheim", "tokens.secret_file: geheim=",
        "push.fcm.service_account: '{\"private_key\":\"geheim\"}'",
        "tls.certificate: a.pem\ntls.key: |\n  -----BEGIN PRIVATE KEY-----\n  geheim",
        "push.webpush.subject: mailto:a@b.example\npush.webpush.key: '-----BEGIN PRIVATE KEY----- geheim'",
        "webhooks.file: hooks.yaml", "node: whsec_geheim", "tokens.audience: eyJgeheim", "realm: rvb_geheim",
        "backend.tokens_file: rvb_geheim",
    ]

    @Test("a secret in a wrong place, or in a text that cannot be read, is shown nowhere", arguments: misplaced)
    func misplacedSecret(text: String) throws {
        try scene.write("- {name: a, secrets: [whsec_geheim\n", to: "hooks.yaml")
        try scene.write(text)
        let loaded = try scene.load()
        let shown = Setting.all.map {
            "\(loaded.settings.shown($0)) \(loaded.settings.plain($0).map { "\($0)" } ?? "")"
        }
        for words in shown + loaded.faults.map(\.description) {
            #expect(!words.contains("geheim") && !words.contains("heim@"), "\(words)")
        }
    }

    @Test("options that cannot be are the command line's fault; anything beside them is not")
    func ofCommandLine() throws {
        scene.flags.set(.shards, 0)
        scene.flags.set(.apnsKey, "a.p8")
        let wrong = #expect(throws: InvalidSettings.self) { try scene.load().serverConfiguration() }
        #expect(wrong?.isOfCommandLine == true)
        #expect(
            wrong?.description == """
                --apns-key: needs push.apns.key_id; push.apns.key, push.apns.key_id and push.apns.team_id go together
                --shards: 0 is out of range; give 1 to 64
                """
                || wrong?.description == """
                    --shards: 0 is out of range; give 1 to 64
                    --apns-key: needs push.apns.key_id; push.apns.key, push.apns.key_id and push.apns.team_id go together
                    """
        )
        scene.environment["REVEILLE_NODE"] = String(repeating: "x", count: 65)
        let mixed = #expect(throws: InvalidSettings.self) { try scene.load().serverConfiguration() }
        #expect(mixed?.isOfCommandLine == false)
    }

    @Test("what a file holds that an option names is not the command line's fault")
    func content() throws {
        scene.flags.set(.fcmServiceAccount, try scene.write("{}", to: "a.json"))
        let wrong = #expect(throws: InvalidSettings.self) { try scene.load().serverConfiguration() }
        #expect(wrong?.isOfCommandLine == false)
        #expect(
            wrong?.faults.map { $0.description.replacing(scene.folder, with: "DIR") }
                == ["--fcm-service-account: DIR/a.json: project_id: is missing"])
    }

    @Test("for a push, only what concerns pushes has to be right")
    func pushOnly() throws {
        try scene.write("listen.host: 0.0.0.0\npush.text.incoming_call: Ring")
        #expect(throws: InvalidSettings.self) { try scene.load().serverConfiguration() }
        #expect(try scene.load().pushConfiguration().texts.incomingCall == "Ring")
        try scene.write("push.apns.port: 0")
        #expect(throws: InvalidSettings.self) { try scene.load().pushConfiguration() }
    }
}
