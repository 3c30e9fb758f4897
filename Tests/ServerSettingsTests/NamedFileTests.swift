import CallServer
import EventLoop
import Foundation
import LibWebSockets
import PushClient
import PushCore
import ServerSettings
import TLS
import Testing

@Suite("The files that settings name")
struct NamedFileTests {
    private static let tls = "tls.certificate: server.pem\ntls.key: server.key\n"

    private func scene(certificate: String, key: String, permissions: Int = 0o600) throws -> Scene {
        let scene = try Scene()
        try scene.write(certificate, to: "server.pem", permissions: 0o644)
        try scene.write(key, to: "server.key", permissions: permissions)
        try scene.write(Self.tls)
        return scene
    }

    @Test("a certificate and its key let a server listen beyond this machine")
    func good() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM)
        try scene.write(Self.tls + "listen.host: 0.0.0.0\n")
        #expect(try scene.faults() == [])
        let tls = try scene.load().serverConfiguration().tls
        #expect(tls?.certificateFile == scene.folder + "/server.pem")
        #expect(tls?.keyFile == scene.folder + "/server.key")
    }

    @Test("the key of another certificate is refused")
    func otherKey() throws {
        let scene = try scene(
            certificate: TestCertificate(days: 90).certificatePEM, key: TestCertificate(days: 90).keyPEM)
        let faults = try scene.faults()
        #expect(faults.count == 1)
        #expect(
            faults.first?.hasPrefix("DIR/reveille.yaml:2: tls.key: DIR/server.key is not the key of DIR/server.pem (")
                == true)
        #expect(faults.first?.hasSuffix("; give the key that the certificate was made for") == true)
    }

    @Test("what is no certificate and no key in PEM is named as such")
    func noPEM() throws {
        let scene = try scene(certificate: "certificate", key: "key")
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:1: tls.certificate: DIR/server.pem holds no certificate in PEM; "
                    + "give a file with -----BEGIN CERTIFICATE-----",
                "DIR/reveille.yaml:2: tls.key: DIR/server.key holds no private key in PEM; "
                    + "give a file with -----BEGIN PRIVATE KEY-----",
            ])
        let pair = try TestCertificate(days: 90)
        let encrypted = try self.scene(
            certificate: pair.certificatePEM, key: pair.keyPEM.replacing("PRIVATE KEY", with: "ENCRYPTED PRIVATE KEY"))
        #expect(
            try encrypted.faults() == [
                "DIR/reveille.yaml:2: tls.key: DIR/server.key is encrypted, and nobody is there to give the "
                    + "passphrase; decrypt it with: openssl pkey -in DIR/server.key -out FILE"
            ])
    }

    @Test(
        "a certificate that is over or not yet good is refused as the server would refuse it; a near end is a warning",
        arguments: [(-1.5, -100.0), (20.5, -100), (90, 2.5), (22, -1)])
    func expiry(days: Double, start: Double) throws {
        let pair = try TestCertificate(days: days, startsIn: start)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM)
        let warning: String? =
            if days < 0 {
                "has expired on \(TestCertificate.day(in: days)); clients refuse it: renew it and send SIGHUP"
            } else if days < 21 {
                "expires on \(TestCertificate.day(in: days)); renew it and send SIGHUP"
            } else if start > 0 {
                "is not valid before \(TestCertificate.day(in: start)); "
                    + "clients refuse it until then: check the clock of this machine"
            } else {
                nil
            }
        let isRefused = days < 0 || start > 0
        let kind = isRefused ? "" : "warning: "
        #expect(
            try scene.faults()
                == (warning.map { ["\(kind)DIR/reveille.yaml:1: tls.certificate: DIR/server.pem \($0)"] } ?? []))
        if isRefused {
            #expect(throws: InvalidSettings.self) { _ = try scene.load().serverConfiguration() }
        } else {
            let loaded = try scene.load()
            _ = try loaded.serverConfiguration()
            // The server warns of its listeners' certificates: once is enough.
            #expect(loaded.warningsToLog == [])
        }
    }

    @Test("an issuer's certificate that is over is refused, and one that is missing or another's is a warning")
    func chain() throws {
        let root = try TestCertificate(days: 90, name: "root")
        func faults(middleDays: Double, _ chain: (_ leaf: String, _ middle: String) -> String) throws -> [String] {
            let middle = try TestCertificate(days: middleDays, name: "middle", issuer: root)
            let leaf = try TestCertificate(days: 90, issuer: middle)
            let scene = try scene(
                certificate: chain(leaf.certificatePEM, middle.certificatePEM), key: leaf.keyPEM)
            let loaded = try scene.load()
            #expect(loaded.warningsToLog.count == loaded.faults.count { $0.kind == .warning })
            return try scene.faults()
        }
        let place = "DIR/reveille.yaml:1: tls.certificate: DIR/server.pem: "
        let advice = "; clients that do not know the issuer refuse it: give the whole chain, such as fullchain.pem"
        #expect(try faults(middleDays: 90) { $0 + $1 } == [])
        #expect(try faults(middleDays: 90) { $0 + $1 + root.certificatePEM } == [])
        #expect(
            try faults(middleDays: -1.5) { $0 + $1 } == [
                "warning: \(place)certificate 2 of the file (/CN=middle) has expired on "
                    + "\(TestCertificate.day(in: -1.5)); clients that need it refuse the server: renew it, or leave it "
                    + "out, and send SIGHUP"
            ])
        #expect(
            try faults(middleDays: 20.5) { $0 + $1 } == [
                "warning: \(place)certificate 2 of the file (/CN=middle) expires on \(TestCertificate.day(in: 20.5)); "
                    + "renew it and send SIGHUP"
            ])
        #expect(
            try faults(middleDays: 90) { leaf, _ in leaf } == [
                "warning: \(place)the certificate stands alone, without that of its issuer (/CN=middle)\(advice)"
            ])
        #expect(
            try faults(middleDays: 90) { leaf, _ in leaf + root.certificatePEM } == [
                "warning: \(place)certificate 2 of the file (/CN=root) has not signed the one before it\(advice)"
            ])
    }

    @Test("the files that were read are those that the next start needs, and one that is gone or empty is missing")
    func needed() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM)
        try scene.write("0123456789abcdef\n", to: "token")
        try scene.write("", to: "webhooks.yaml")
        try scene.write(
            "admin.listen: 127.0.0.1:7351\nadmin.token_file: token\nwebhooks.file: webhooks.yaml\n" + Self.tls)
        let files = try scene.load().namedFiles
        let settings = ["admin.token_file", "the settings", "tls.certificate", "tls.key", "webhooks.file"]
        #expect(files.map(\.setting).sorted() == settings)
        #expect(files.allSatisfy { !$0.isMissing })
        for file in files {
            try Data().write(to: URL(fileURLWithPath: file.path))
            // It was empty at the start.
            #expect(file.isMissing == (file.setting != "webhooks.file"), "\(file.setting)")
            try FileManager.default.removeItem(atPath: file.path)
            #expect(file.isMissing, "\(file.setting)")
            try FileManager.default.createDirectory(atPath: file.path, withIntermediateDirectories: false)
            #expect(file.isMissing, "\(file.setting)")
        }
    }

    @Test("an authority of administrators' certificates that is over, or soon is, is a warning")
    func authorities() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM)
        try scene.write("0123456789abcdef\n", to: "token")
        let old = try TestCertificate(days: -1.5, name: "old").certificatePEM
        let next = try TestCertificate(days: 20.5, name: "next").certificatePEM
        try scene.write(
            "admin.listen: 127.0.0.1:7351\nadmin.token_file: token\nadmin.client_ca: admins.pem\n" + Self.tls)
        try scene.write(pair.certificatePEM + old + next, to: "admins.pem")
        let place = "warning: DIR/reveille.yaml:3: admin.client_ca: DIR/admins.pem: certificate "
        #expect(
            try scene.faults() == [
                "\(place)2 of the file (/CN=old) has expired on \(TestCertificate.day(in: -1.5)); "
                    + "its administrators cannot connect: renew or remove it and restart",
                "\(place)3 of the file (/CN=next) expires on \(TestCertificate.day(in: 20.5)); renew it and restart",
            ])
    }

    @Test("a key that every user can read is a warning")
    func permissions() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM, permissions: 0o604)
        #expect(
            try scene.faults() == [
                "warning: DIR/reveille.yaml:2: tls.key: DIR/server.key can be read by every user of this machine; "
                    + "remove that right: chmod o-r DIR/server.key"
            ])
    }

    @Test("a link to a key is judged by the key, and a file that every user can write is a warning")
    func links() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM, permissions: 0o600)
        let key = scene.folder + "/server.key"
        try FileManager.default.moveItem(atPath: key, toPath: key + "-2")
        try FileManager.default.createSymbolicLink(atPath: key, withDestinationPath: key + "-2")
        #expect(try scene.faults() == [])
        let certificate = scene.folder + "/server.pem"
        try FileManager.default.setAttributes([.posixPermissions: 0o646], ofItemAtPath: certificate)
        #expect(
            try scene.faults() == [
                "warning: DIR/reveille.yaml:1: tls.certificate: DIR/server.pem can be written by every user of this "
                    + "machine; remove that right: chmod o-w DIR/server.pem"
            ])
    }

    @Test(
        "a settings file with a password or a token that every user can read is a warning",
        arguments: ["store: postgres://reveille:secret@127.0.0.1/reveille", "token: secret-secret-secret"])
    func password(line: String) throws {
        let scene = try Scene()
        try scene.write(line)
        let file = scene.folder + "/reveille.yaml"
        for (mode, faults) in [(0o600, 0), (0o644, 1), (0o666, 2)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            let found = try scene.faults()
            #expect(found.count == faults)
            #expect(found.allSatisfy { $0.contains("every user of this machine") && !$0.contains("secret") })
        }
        try scene.write("store: postgres://reveille@127.0.0.1/reveille")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        #expect(try scene.faults() == [])
    }

    @Test("a settings file that every user can write is a warning, and a folder in which they can replace files, once")
    func writable() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM)
        let (file, folder) = (scene.folder + "/reveille.yaml", scene.folder)
        func faults(file mode: Int, folder folderMode: Int) throws -> [String] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            try FileManager.default.setAttributes([.posixPermissions: folderMode], ofItemAtPath: folder)
            return try scene.faults()
        }
        #expect(try faults(file: 0o644, folder: 0o755) == [])
        #expect(
            try faults(file: 0o666, folder: 0o755) == [
                "warning: DIR/reveille.yaml:1: DIR/reveille.yaml can be written by every user of this machine; "
                    + "remove that right: chmod o-w DIR/reveille.yaml"
            ])
        let replaceable = try faults(file: 0o644, folder: 0o777)
        #expect(replaceable.count == 1 && replaceable[0].contains(" can be written by every user"), "\(replaceable)")
        #expect(try faults(file: 0o644, folder: 0o1777) == [])
        #expect(try faults(file: 0o644, folder: 0o755) == [])
    }

    @Test(
        "an administrators' token has one line, and cannot be guessed",
        arguments: ["", "short\n", "0123456789abcdef\n0123456789abcdef\n", "0123456789 abcdef\n"])
    func badToken(text: String) throws {
        let scene = try Scene()
        try scene.write(text, to: "token")
        try scene.write("admin.listen: 127.0.0.1:7351\nadmin.token_file: token")
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:2: admin.token_file: DIR/token does not hold one line of 16 characters or more, "
                    + "of A-Z a-z 0-9 - . _ ~ + / =; "
                    + "make one with: openssl rand -hex 32 > DIR/token"
            ])
    }

    @Test("administrators are let in by the token, with TLS if clients have it, and beyond this machine only so")
    func admin() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM)
        try scene.write("0123456789abcdef\n", to: "token")
        let admin = "admin.listen: 0.0.0.0:7351\nadmin.token_file: token\n"
        try scene.write(admin)
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:1: admin.listen: 0.0.0.0:7351 can be reached from other machines, and the token "
                    + "would go there unencrypted; give tls.certificate and tls.key, or listen on 127.0.0.1"
            ])
        try scene.write(admin + Self.tls)
        let configuration = try #require(try scene.load().serverConfiguration().admin)
        #expect("\(configuration.address)" == "0.0.0.0:7351")
        #expect(configuration.token == "0123456789abcdef")
        #expect(configuration.tls?.keyFile == scene.folder + "/server.key")
        try scene.write("admin.listen: '[::1]:7350'\nlisten.host: ::1\nadmin.token_file: token")
        #expect(
            try scene.faults()
                == ["DIR/reveille.yaml:1: admin.listen: [::1]:7350 is where clients connect; choose another port"])
    }

    @Test("administrators' certificates are asked for with TLS only, and their authorities are read")
    func adminCertificates() throws {
        let pair = try TestCertificate(days: 90)
        let scene = try scene(certificate: pair.certificatePEM, key: pair.keyPEM)
        try scene.write("0123456789abcdef\n", to: "token")
        try scene.write("0123456789abcdef-read\n", to: "read")
        try scene.write("nothing", to: "none.pem")
        let admin = "admin.listen: 127.0.0.1:7351\nadmin.token_file: token\nadmin.read_token_file: read\n"
        try scene.write(
            admin + "admin.client_ca: server.pem\nadmin.client_names: ops-1,  monitor.example.org\n" + Self.tls)
        let listener = try #require(try scene.load().serverConfiguration().admin)
        #expect(listener.readToken == "0123456789abcdef-read")
        #expect(listener.clientAuthorities == scene.folder + "/server.pem")
        #expect(listener.clientNames == ["ops-1", "monitor.example.org"])
        for (text, reason) in [
            (admin + "admin.client_ca: server.pem", "4: admin.client_ca: without TLS no client shows a certificate"),
            (
                admin + "admin.client_ca: none.pem\n" + Self.tls,
                "4: admin.client_ca: DIR/none.pem: this holds no certificate"
            ),
            (admin + "admin.client_names: ops", "4: admin.client_names: needs admin.client_ca"),
            (
                admin + "admin.client_ca: server.pem\nadmin.client_names: 'ops,,'\n" + Self.tls,
                "5: admin.client_names: 'ops,,' is no list of names"
            ),
            ("admin.read_token_file: read", "1: admin.read_token_file: there is no admin.listen that it would be for"),
        ] {
            try scene.write(text)
            let faults = try scene.faults()
            #expect(faults.count == 1 && faults[0].hasPrefix("DIR/reveille.yaml:" + reason), "\(faults)")
        }
    }

    @Test("push credentials that cannot be used are named with the setting that they came from")
    func pushCredentials() throws {
        let scene = try Scene()
        let pair = try TestCertificate(days: 90)
        try scene.write(pair.keyPEM, to: "key.p8")
        try scene.write(pair.certificatePEM + pair.keyPEM, to: "voip.pem")
        let key = "push.apns.key: key.p8\npush.apns.key_id: ABCDE12345\npush.apns.team_id: ABCDE12345\n"
        try scene.write(key)
        #expect(try scene.faults() == [])
        #expect(try scene.load().serverConfiguration().push.apns.count == 2)
        try scene.write(key + "push.apns.port: 2195")
        let port = try scene.faults()
        #expect(port.count == 1)
        #expect(port.first?.hasPrefix("DIR/reveille.yaml:4: push.apns.port: APNs production: port: ") == true)
        try scene.write("push.apns.certificate: voip.pem\npush.fcm.service_account: key.p8")
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:1: push.apns.certificate: DIR/voip.pem: certificate: it names no topic: "
                    + "it is not a push certificate of the developer account",
                "DIR/reveille.yaml:2: push.fcm.service_account: DIR/key.p8: this is not the JSON of a service account key",
            ])
        try scene.write("nonsense", to: "key.p8")
        try scene.write(key)
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:1: push.apns.key: APNs sandbox: key: "
                    + "the key ABCDE12345 is not a P-256 private key in PEM (.p8)"
            ]
                || (try scene.faults()) == [
                    "DIR/reveille.yaml:1: push.apns.key: APNs production: key: "
                        + "the key ABCDE12345 is not a P-256 private key in PEM (.p8)"
                ])
    }

    @Test(
        "a template that cannot be used, and a profile that does not exist, are refused with the place and the remedy",
        arguments: [
            (
                "mine.json", #"{"voip":{"a":{"b":"${nam}"}}}"#, "",
                "DIR/mine.json: voip.a.b: there is no placeholder ${nam}; known: "
            ),
            ("mine.json", "{", "", "DIR/mine.json: not valid JSON: "),
            (
                "Mine.json", "{}", "",
                "'Mine' is not a name for a profile; rename DIR/Mine.json: 1 to 64 of a-z, 0-9, _ and -"
            ),
            ("linphone.json", "{}", "", "there is a profile linphone already; rename DIR/linphone.json"),
            ("mine.json", nil, "", "cannot read DIR/mine.json"),
            ("mine.json", "{}", "com.example.app", "'com.example.app' is not a pair; give TOPIC=PROFILE, such as "),
            (
                "mine.json", "{}", "com.example.app=nobody",
                "there is no profile 'nobody'; give one of callkeep_flutter, callkeep_react_native, "
            ),
            ("mine.json", "{}", "com.example.app=mine", nil),
        ] as [(String, String?, String, String?)])
    func templates(name: String, json: String?, choice: String, words: String?) throws {
        let scene = try Scene()
        if let json { try scene.write(json, to: name) }
        try scene.write("push.templates: [\(name)]\n" + (choice.isEmpty ? "" : "push.profiles: \(choice)\n"))
        let faults = try scene.faults()
        if let words {
            #expect(faults.count == 1 && faults[0].contains(words), "\(faults)")
        } else {
            #expect(faults == [])
            #expect(try scene.load().serverConfiguration().push.profiles["mine"] != nil)
        }
    }

    @Test(
        "the VAPID key is read, a file that is none is refused without its text, and without one the server's is used"
    )
    func webPushKey() throws {
        let scene = try Scene()
        let key = WebPushKey.random()
        try scene.write(key.pem, to: "webpush.pem", permissions: 0o600)
        try scene.write("push.webpush.subject: mailto:a@b.example\npush.webpush.key: webpush.pem")
        #expect(try scene.faults() == [])
        let webPush = try #require(try scene.load().serverConfiguration().push.webPush)
        #expect(webPush.key == key && webPush.subject == "mailto:a@b.example")
        #expect(webPush.hosts.map(\.description) == WebPushEndpoint.standardHosts)
        try scene.write(
            "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----", to: "webpush.pem", permissions: 0o600)
        #expect(
            try scene.faults() == [
                "DIR/reveille.yaml:2: push.webpush.key: DIR/webpush.pem: key: this is no P-256 private key in PEM "
                    + "(openssl ecparam -name prime256v1 -genkey -noout)"
            ])
        try scene.write(
            "push.webpush.subject: mailto:a@b.example\npush.webpush.hosts: '127.0.0.1:9, *.push.example.org'")
        let other = try #require(try scene.load().serverConfiguration().push.webPush)
        #expect(other.key == nil && other.hosts.map(\.description) == ["127.0.0.1:9", "*.push.example.org"])
    }

    @Test("a key that was given in place of its file is not quoted")
    func keyForFile() throws {
        let scene = try Scene()
        scene.flags.set(.fcmServiceAccount, "AAAA:secret")
        #expect(
            try scene.faults() == [
                "--fcm-service-account: cannot read what was given; it takes the path of a file; "
                    + "check the path and its permissions"
            ])
    }
}
