import FoundationEssentials
import Glibc
import JWTKit

/// The simulator's data folder: what it makes at its first start and finds again at the next.
///
/// ```
/// ca.pem  ca-key.pem     its own certificate authority, to be trusted by who talks to it
/// AuthKey_<key id>.p8    the APNs auth key to sign provider tokens with
/// push-sim.json          PushSimulatorManifest
/// ```
/// Files with secrets have mode 0600. The server's own certificate is issued anew at each start, and its key is in
/// memory only.
struct SimulatorFolder {
    let path: String
    let authority: CertificateAuthority
    let server: CertificateAuthority.Identity
    /// The public half of the auth key, in PEM.
    let authKeyPublicPEM: String
    let keyID: String
    let teamID: String

    private static let authorityFile = "ca.pem"
    private static let authorityKeyFile = "ca-key.pem"

    /// Opens the folder, and makes what is missing in it.
    /// - Parameter hosts: what the server's certificate is to be valid for, besides this machine's loopback.
    /// - Throws: ``SimulatorFolderError``.
    init(path: String, hosts: [String]) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            authority = try Self.authority(in: path)
            server = try authority.issue(hosts: ["localhost", "127.0.0.1", "::1"] + hosts)
            let known = try? PushSimulatorManifest.load(folder: path)
            keyID = known?.keyID ?? Self.randomID()
            teamID = known?.teamID ?? Self.randomID()
            authKeyPublicPEM = try Self.authKey(at: path + "/" + Self.keyFile(keyID)).publicKey.pemRepresentation
        } catch let error as SimulatorFolderError {
            throw error
        } catch {
            throw SimulatorFolderError(path: path, problem: "\(error)")
        }
    }

    /// Writes `push-sim.json`, once the ports are known.
    func publish(endpoints: [PushSimulatorManifest.Endpoint], topic: String) throws -> PushSimulatorManifest {
        let manifest = PushSimulatorManifest(
            endpoints: endpoints, caFile: Self.authorityFile, keyFile: Self.keyFile(keyID), keyID: keyID,
            teamID: teamID, topic: topic)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(manifest), as: UTF8.self)
        try Self.write(text + "\n", to: path + "/" + PushSimulatorManifest.fileName, mode: 0o644)
        return manifest
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

    /// Ten characters, as Apple's key and team identifiers have.
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

    /// Writes beside the file and renames: a reader sees all of it or none, and no secret is ever readable to others.
    private static func write(_ text: String, to path: String, mode: mode_t) throws {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure(temporary) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, rename(temporary, path) == 0 else {
            throw failure(path)
        }
    }

    private static func failure(_ path: String) -> SimulatorFolderError {
        SimulatorFolderError(path: path, problem: String(cString: strerror(errno)))
    }
}
