import CallServer
import ServerSettings
import Testing

@Suite("Settings of TURN servers")
struct TurnSettingsTests {
    private let scene: Scene

    init() throws {
        scene = try Scene()
        try scene.write("north\nsouth\n", to: "secret")
        try scene.write("\n", to: "empty")
    }

    private func write(_ text: String) throws { try scene.write(text.replacing("DIR", with: scene.folder)) }

    @Test("are none, or the addresses with the first line of the secret's file")
    func values() throws {
        #expect(try scene.load().serverConfiguration().turn == nil)
        try write(
            "turn.urls: 'turn:a.example, turns:[2001:db8::1]:443?transport=tcp,stun:b.example:3478'\n" + Self.file)
        #expect(try scene.faults() == [])
        #expect(
            try scene.load().serverConfiguration().turn
                == TurnConfiguration(
                    urls: ["turn:a.example", "turns:[2001:db8::1]:443?transport=tcp", "stun:b.example:3478"],
                    secret: "north", secretFile: "\(scene.folder)/secret"))
        try write("turn.urls: turn:a.example\nturn.ttl_seconds: 60\n" + Self.file)
        #expect(try scene.load().serverConfiguration().turn?.lifetime == .seconds(60))
    }

    private static let file = "turn.secret_file: DIR/secret\n"

    @Test(
        "name what is missing, and what is of no use",
        arguments: [
            (
                "turn.urls: turn:a.example\n",
                "1: turn.urls: needs turn.secret_file; TURN servers refuse clients without credentials"
            ),
            (file, "1: turn.secret_file: is of no use without turn.urls; give the addresses of the TURN servers"),
            (
                "turn.urls: turn:a.example, b.example:3478\n" + file,
                "1: turn.urls: 'b.example:3478' is no address of a TURN or STUN server; give one such as turn:turn.example.com:3478"
            ),
            (
                "turn.urls: turn:a.example\nturn.secret_file: DIR/empty\n",
                "DIR/reveille.yaml:2: turn.secret_file: DIR/empty is empty; make a secret with: openssl rand -hex 32 > DIR/empty"
            ),
        ])
    func faults(text: String, fault: String) throws {
        try write(text)
        #expect(try scene.faults() == [fault.hasPrefix("DIR") ? fault : "DIR/reveille.yaml:" + fault])
    }
}
