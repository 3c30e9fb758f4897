import Foundation
import LibWebSockets
import TLS
import TestCertificates
import TestCleanup
import Testing
import WebSocketServer

@Suite("A certificate and its key", .cleanup)
struct TLSCertificateTests {
    private func failure(_ identity: TLSFiles) -> String? {
        do throws(TLSCertificate.Failure) {
            _ = try TLSCertificate(identity)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("are read with the end of their validity", arguments: [TestIdentity.Key.elliptic, .rsa])
    func good(key: TestIdentity.Key) async throws {
        let identity = try await TestIdentity(key: key)
        let certificate = try TLSCertificate(identity.files)
        let left = certificate.expiresAt - Int64(Date().timeIntervalSince1970)
        #expect((2 * 86_400 - 120...2 * 86_400).contains(Int(left)))
    }

    @Test("that do not belong together are refused with the key's file")
    func mismatch() async throws {
        let (one, two) = (try await TestIdentity(), try await TestIdentity(key: .rsa))
        let mixed = TLSFiles(certificateFile: one.files.certificateFile, keyFile: two.files.keyFile)
        #expect(
            failure(mixed)
                == "\(two.files.keyFile): the key does not belong to the certificate in \(one.files.certificateFile)")
    }

    @Test("of which one is missing, is no PEM or is broken are refused with the file and the reason")
    func unreadable() async throws {
        let identity = try await TestIdentity()
        let (certificate, key) = (identity.files.certificateFile, identity.files.keyFile)
        let text = identity.path("text.pem")
        try "no certificate at all\n".write(toFile: text, atomically: true, encoding: .utf8)
        // The first one is whole, the second is not.
        let whole = try String(contentsOfFile: certificate, encoding: .utf8)
        let broken = identity.path("broken.pem")
        try (whole + whole.replacingOccurrences(of: "MII", with: "M#I"))
            .write(toFile: broken, atomically: true, encoding: .utf8)
        let locked = identity.path("locked.pem")
        try await identity.openssl(["ec", "-in", key, "-aes128", "-passout", "pass:secret", "-out", locked])
        let noCertificate = "this holds no certificate in PEM"
        let noKey = "this holds no private key in PEM that needs no passphrase"
        let cases: [(String, String, String)] = [
            ("/nonexistent.pem", key, "/nonexistent.pem: No such file or directory"),
            (certificate, "/nonexistent.pem", "/nonexistent.pem: No such file or directory"),
            (text, key, "\(text): \(noCertificate)"), (key, key, "\(key): \(noCertificate)"),
            (broken, key, "\(broken): \(noCertificate)"),
            (identity.folder.path, key, "\(identity.folder.path): \(noCertificate)"),
            (certificate, text, "\(text): \(noKey)"), (certificate, certificate, "\(certificate): \(noKey)"),
            (certificate, locked, "\(locked): \(noKey)"),
        ]
        for (certificate, key, words) in cases {
            #expect(failure(TLSFiles(certificateFile: certificate, keyFile: key)) == words)
        }
    }

    @Test("out of their time are refused with the day")
    func outOfTime() async throws {
        let identity = try await TestIdentity()
        let (key, request) = (identity.files.keyFile, identity.path("request.pem"))
        try await identity.openssl(["req", "-new", "-key", key, "-subj", "/CN=localhost", "-out", request])
        let past = identity.path("past.pem")
        try await identity.openssl(["x509", "-req", "-in", request, "-signkey", key, "-days", "-1", "-out", past])
        let words = try #require(failure(TLSFiles(certificateFile: past, keyFile: key)))
        #expect(words.hasPrefix("\(past): the certificate expired on 20"))
        // It may have expired while a server stood by.
        let expired = TLSFiles(certificateFile: past, keyFile: key)
        let server = try await TestServer.start { $0.tls = expired }
        let end = try #require(server.server.certificate?.expiresAt)
        #expect(end < Int64(Date().timeIntervalSince1970))

        let future = identity.path("future.pem")
        let settings = """
            [ca]
            default_ca = it
            [it]
            database = \(identity.path("index.txt"))
            serial = \(identity.path("serial"))
            new_certs_dir = \(identity.folder.path)
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """
        try settings.write(toFile: identity.path("ca.cnf"), atomically: true, encoding: .utf8)
        try "".write(toFile: identity.path("index.txt"), atomically: true, encoding: .utf8)
        try await identity.openssl([
            "ca", "-selfsign", "-batch", "-create_serial", "-config", identity.path("ca.cnf"), "-in", request,
            "-keyfile", key, "-startdate", "20900101000000Z", "-enddate", "20910101000000Z", "-out", future,
        ])
        #expect(
            failure(TLSFiles(certificateFile: future, keyFile: key))
                == "\(future): the certificate is good from 2090-01-01 on only; check this machine's clock")
    }

    @Test("end with the first of their chain, which is named")
    func chain() async throws {
        let identity = try await TestIdentity()
        let files = try await identity.chain(middleDays: 3)
        let certificate = try TLSCertificate(files)
        #expect(certificate.list.entries.map(\.subject) == ["/CN=leaf", "/CN=middle"])
        #expect(certificate.list.firstToEnd?.name == "certificate 2 of the file (/CN=middle)")
        let left = certificate.expiresAt - Int64(Date().timeIntervalSince1970)
        #expect((3 * 86_400 - 120...3 * 86_400).contains(Int(left)))
        let expired = try await identity.chain(middleDays: -1)
        // Clients that know the authority of another one in the file do not need it.
        #expect(try TLSCertificate(expired).expiresAt < Int64(Date().timeIntervalSince1970))
    }

    @Test("are a chain if each has signed the one before it; a leaf alone is none, but for one that has signed itself")
    func order() async throws {
        let identity = try await TestIdentity()
        _ = try await identity.chain(middleDays: 3)
        func problem(_ files: String...) throws -> String? {
            let texts = try files.map { try String(contentsOfFile: identity.path($0), encoding: .utf8) }
            return try TLSCertificateList(pem: texts.joined()).chainProblem
        }
        #expect(try problem("leaf.pem", "middle.pem") == nil)
        #expect(try problem("leaf.pem", "middle.pem", "certificate.pem") == nil)
        #expect(try problem("certificate.pem") == nil)
        #expect(
            try problem("leaf.pem")
                == "the certificate stands alone, without that of its issuer (/CN=middle)")
        #expect(
            try problem("leaf.pem", "certificate.pem")
                == "certificate 2 of the file (/CN=localhost) has not signed the one before it")
        #expect(
            try problem("leaf.pem", "middle.pem", "leaf.pem")
                == "certificate 3 of the file (/CN=leaf) has not signed the one before it")
        // A renewed issuer of the same name has another key.
        let old = try String(contentsOfFile: identity.path("leaf.pem"), encoding: .utf8)
        _ = try await identity.chain(middleDays: 3)
        let renewed = try String(contentsOfFile: identity.path("middle.pem"), encoding: .utf8)
        #expect(
            try TLSCertificateList(pem: old + renewed).chainProblem
                == "certificate 2 of the file (/CN=middle) has not signed the one before it")
    }

    @Test("with a key that OpenSSL finds too short are refused in its words")
    func short() async throws {
        let identity = try await TestIdentity()
        try await identity.openssl([
            "req", "-x509", "-newkey", "rsa:512", "-nodes", "-subj", "/CN=localhost", "-keyout",
            identity.files.keyFile, "-out", identity.files.certificateFile,
        ])
        #expect(
            failure(identity.files)
                == "\(identity.files.certificateFile): OpenSSL does not take it: ee key too small")
    }
}
