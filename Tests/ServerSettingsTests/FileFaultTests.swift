import Foundation
import ServerSettings
import Testing

@Suite("What is wrong with a configuration file")
struct FileFaultTests {
    private let scene: Scene

    init() throws { scene = try Scene() }

    struct Case: CustomTestStringConvertible, Sendable {
        let file: String
        let faults: [String]
        var testDescription: String { file.replacing("\n", with: " | ") }

        init(_ file: String, _ faults: String...) {
            self.file = file
            self.faults = faults.map { "DIR/reveille.yaml:" + $0 }
        }
    }

    static let keys = [
        Case(
            "listen.prot: 1", "1: listen.prot: there is no such setting; did you mean listen.port?"),
        Case(
            "# a comment\n\nring_seconds: 10",
            "3: ring_seconds: there is no such setting; did you mean calls.ring_seconds?"),
        Case("calls:\n  ring: 10", "2: calls.ring: there is no such setting; did you mean calls.ring_seconds?"),
        Case(
            "calls:\n  ring_second: 10",
            "2: calls.ring_second: there is no such setting; did you mean calls.ring_seconds?"),
        Case("lsten:\n  port: 10", "1: lsten: there is no such setting; did you mean listen?"),
        Case("push:\n  apn:\n    key: x", "2: push.apn: there is no such setting; did you mean push.apns?"),
        Case(
            "limits.ring_seconds: 10",
            "1: limits.ring_seconds: there is no such setting; did you mean calls.ring_seconds?"),
        Case("ring-second: 10", "1: ring-second: there is no such setting; did you mean calls.ring_seconds?"),
        Case("foo: 1", "1: foo: there is no such setting; see reveille config reference"),
        Case("colour: blue", "1: colour: there is no such setting; see reveille config reference"),
        Case("listen: 7350", "1: listen: is a group of settings; give them below it, or as 'listen.host: …'"),
        Case(
            "listen.port: 1\nlisten:\n  port: 2",
            "3: listen.port: was given in line 1 already; keep one of them"),
        Case("node: a\nnode: b", "2: node: was given in line 1 already; keep one of them"),
        Case(
            "node: a\n'node': b\ncolour: blue\nlisten.port: http\nnode: c\nshards: 0",
            "2: node: was given in line 1 already; keep one of them",
            "3: colour: there is no such setting; see reveille config reference",
            "4: listen.port: 'http' is not a whole number; give 0 to 65535",
            "5: node: was given in line 1 already; keep one of them",
            "6: shards: 0 is out of range; give 1 to 64"),
        Case(
            "listen:\n  port: 1\n  \"port\": 2\nlisten:\n  host: x\ncalls: {waiting: true, waiting: maybe}",
            "1: listen: is given more than once; keep one of them",
            "3: listen.port: was given in line 2 already; keep one of them",
            "5: listen.host: 'x' is neither a numeric address nor localhost; give one such as 127.0.0.1 or ::1",
            "6: calls.waiting: was given in line 6 already; keep one of them"),
        Case("- a\n- b", "1: has no settings; give them as 'key: value'"),
        Case(
            "node: a\nlisten: [1",
            "3: is not YAML: did not find expected ',' or ']'; look at this line and the one before it"),
        Case("node: &a x\nlisten.host: *a", "2: has an alias (*name); write in its place what it stands for"),
        Case("node: 'a", "1: is not YAML: found unexpected end of stream; look at this line and the one before it"),
    ]

    static let values = [
        Case("listen.port: 70000", "1: listen.port: 70000 is out of range; give 0 to 65535"),
        Case("listen.port: http", "1: listen.port: 'http' is not a whole number; give 0 to 65535"),
        Case("listen.port: 7350.5", "1: listen.port: '7350.5' is not a whole number; give 0 to 65535"),
        Case("listen.port:", "1: listen.port: has no value; give 0 to 65535, or take the line out"),
        Case("listen.port: [1, 2]", "1: listen.port: a list is of no use here; give 0 to 65535"),
        Case(
            "listen:\n  port:\n    http: 1", "2: listen.port: it has no settings below it; give 0 to 65535"),
        Case("calls.ring_seconds: 4", "1: calls.ring_seconds: 4 is out of range; give 5 to 600 seconds"),
        Case("retention.calls_days: -1", "1: retention.calls_days: -1 is out of range; give 0 to 36500 days"),
        Case(
            "limits.replay_bytes: 1", "1: limits.replay_bytes: 1 is out of range; give 65536 to 67108864 bytes"),
        Case("calls.waiting: maybe", "1: calls.waiting: 'maybe' is neither true nor false; give true or false"),
        Case(
            "push.missed_calls: loud",
            "1: push.missed_calls: 'loud' is not known; give one of off, alert, background"),
        Case(
            "log.level: verbose",
            "1: log.level: 'verbose' is not known; "
                + "give one of trace, debug, info, notice, warning, error, critical"),
        Case("node: ''", "1: node: the text has 0 bytes; give 1 to 64 bytes of text"),
        Case("node: {a: b}", "1: node: it has no settings below it; give 1 to 64 bytes of text"),
        Case("data: ''", "1: data: the path is empty; give one path"),
        Case("push.apns.certificate: [a.pem, '']", "1: push.apns.certificate: a path is empty; give paths"),
        Case(
            "listen.host: example.org",
            "1: listen.host: 'example.org' is neither a numeric address nor localhost; "
                + "give one such as 127.0.0.1 or ::1"),
        Case(
            "admin.listen: here\nadmin.token_file: token",
            "1: admin.listen: 'here' is no address with a port; "
                + "give a numeric address or localhost, and a port, such as 127.0.0.1:7351 or [::1]:7351",
            "2: admin.token_file: cannot read DIR/token; check the path and its permissions"),
    ]

