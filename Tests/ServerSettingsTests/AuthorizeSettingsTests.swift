import CallCore
import CallServer
import OutgoingHTTP
import ServerSettings
import Testing
import WebhookClient

@Suite("Settings of the authorization hook")
struct AuthorizeSettingsTests {
    private let scene: Scene

    init() throws {
        scene = try Scene()
        try scene.write(
            "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", to: "secret")
        try scene.write("short\n", to: "bad")
    }

    private static let url = "authorize.url: https://backend.example.com/authorize\n"
    private static let file = "authorize.secret_file: DIR/secret\n"

    private func write(_ text: String) throws { try scene.write(text.replacing("DIR", with: scene.folder)) }

    @Test("are none, or the address with its secrets and the policy")
    func values() throws {
        #expect(try scene.load().serverConfiguration().authorization == nil)
        try write(Self.url + Self.file)
        #expect(try scene.faults() == [])
        let standard = try #require(try scene.load().serverConfiguration().authorization)
        #expect("\(standard.address)" == "https://backend.example.com" && standard.address.target == "/authorize")
        #expect(
            standard.secrets.count == 2
                && standard.secrets[0] == WebhookSecret("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"))
        #expect(standard.policy == AuthorizationPolicy())
        try write(
            Self.url + Self.file + "authorize.timeout_ms: 50\nauthorize.on_failure: allow\n"
                + "authorize.sessions: true\n")
        let policy = try scene.load().serverConfiguration().authorization?.policy
        #expect(policy?.timeout == .milliseconds(50) && policy?.allowsOnFailure == true)
        #expect(policy?.includesSessions == true && !standard.policy.includesSessions)
    }

    private static let mistakes: [(text: String, fault: String)] = [
        (url, "1: authorize.url: needs authorize.secret_file; the backend must know that this server asks"),
        (file, "1: authorize.secret_file: is of no use without authorize.url; give the address of the backend"),
        (
            file + "authorize.url: http://backend.example.com/\n",
            "2: authorize.url: the value is no address that can be asked; give one such as "
                + "https://backend.example.com/authorize; http:// only with "
                + "a numeric address of this machine or localhost"
        ),
        (
            url + "authorize.secret_file: DIR/bad\n",
            "2: authorize.secret_file: DIR/bad does not hold secrets of whsec_ and 24 to 64 bytes in Base64, one a "
                + "line; make one with: echo whsec_$(openssl rand -base64 32) > DIR/bad"
        ),
    ]

    @Test("name what is missing, and what is of no use", arguments: mistakes)
    func faults(text: String, fault: String) throws {
        try write(text)
        #expect(try scene.faults() == ["DIR/reveille.yaml:" + fault])
    }
}
