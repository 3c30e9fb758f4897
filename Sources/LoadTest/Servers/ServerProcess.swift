import CallServer
import Foundation
import StoreInterface

/// A server of its own for one load test: a child process on a free port. Any thread. ``stop()`` it before the end.
final class ServerProcess: Sendable {
    /// Far more than a phone of the load sends: the load is to measure the server, not its limits.
    private static let unlimited = ["--messages-per-second", "1000000"]

    let url: String
    /// Where it serves its metrics.
    let metricsURL: String
    /// Its data folder.
    let folder: String
    /// The certificates to trust where it speaks TLS.
    let caFile: String?
    private let process: LoggedProcess

    var pid: Int32 { process.pid }
    var isRunning: Bool { process.isRunning }

    private init(url: String, metricsURL: String, folder: String, caFile: String?, process: LoggedProcess) {
        self.url = url
        self.metricsURL = metricsURL
        self.folder = folder
        self.caFile = caFile
        self.process = process
    }

    /// Runs `reveille serve` and waits until it listens.
    /// - Parameters:
    ///   - limits: of its settings below `limits`, those that the load needs moved. A file of settings among the server's
    ///     own arguments takes their place.
    ///   - folder: for its data and its log; there, and of nobody else.
    ///   - simulator: the data folder of the push simulator it is to push to.
    /// - Throws: ``LoadError`` with the server's last words when it does not come up; it does not run then.
    static func start(
        _ server: LoadTarget.OwnServer, limits: [String: Int] = [:], folder: String, simulator: String? = nil
    ) async throws -> ServerProcess {
        var arguments = ["serve", "--port", "0", "--data", folder + "/server", "--shards", "\(server.shards)"]
        arguments += ["--metrics-listen", "127.0.0.1:0"] + unlimited
        if !limits.isEmpty, !server.arguments.contains(where: { $0.hasPrefix("--config") }) {
            arguments += ["--config", try write(limits, to: folder + "/server.yaml")]
        }
        let certificate = server.usesTLS ? try RunCertificate(in: folder) : nil
        if let certificate {
            arguments += ["--tls-certificate", certificate.certificateFile, "--tls-key", certificate.keyFile]
        }
        if let simulator { arguments += ["--push-sim", "--push-sim-data", simulator] }
        let (process, place) = try await LoggedProcess.start(
            "the server", executable: server.executable, arguments: arguments + server.arguments,
            logFile: folder + "/server.log", ready: Self.place)
        return ServerProcess(
            url: "\(server.usesTLS ? "wss" : "ws")://\(place.address)", metricsURL: place.metrics,
            folder: folder + "/server",
            caFile: certificate?.authorityFile, process: process)
    }

    private static func write(_ limits: [String: Int], to file: String) throws -> String {
        let lines = limits.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)\n" }
        let text = "limits:\n" + lines.joined()
        guard FileManager.default.createFile(atPath: file, contents: Data(text.utf8)) else {
            throw LoadError("cannot write \(file)")
        }
        return file
    }

    /// Where clients connect and where its metrics are, by the line that the server logs once it listens.
    private static func place(_ line: Substring) -> (address: String, metrics: String)? {
        func value(_ key: String) -> String? {
            guard let start = line.firstRange(of: "\"\(key)\":\"")?.upperBound else { return nil }
            return String(line[start...].prefix { $0 != "\"" })
        }
        guard line.contains(#""message":"listening""#), let address = value("address"), let metrics = value("metrics")
        else { return nil }
        return (address, metrics)
    }

    /// Asks it to end, and waits until it has; ends it by force after 20 s.
    /// - Returns: what was wrong with its end, for the report; nil when it ended in order.
    func stop() async -> String? { await process.stop() }

    func trimLog() { process.trimLog() }

    /// The store's books. After ``stop()``.
    func audit() async throws -> StoreAudit {
        try await DataFolder(path: folder).withQueries { try await $0.audit() }
    }
}
