import EventLoop
import Foundation
import PushSimulator

/// A certificate for the run's own server, by an authority whose key is not kept.
struct RunCertificate: Sendable {
    let certificateFile, keyFile: String
    /// The trust anchor of its clients.
    let authorityFile: String

    private static let owner = "Reveille load test"

    /// Makes one, valid for this machine's loopback.
    /// - Throws: ``LoadError``.
    init(in folder: String) throws {
        certificateFile = folder + "/certificate.pem"
        keyFile = folder + "/key.pem"
        authorityFile = folder + "/ca.pem"
        do {
            let authority = try CertificateAuthority(of: Self.owner)
            let server = try authority.issue(hosts: ["127.0.0.1", "::1", "localhost"], to: Self.owner)
            for (file, text) in [
                (certificateFile, server.certificatePEM), (keyFile, server.keyPEM),
                (authorityFile, authority.certificatePEM),
            ] {
                do { try PrivateFile.write(text.utf8, to: file) } catch { throw LoadError("cannot write \(file)") }
            }
        } catch let error as LoadError {
            throw error
        } catch {
            throw LoadError("no certificate can be made for the server: \(error)")
        }
    }
}
