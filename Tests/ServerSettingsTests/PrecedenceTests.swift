import CallCore
import CallServer
import ServerSettings
import Testing

@Suite("Who goes before whom")
struct PrecedenceTests {
    private let scene: Scene

    init() throws { scene = try Scene() }

    @Test("an option goes before the environment, which goes before the file, which goes before the default")
    func order() throws {
        #expect(try scene.load().settings[.ringSeconds].origin == .standard)
        #expect(try scene.load().serverConfiguration().timers.ring == .seconds(45))
        try scene.write("calls:\n  ring_seconds: 50")
        #expect(try scene.load().settings[.ringSeconds].origin == .file(path: scene.file, line: 2))
        #expect(try scene.load().serverConfiguration().timers.ring == .seconds(50))
        scene.environment["REVEILLE_CALLS_RING_SECONDS"] = "60"
        #expect(try scene.load().settings[.ringSeconds].origin == .environment("REVEILLE_CALLS_RING_SECONDS"))
        #expect(try scene.load().serverConfiguration().timers.ring == .seconds(60))
        scene.flags.set(.ringSeconds, 70)
        #expect(try scene.load().settings[.ringSeconds].origin == .flag("--ring-seconds"))
        #expect(try scene.load().serverConfiguration().timers.ring == .seconds(70))
    }

    @Test("every type of value comes from the environment too")
    func environment() throws {
        scene.environment["REVEILLE_LISTEN_INSECURE"] = "yes"
        scene.environment["REVEILLE_LISTEN_HOST"] = "0.0.0.0"
        scene.environment["REVEILLE_PUSH_MISSED_CALLS"] = "alert"
        scene.environment["REVEILLE_PUSH_APNS_CERTIFICATE"] = "/a.pem,/b.pem"
        let loaded = try scene.load()
        #expect(loaded.faults.map(\.key) == ["push.apns.certificate", "push.apns.certificate"])
        #expect(loaded.settings.shown(.apnsCertificate) == "[/a.pem, /b.pem]")
        #expect(loaded.settings.shown(.listenInsecure) == "true")
        #expect(loaded.settings.shown(.missedCalls) == "alert")
    }

    @Test("the file is the one named, else that of the environment, else reveille.yaml in the data folder")
    func file() throws {
        #expect(try scene.loader(file: nil).load().path == nil)
        let inFolder = try scene.write("node: folder", to: "data/reveille.yaml")
        #expect(try scene.loader(file: nil).load().path == inFolder)
        #expect(try scene.loader(file: nil).load().serverConfiguration().node == "folder")
        let ofEnvironment = try scene.write("node: environment", to: "other.yaml")
        scene.environment["REVEILLE_CONFIG"] = ofEnvironment
        #expect(try scene.loader(file: nil).load().path == ofEnvironment)
        let named = try scene.write("node: named", to: "named.yaml")
        #expect(try scene.loader(file: named).load().serverConfiguration().node == "named")
    }

    @Test("the data folder is the option's, else the environment's, else the file's, else the standard one")
    func data() throws {
        scene.environment["REVEILLE_DATA"] = nil
        #expect(try scene.load().serverConfiguration().data.path == scene.folder + "/xdg/reveille")
        try scene.write("data: here")
        #expect(try scene.load().serverConfiguration().data.path == scene.folder + "/here")
        scene.environment["REVEILLE_DATA"] = "/there"
        #expect(try scene.load().serverConfiguration().data.path == "/there")
        scene.flags.set(.data, "/elsewhere")
        #expect(try scene.load().serverConfiguration().data.path == "/elsewhere")
    }

    @Test("a file that was found in the data folder cannot name another one")
    func dataInFolder() throws {
        try scene.write("data: /elsewhere", to: "data/reveille.yaml")
        #expect(
            try scene.loader(file: nil).load().faults.map { $0.description.replacing(scene.folder, with: "DIR") } == [
                "DIR/data/reveille.yaml:1: data: this file was found in the data folder, and cannot name another; "
                    + "take the line out, or name the file with --config"
            ])
    }

    @Test("a path in the file starts at the file; that of an option or a variable stays as it is")
    func paths() throws {
        try scene.write("push.apns.certificate: [a.pem, /b.pem]\ntls.key: keys/c.pem\ntls.certificate: d.pem")
        scene.flags.set(.tlsCertificate, "d.pem")
        let settings = try scene.load().settings
        #expect(settings.shown(.apnsCertificate) == "[\(scene.folder)/a.pem, /b.pem]")
        #expect(settings.shown(.tlsKey) == scene.folder + "/keys/c.pem")
        #expect(settings.shown(.tlsCertificate) == "d.pem")
    }
}
