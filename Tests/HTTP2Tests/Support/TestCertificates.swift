import ChildProcess
import Foundation
import Synchronization

/// A throwaway certificate authority and one server certificate for `localhost`, `push.test` and `127.0.0.1`.
struct TestCertificates: Sendable {
    let authorityPEM: String
    let serverPEM: String
    let serverKeyPEM: String
    /// For programs that take files: `ca.pem`, `server.pem`, `server.key`.
    let directory: URL

    /// Made once for all tests of the process.
    static let shared = Task { try await TestCertificates() }

    private init() async throws {
        let openssl = try ChildProcess.find("openssl", package: "openssl")
        directory = FileManager.default.temporaryDirectory.appending(path: "http2-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        directoryToRemove.withLock { [directory] in $0 = directory }
        atexit(removeDirectory)
        let names = "subjectAltName=DNS:localhost,DNS:push.test,IP:127.0.0.1"
        try Data(names.utf8).write(to: directory.appending(path: "names"))
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        let steps: [[String]] = [
            ["req", "-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem"] + key,
            ["req", "-subj", "/CN=Test server", "-keyout", "server.key", "-out", "server.csr"] + key,
            [
                "x509", "-req", "-days", "2", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-extfile", "names", "-out", "server.pem",
            ],
        ]
        for step in steps {
            let result = try await ChildProcess.run(openssl, step, folder: directory.path)
            guard result.ending == .exit(0) else { throw Failed(step: step, output: result.output) }
        }
        authorityPEM = try String(contentsOf: directory.appending(path: "ca.pem"), encoding: .utf8)
        serverPEM = try String(contentsOf: directory.appending(path: "server.pem"), encoding: .utf8)
        serverKeyPEM = try String(contentsOf: directory.appending(path: "server.key"), encoding: .utf8)
    }

    struct Failed: Error {
        let step: [String]
        let output: String
    }

    func file(_ name: String) -> String { directory.appending(path: name).path }
}

private let directoryToRemove = Mutex<URL?>(nil)

private func removeDirectory() {
    guard let directory = directoryToRemove.withLock({ $0 }) else { return }
    try? FileManager.default.removeItem(at: directory)
}
