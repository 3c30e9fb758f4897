import ChildProcess
import EventLoop
import Foundation
import Glibc

/// Debian's nghttpd on 127.0.0.1, with an empty file for each device token, so that every push gets status 200.
struct PushTarget {
    private static let patience = Duration.seconds(10)
    private static let pollInterval = Duration.milliseconds(10)

    let port: UInt16
    /// The benchmark's files; ``stop()`` removes them.
    let folder: String
    /// nghttpd's self-signed certificate, to be trusted, and its key: a P-256 key in PEM.
    let certificateFile: String
    let keyPEM: String
    private let server: ChildProcess

    static func start(_ work: PushWork) async throws -> PushTarget {
        let nghttpd = try ChildProcess.find("nghttpd", package: "nghttp2-server")
        let folder = NSTemporaryDirectory() + "reveille-bench-\(UUID().uuidString)"
        do {
            try FileManager.default.createDirectory(
                atPath: folder + "/www/3/device", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            for path in work.paths {
                try Data().write(to: URL(fileURLWithPath: folder + "/www" + path))
            }
            let keyPEM = try await makeCertificate(in: folder)
            let port = try freePort()
            let server = try ChildProcess.start(
                nghttpd,
                [
                    "-n", "1", "-m", "\(work.size.streams)", "-a", "127.0.0.1", "-d", folder + "/www", "\(port)",
                    folder + "/key.pem", folder + "/certificate.pem",
                ], output: .file(folder + "/nghttpd.log"))
            let target = PushTarget(
                port: port, folder: folder, certificateFile: folder + "/certificate.pem", keyPEM: keyPEM, server: server
            )
            try await target.waitUntilListening()
            return target
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    private static func makeCertificate(in folder: String) async throws -> String {
        let openssl = try ChildProcess.find("openssl", package: "openssl")
        let result = try await ChildProcess.run(
            openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem",
                "-out", folder + "/certificate.pem",
            ], within: patience)
        guard result.ending == .exit(0) else {
            throw BenchmarkError("openssl created no certificate: \(result.output)")
        }
        return text(of: folder + "/key.pem")
    }

    /// A port without a listener.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(operation: "socket", errno: errno) }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw SystemError(operation: "bind to 127.0.0.1", errno: errno) }
        return UInt16(bigEndian: address.sin_port)
    }

    private func waitUntilListening() async throws {
        let deadline = ContinuousClock.now + Self.patience
        while !isListening {
            let hasEnded = server.ending != nil
            guard !hasEnded, ContinuousClock.now < deadline else {
                if !hasEnded { await server.stop(atMost: Self.patience) }
                throw BenchmarkError("nghttpd does not listen: \(Self.text(of: folder + "/nghttpd.log"))")
            }
            try await Task.sleep(for: Self.pollInterval)
        }
    }

    private var isListening: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    func stop() async {
        await server.stop(atMost: Self.patience)
        // A temporary folder: if the removal fails, the system removes it.
        try? FileManager.default.removeItem(atPath: folder)
    }

    static func text(of file: String) -> String {
        String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
    }
}