    static let combinations = [
        Case(
            "metrics.listen: here",
            "1: metrics.listen: 'here' is neither an address with a port nor off; "
                + "give a numeric address or localhost, and a port, such as 127.0.0.1:7352 or [::1]:7352, or off"),
        Case(
            "metrics.listen: 0.0.0.0:7352",
            "1: metrics.listen: 0.0.0.0:7352 can be reached from other machines, and this would be plain http://; "
                + "give tls.certificate and tls.key, or say listen.insecure, or listen on 127.0.0.1"),
        Case(
            "metrics.listen: 127.0.0.1:7350",
            "1: metrics.listen: 127.0.0.1:7350 is where clients connect; choose another port"),
        Case(
            "listen.host: 0.0.0.0",
            "1: listen.host: 0.0.0.0 can be reached from other machines, and this would be plain ws://; "
                + "give tls.certificate and tls.key, or put a TLS proxy in front and say listen.insecure (--insecure), "
                + "or listen on 127.0.0.1"),
        Case("tls.certificate: a.pem", "1: tls.certificate: is of no use without tls.key; give both, or neither"),
        Case("tls.key: a.pem", "1: tls.key: is of no use without tls.certificate; give both, or neither"),
        Case(
            "tls.certificate: a.pem\ntls.key: b.pem",
            "1: tls.certificate: cannot read DIR/a.pem; check the path and its permissions",
            "2: tls.key: cannot read DIR/b.pem; check the path and its permissions"),
        Case(
            "push.apns.key: a.p8",
            "1: push.apns.key: needs push.apns.key_id; "
                + "push.apns.key, push.apns.key_id and push.apns.team_id go together"),
        Case(
            "push.apns.team_id: ABCDE12345",
            "1: push.apns.team_id: needs push.apns.key; "
                + "push.apns.key, push.apns.key_id and push.apns.team_id go together"),
        Case(
            "push.apns.key: a.p8\npush.apns.key_id: ABC\npush.apns.team_id: ABCDE123456",
            "1: push.apns.key: cannot read DIR/a.p8; check the path and its permissions",
            "2: push.apns.key_id: 'ABC' has 3 characters; give the 10 characters that the developer account shows",
            "3: push.apns.team_id: 'ABCDE123456' has 11 characters; "
                + "give the 10 characters that the developer account shows"),
        Case(
            "push.apns.certificate: [a.pem, b.pem]\npush.apns.certificate_key: [c.pem]",
            "2: push.apns.certificate_key: there are 1 keys for 2 certificates; "
                + "give one for each push.apns.certificate, or none when they are in the same files"),
        Case(
            "push.simulator: true\npush.fcm.service_account: a.json",
            "1: push.simulator: pushes go either to the simulator or to the real push services, and "
                + "push.fcm.service_account was given too; give one or the other"),
        Case(
            "push.simulator: true\npush.webpush.subject: mailto:a@b.example",
            "1: push.simulator: pushes go either to the simulator or to the real push services, and "
                + "push.webpush.subject was given too; give one or the other"),
        Case(
            "push.webpush.subject: admin@example.org",
            "1: push.webpush.subject: 'admin@example.org' is no contact; give an address such as "
                + "mailto:admin@example.org, or a page such as https://example.org/contact"),
        Case(
            "push.webpush.hosts: a.example",
            "1: push.webpush.hosts: needs push.webpush.subject; give a contact, such as mailto:admin@example.org"),
        Case(
            "push.webpush.subject: mailto:a@b.example\npush.webpush.hosts: 'a.example, https://b.example'",
            "2: push.webpush.hosts: 'https://b.example' is no host; give hosts with commas between them, such as "
                + "fcm.googleapis.com, *.push.services.mozilla.com"),
        Case(
            "push.webpush.subject: mailto:a@b.example\npush.webpush.hosts: ', '",
            "2: push.webpush.hosts: '' is no host; give hosts with commas between them, such as "
                + "fcm.googleapis.com, *.push.services.mozilla.com"),
        Case("push.simulator: true", "1: push.simulator: no simulator"),
        Case("push.simulator_data: sim", "1: push.simulator_data: no simulator"),
        Case(
            "push.fcm.ios_alerts: true",
            "1: push.fcm.ios_alerts: FCM: maps_ios_alerts: alerts cannot go through FCM without a service account"),
        Case(
            "admin.listen: 127.0.0.1:7351",
            "1: admin.listen: needs admin.token_file; "
                + "make one with: openssl rand -hex 32 > FILE, readable by the server only"),
        Case(
            "admin.token_file: a",
            "1: admin.token_file: there is no admin.listen that would ask for the token; give both, or neither"),
    ]

