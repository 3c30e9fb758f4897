import EventLoop
import FoundationEssentials
import Glibc
import HTTP2
import JWTKit
import TLS

/// The simulator's data folder, created at its first start.
///
/// ```
/// ca.pem  ca-key.pem     its certificate authority, which clients trust
/// AuthKey_<key id>.p8    the APNs auth key for provider tokens
/// voip-services.pem      a provider certificate, new at each start, and voip-services-key.pem
/// service-account.json   the key file of FCM's service account
/// push-sim.json          PushSimulatorManifest
/// ```
/// Files with secrets have mode 0600. The server certificate is issued at each start; its key is only in memory.
struct SimulatorFolder {
    let path: String
    let lock: SimulatorLock
    let authority: CertificateAuthority
    let server: CertificateAuthority.Identity
    /// The public key of the auth key, in PEM.
    let authKeyPublicPEM: String
    let keyID: String
    let teamID: String
    /// Without a `tokenURI` until ``publish(endpoints:host:fcmPort:webPushPort:topic:)``.
    let serviceAccount: ServiceAccount

    private static let certificateFile = "voip-services.pem"
    private static let certificateKeyFile = "voip-services-key.pem"
    private static let serviceAccountFile = "service-account.json"
    private static let authorityFile = "ca.pem"
    private static let authorityKeyFile = "ca-key.pem"
    /// Of a domain that nobody has (RFC 2606).
    private static let subject = "mailto:push-sim@example.org"

    /// Opens the folder and creates missing files.
    /// - Parameters:
    ///   - hosts: the names of the server certificate, besides the loopback addresses.
    ///   - project: the Firebase project of the service account.
    /// - Throws: ``SimulatorFolderError``.
    init(path: String, hosts: [String], project: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            lock = try SimulatorLock(folder: path)
            authority = try Self.authority(in: path)
            server = try authority.issue(hosts: ["localhost", "127.0.0.1", "::1"] + hosts)
            let known = try? PushSimulatorManifest.load(folder: path)
            keyID = known?.keyID ?? Self.randomID()
            teamID = known?.teamID ?? Self.randomID()
            authKeyPublicPEM = try Self.authKey(at: path + "/" + Self.keyFile(keyID)).publicKey.pemRepresentation
            serviceAccount = try Self.serviceAccount(at: path + "/" + Self.serviceAccountFile, project: project)
        } catch let error as SimulatorFolderError {
            throw error
        } catch {
            throw SimulatorFolderError(path: path, problem: "\(error)")
        }
    }

    static func origin(host: String, port: UInt16) -> String {
        "https://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    static func tokenURI(host: String, port: UInt16) -> String {
        origin(host: host, port: port) + FCMService.tokenPath
    }

    /// Writes `push-sim.json` and the files it names, once the ports are known.
    func publish(
        endpoints: [PushSimulatorManifest.Endpoint], host: String, fcmPort: UInt16, webPushPort: UInt16, topic: String
    ) throws -> PushSimulatorManifest {
        let certificate = try authority.issueProviderCertificate(bundle: topic, teamID: teamID)
        try Self.write(certificate.certificatePEM, to: path + "/" + Self.certificateFile, mode: 0o644)
        try Self.write(certificate.keyPEM, to: path + "/" + Self.certificateKeyFile, mode: 0o600)
        var account = serviceAccount
        account.tokenURI = Self.tokenURI(host: host, port: fcmPort)
        account.authURI = account.tokenURI
        try Self.write(Self.json(account), to: path + "/" + Self.serviceAccountFile, mode: 0o600)
        let manifest = PushSimulatorManifest(
            endpoints: endpoints, caFile: Self.authorityFile, keyFile: Self.keyFile(keyID), keyID: keyID,
            teamID: teamID, topic: topic, certificateFile: Self.certificateFile,
            certificateKeyFile: Self.certificateKeyFile,
            fcm: PushSimulatorManifest.FCM(
                host: host, port: fcmPort, serviceAccountFile: Self.serviceAccountFile, project: account.projectID),
            webpush: PushSimulatorManifest.WebPush(host: host, port: webPushPort, subject: Self.subject))
        try Self.write(Self.json(manifest), to: path + "/" + PushSimulatorManifest.fileName, mode: 0o644)
        return manifest
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }

    /// The account of an earlier start; nil for another project.
    private static func serviceAccount(at path: String, project: String) throws -> ServiceAccount {
        if let text = try? read(path),
            let known = try? JSONDecoder().decode(ServiceAccount.self, from: Data(text.utf8)),
            known.projectID == project
        {
            return known
        }
        var random = SystemRandomNumberGenerator()
        return ServiceAccount(
            projectID: project, privateKeyID: .random(40, of: .hexadecimal, using: &random),
            privateKey: try RSAKey.generatePEM(), clientID: "\(UInt64.random(in: 1 << 60...UInt64.max))", tokenURI: "")
    }

    private static func keyFile(_ keyID: String) -> String { "AuthKey_\(keyID).p8" }

    private static func authority(in path: String) throws -> CertificateAuthority {
        let certificate = path + "/" + authorityFile
        let key = path + "/" + authorityKeyFile
        if FileManager.default.fileExists(atPath: certificate), FileManager.default.fileExists(atPath: key) {
            return try CertificateAuthority(certificatePEM: read(certificate), keyPEM: read(key))
        }
        let made = try CertificateAuthority()
        try write(made.keyPEM, to: key, mode: 0o600)
        try write(made.certificatePEM, to: certificate, mode: 0o644)
        return made
    }

    private static func authKey(at path: String) throws -> ES256PrivateKey {
        if FileManager.default.fileExists(atPath: path) { return try ES256PrivateKey(pem: read(path)) }
        let made = ES256PrivateKey()
        try write(made.pemRepresentation + "\n", to: path, mode: 0o600)
        return made
    }

    /// Ten characters, like Apple's key and team identifiers.
    private static func randomID() -> String {
        let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        // The alphabet is not empty.
        return String((0..<10).map { _ in alphabet.randomElement()! })
    }

    private static func read(_ path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw SimulatorFolderError(path: path, problem: "\(error)")
        }
    }

    private static func write(_ text: String, to path: String, mode: mode_t) throws {
        do throws(SystemError) {
            try PrivateFile.write(text.utf8, to: path, mode: mode)
        } catch {
            throw SimulatorFolderError(path: path, problem: String(cString: strerror(error.errno)))
        }
    }
}
