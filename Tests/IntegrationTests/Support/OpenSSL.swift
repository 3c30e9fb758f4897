import Foundation

/// Keys, certificates and signatures made by the `openssl` program.
enum OpenSSL {
    struct Failed: Error {
        let text: String
    }

    /// Shared by all tests, created on first use.
    static let forThisMachine = Task { try await Certificate.make() }

    /// A self-signed certificate for 127.0.0.1, and its key.
    struct Certificate: Sendable {
        let certificateFile: String
        let keyFile: String
        /// A separate P-256 key, like an APNs auth key.
        let authKeyPEM: String

        fileprivate static func make() async throws -> Certificate {
            let folder = NSTemporaryDirectory() + "reveille-openssl-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let (certificate, key, authKey) = (folder + "/server.pem", folder + "/server.key", folder + "/auth.p8")
            let curve = ["-pkeyopt", "ec_paramgen_curve:P-256"]
            try await OpenSSL.run(
                ["req", "-x509", "-newkey", "ec"] + curve
                    + [
                        "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", key, "-out", certificate,
                    ])
            try await OpenSSL.run(["genpkey", "-algorithm", "EC"] + curve + ["-out", authKey])
            return Certificate(
                certificateFile: certificate, keyFile: key,
                authKeyPEM: try String(contentsOfFile: authKey, encoding: .utf8))
        }
    }

    /// A provider token (a JWT, ES256), signed by `openssl dgst`.
    static func providerToken(keyFile: String, keyID: String, teamID: String, issuedAt: Date = Date()) async throws
        -> String
    {
        let header = base64URL(Data("{\"alg\":\"ES256\",\"kid\":\"\(keyID)\"}".utf8))
        let claims = base64URL(Data("{\"iss\":\"\(teamID)\",\"iat\":\(Int(issuedAt.timeIntervalSince1970))}".utf8))
        let input = NSTemporaryDirectory() + "reveille-jwt-\(UUID().uuidString)"
        let output = input + ".signature"
        defer {
            try? FileManager.default.removeItem(atPath: input)
            try? FileManager.default.removeItem(atPath: output)
        }
        try Data("\(header).\(claims)".utf8).write(to: URL(fileURLWithPath: input))
        try await run(["dgst", "-sha256", "-sign", keyFile, "-out", output, input])
        let signature = try fixedWidth([UInt8](Data(contentsOf: URL(fileURLWithPath: output))))
        return "\(header).\(claims).\(base64URL(signature))"
    }

    private static func run(_ arguments: [String]) async throws {
        let result = try await Program.run("/usr/bin/openssl", arguments)
        guard result.ending == .exit(0) else { throw Failed(text: result.errors) }
    }

    /// OpenSSL encodes the two numbers of a signature as DER; a JWT has 32 bytes for each (RFC 7518 §3.4).
    private static func fixedWidth(_ der: [UInt8]) throws -> Data {
        // SEQUENCE and its length, then INTEGER, length and bytes, twice: all below 128 bytes for P-256.
        guard der.count > 8, der[0] == 0x30, Int(der[1]) == der.count - 2 else { throw Failed(text: "not DER") }
        var rest = der[2...]
        var numbers = Data()
        for _ in 0..<2 {
            let body = rest.dropFirst(2)
            guard rest.first == 0x02, let length = rest.dropFirst().first, body.count >= Int(length) else {
                throw Failed(text: "not two numbers")
            }
            let digits = body.prefix(Int(length)).drop { $0 == 0 }
            numbers.append(contentsOf: [UInt8](repeating: 0, count: 32 - digits.count) + digits)
            rest = body.dropFirst(Int(length))
        }
        return numbers
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
