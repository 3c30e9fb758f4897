import ChildProcess
import Foundation

/// A throwaway authority, a certificate for 127.0.0.1 and an RSA key, made with the `openssl` program once for all tests.
public struct PushTestCertificates: Sendable {
    public let authorityPEM: String
    public let serverPEM: String
    public let serverKeyPEM: String
    /// Of a service account.
    public let accountKeyPEM: String
    private let authorityKeyPEM: String

    public static let shared = Task { try await PushTestCertificates() }

    struct Failed: Error {
        let arguments: [String]
        let output: String
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    private init() async throws {
        let folder = try Folder()
        defer { folder.remove() }
        try folder.write("subjectAltName=IP:127.0.0.1", to: "names")
        try await folder.openssl(
            ["req", "-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem"]
                + Self.newKey)
        try await folder.openssl(
            ["req", "-subj", "/CN=Test server", "-keyout", "server.key", "-out", "server.csr"] + Self.newKey)
        try await folder.openssl([
            "x509", "-req", "-days", "2", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-extfile", "names", "-out", "server.pem",
        ])
        try await folder.openssl([
            "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "account.key",
        ])
        authorityPEM = try folder.read("ca.pem")
        authorityKeyPEM = try folder.read("ca.key")
        serverPEM = try folder.read("server.pem")
        serverKeyPEM = try folder.read("server.key")
        accountKeyPEM = try folder.read("account.key")
    }

    /// The JSON of a service account whose tokens are had from `https://127.0.0.1:<port>/token`.
    public func serviceAccount(port: UInt16, project: String = "example-1") throws -> String {
        let fields = [
            "type": "service_account", "project_id": project, "private_key_id": "key-1", "private_key": accountKeyPEM,
            "client_email": "push@\(project).iam.gserviceaccount.com", "token_uri": "https://127.0.0.1:\(port)/token",
        ]
        return String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
    }

    /// A client certificate as Apple's, of the test's authority.
    /// - Parameters:
    ///   - subject: as `openssl req -subj` wants it.
    ///   - extensions: lines of an OpenSSL extension section, and what they refer to.
    public func issue(
        subject: String = "/CN=VoIP Services", extensions: String = PushTestCertificates.twoTopics, days: Int = 90
    ) async throws -> (certificatePEM: String, keyPEM: String) {
        let folder = try Folder()
        defer { folder.remove() }
        try folder.write(authorityPEM, to: "ca.pem")
        try folder.write(authorityKeyPEM, to: "ca.key")
        try folder.write("extendedKeyUsage=clientAuth\n" + extensions, to: "extensions")
        try await folder.openssl(
            ["req", "-subj", subject, "-keyout", "client.key", "-out", "client.csr"] + Self.newKey)
        try await folder.openssl([
            "x509", "-req", "-days", "\(days)", "-in", "client.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-extfile", "extensions", "-out", "client.pem",
        ])
        return (try folder.read("client.pem"), try folder.read("client.key"))
    }

    /// An app and its VoIP topic, each followed by the kinds of push it is for.
    public static let twoTopics = """
        1.2.840.113635.100.6.3.6=ASN1:SEQUENCE:topics
        [topics]
        a=UTF8:org.example.phone
        b=SEQUENCE:app
        c=UTF8:org.example.phone.voip
        d=SEQUENCE:voip
        [app]
        a=UTF8:app
        [voip]
        a=UTF8:voip
        """
}

/// Where `openssl` works.
private struct Folder {
    private let url = FileManager.default.temporaryDirectory.appending(path: "push-tests-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    func write(_ text: String, to name: String) throws { try Data(text.utf8).write(to: url.appending(path: name)) }

    func read(_ name: String) throws -> String { try String(contentsOf: url.appending(path: name), encoding: .utf8) }

    func openssl(_ arguments: [String]) async throws {
        let result = try await ChildProcess.run("/usr/bin/openssl", arguments, folder: url.path)
        guard result.ending == .exit(0) else {
            throw PushTestCertificates.Failed(arguments: arguments, output: result.output)
        }
    }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
