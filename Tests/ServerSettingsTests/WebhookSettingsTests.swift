import CallServer
import CallVocabulary
import OutgoingHTTP
import ServerSettings
import StoreInterface
import Testing
import WebhookClient

@Suite("The file of webhook endpoints")
struct WebhookSettingsTests {
    private let scene: Scene
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    init() throws { scene = try Scene() }

    private func write(_ endpoints: String) throws {
        try scene.write(endpoints, to: "webhooks.yaml")
        try scene.write("webhooks.file: \(scene.folder)/webhooks.yaml\n")
    }

    @Test("has endpoints with name, address, secrets and events; without the last, all of them")
    func values() throws {
        #expect(try scene.load().serverConfiguration().webhooks == [])
        try write("# none yet\n")
        #expect(try scene.load().serverConfiguration().webhooks == [])
        try write(
            """
            - name: billing
              url: https://billing.example.com/events?a=1
              secrets: [\(Self.secret), whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3]
              events: [call.ended, push.*]
            - {name: all-of.them_2, url: "http://127.0.0.1:9000/", secrets: \(Self.secret)}
            """)
        #expect(try scene.faults() == [])
        let endpoints = try scene.load().serverConfiguration().webhooks
        #expect(endpoints.map(\.name) == ["billing", "all-of.them_2"])
        #expect(endpoints.map(\.secrets.count) == [2, 1])
        #expect(endpoints[0].kinds == [.callEnded, .pushRejected, .pushUnreported])
        #expect(endpoints[1].kinds == Set(EventKind.allCases))
        #expect(endpoints[0].address.target == "/events?a=1")
    }

    private static let rest = "url: https://x.example/, secrets: \(secret)"

    @Test(
        "a fault names the line, and what to do",
        arguments: [
            ("name: billing\n", "1 is no list of endpoints; begin each endpoint with '- name: …'"),
            ("- &a {\(rest)}\n- *a\n", "2 has an alias (*name); write in its place what it stands for"),
            ("- billing\n", "1 is no endpoint; give name, url and secrets"),
            ("- {\(rest)}\n", "1 has no name; give one of 1 to 64 letters, digits, - _ ."),
            (
                "- {name: a b, \(rest)}\n",
                "1 has a name that is not allowed; give one of 1 to 64 letters, digits, - _ ."
            ),
            (
                "- {name: a, \(rest), event: call.ended}\n",
                "1 has 'event', which no endpoint has; an endpoint has name, url, secrets, events"
            ),
            (
                "- name: a\n  secrets: \(secret)\n  url: http://example.com/\n",
                "3 has no address for 'a' that events can be sent to; give url: https://…; http:// only with a numeric "
                    + "address of this machine or localhost"
            ),
            (
                "- name: a\n  url: https://x.example/\n  secrets: [\(secret), s3cret]\n",
                "3 has no valid secrets for 'a'; give 1 to 4 as secrets: [whsec_…]; make one with: "
                    + "echo whsec_$(openssl rand -base64 32)"
            ),
            ("- {name: a, \(rest), events: []}\n", "1 has no events for 'a'; leave events out for all of them"),
            (
                "- {name: a, \(rest)}\n- {name: a, \(rest)}\n",
                "2 has two endpoints called 'a'; give each its own name"
            ),
            (
                (0..<17).map { "- {name: a\($0), \(rest)}\n" }.joined(),
                "1 has more than 16 endpoints; send events on from one of them"
            ),
        ])
    func faults(text: String, fault: String) throws {
        try write(text)
        let file = "DIR/webhooks.yaml"
        #expect(try scene.faults() == ["DIR/reveille.yaml:1: webhooks.file: \(file):\(fault)"])
    }

    @Test("all faults of an endpoint are told at once")
    func several() throws {
        try write("- name: a b\n  url: http://example.com/\n  secrets: [abc]\n  events: [call.foo]\n  extra: 1\n")
        #expect(try scene.faults().count == 5)
    }

    @Test("an unknown event is named with those that there are, and a secret is not shown")
    func unknown() throws {
        try write("- {name: a, \(Self.rest), events: [call.ended, calls.end]}\n")
        let faults = try scene.faults()
        #expect(faults.count == 1 && faults[0].contains("'calls.end'") && faults[0].contains("call.invited"))
        try write("- {name: a, url: https://x.example/, secrets: whsec_short}\n")
        #expect(try scene.faults().allSatisfy { !$0.contains("whsec_short") })
        try write("- {name: a\n")
        #expect(try scene.faults().first?.contains("is not YAML") == true)
    }

    @Test("events are kept for seven days, or as long as the operator says")
    func retention() throws {
        #expect(try scene.load().serverConfiguration().retention.events == RetentionPolicy.standardEvents)
        try scene.write("retention.events_days: 30\n")
        #expect(try scene.load().serverConfiguration().retention.events == .seconds(30 * 86_400))
    }
}
