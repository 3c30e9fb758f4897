import ChildProcess
import Foundation
import LibWebSockets
import TLS
import TestCleanup

/// A folder with `key.pem` and `certificate.pem`, made by `openssl`; the certificate is its own authority. It is removed
/// at the end of the test.
public struct TestIdentity: Sendable {
    public enum Key: String, Sendable {
        case elliptic, rsa

        var arguments: [String] {
            switch self {
            case .elliptic: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case .rsa: ["-newkey", "rsa:2048"]
            }
        }
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public let folder: URL

    /// - Parameters:
    ///   - serial: hexadecimal, in capitals, as `openssl` prints it.
    ///   - rewriting: takes the place of an identity's files.
    public init(
        name: String = "localhost", key: Key = .elliptic, serial: String = "01", rewriting other: TestIdentity? = nil
    ) async throws {
        folder =
            other?.folder ?? FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        atEnd { [self] in remove() }
        try await openssl(
            ["req", "-x509"] + key.arguments + [
                "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)",
                "-set_serial", "0x\(serial)", "-keyout", path("key.pem"), "-out", path("certificate.pem"),
            ])
    }

    public func path(_ file: String) -> String { folder.appending(path: file).path }

    public var files: TLSFiles { TLSFiles(certificateFile: path("certificate.pem"), keyFile: path("key.pem")) }
    public var trust: LWSContext.Trust { .file(path("certificate.pem")) }

    public func openssl(_ arguments: [String]) async throws {
        let result = try await ChildProcess.run("/usr/bin/openssl", arguments)
        if result.ending != .exit(0) { throw Failure(description: result.output) }
    }

    /// A certificate for 30 days whose issuer, `middle`, has one of this identity, in `chain.pem`: first its own, then the
    /// issuer's. Alone it is in `leaf.pem`, and the issuer's in `middle.pem`.
    /// - Parameter middleDays: how long the issuer's is good; less than nothing: since when it is not.
    public func chain(middleDays: Int) async throws -> TLSFiles {
        for (name, issuer, issuerKey, days) in [
            ("middle", "certificate.pem", "key.pem", middleDays), ("leaf", "middle.pem", "middle-key.pem", 30),
        ] {
            try await openssl(
                ["req", "-new"] + Key.elliptic.arguments + [
                    "-nodes", "-subj", "/CN=\(name)", "-keyout", path("\(name)-key.pem"), "-out", path("\(name).csr"),
                ])
            try await openssl([
                "x509", "-req", "-in", path("\(name).csr"), "-CA", path(issuer), "-CAkey", path(issuerKey),
                "-CAcreateserial", "-days", "\(days)", "-out", path("\(name).pem"),
            ])
        }
        let both = try ["leaf.pem", "middle.pem"].map { try String(contentsOfFile: path($0), encoding: .utf8) }
        try both.joined().write(toFile: path("chain.pem"), atomically: true, encoding: .utf8)
        return TLSFiles(certificateFile: path("chain.pem"), keyFile: path("leaf-key.pem"))
    }

    /// What `openssl s_client` sees of a server.
    /// - Parameter filter: a command that reads it.
    public static func seen(
        at address: some CustomStringConvertible, _ options: String = "", filter: String = "openssl x509 -noout -serial"
    ) async throws -> String {
        let client = "timeout 15 openssl s_client -connect \(address) \(options) </dev/null 2>/dev/null"
        let output = try await ChildProcess.run("/bin/sh", ["-c", "\(client) | \(filter)"]).output
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    public func remove() { try? FileManager.default.removeItem(at: folder) }
}