    @Test("a key that is none", arguments: keys)
    func wrongKey(_ expected: Case) throws { try check(expected) }

    @Test("a value that is none", arguments: values)
    func wrongValue(_ expected: Case) throws { try check(expected) }

    @Test("settings that do not go together, or need another", arguments: combinations)
    func wrongTogether(_ expected: Case) throws { try check(expected) }

    private func check(_ expected: Case) throws {
        try scene.write(expected.file)
        #expect(try scene.faults() == expected.faults)
    }

    @Test("every fault is said at once, in the order of the file, then those of the environment and the options")
    func all() throws {
        try scene.write("listen:\n  port: x\n  host: 0.0.0.0\nnod: a\ncalls.ring_seconds: 1\n")
        scene.environment["REVEILLE_SHARDS"] = "many"
        scene.flags.set(.node, "")
        let loaded = try scene.load()
        #expect(
            loaded.faults.map(\.key) == ["listen.port", "listen.host", "nod", "calls.ring_seconds", "shards", "node"])
        #expect(throws: InvalidSettings.self) { try loaded.serverConfiguration() }
        #expect(
            try scene.faults().suffix(2) == [
                "environment REVEILLE_SHARDS: 'many' is not a whole number; give 1 to 64",
                "--node: the text has 0 bytes; give 1 to 64 bytes of text",
            ])
    }

    @Test("a value is checked even where another source goes before it")
    func overridden() throws {
        try scene.write("shards: x")
        scene.environment["REVEILLE_SHARDS"] = "0"
        scene.flags.set(.shards, 2)
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:1: shards: 'x' is not a whole number; give 1 to 64",
                "environment REVEILLE_SHARDS: 0 is out of range; give 1 to 64",
            ])
    }

    @Test("a file that is not there, or is no text, cannot be read at all")
    func unreadable() throws {
        #expect {
            try scene.loader(file: scene.folder + "/none.yaml").load()
        } throws: { error in
            "\(error)"
                == "\(scene.folder)/none.yaml: cannot be read; check path and permissions, or name another with --config"
        }
        let image = scene.folder + "/image.yaml"
        try Data([0xFF, 0xD8, 0xFF]).write(to: URL(fileURLWithPath: image))
        #expect {
            try scene.loader(file: image).load()
        } throws: { error in "\(error)" == "\(image): is not text; the configuration is given in YAML" }
    }

    @Test("a file in the data folder that leads nowhere, or is too large, is not taken for none")
    func unread() throws {
        for file in ["reveille.yaml", "client-token.key", "backend-tokens"] {
            let path = scene.folder + "/data/" + file
            for isLink in [true, false] {
                try? FileManager.default.removeItem(atPath: path)
                if isLink {
                    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".none")
                } else {
                    try Data(repeating: 0x23, count: (1 << 20) + 1).write(to: URL(fileURLWithPath: path))
                }
                let said: String
                do {
                    said = try scene.loader(file: nil).load().errors.map(\.description).joined(separator: "\n")
                } catch {
                    said = "\(error)"
                }
                #expect(said.contains(path) && said.contains("permissions"), "\(said)")
            }
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test("a file with nothing but comments, or nothing at all, says nothing", arguments: ["", "# a\n", "\n\n"])
    func empty(text: String) throws {
        try scene.write(text)
        let loaded = try scene.load()
        #expect(loaded.faults == [])
        #expect(Setting.all.filter { loaded.settings[$0].origin != .standard }.map(\.key) == ["data"])
    }
}
