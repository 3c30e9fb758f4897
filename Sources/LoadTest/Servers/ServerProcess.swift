import CallServer
import EventLoop
import Foundation
import StoreInterface

/// A server of the run's own: a child process on a free port.
struct ServerProcess: Sendable {
    /// Far more than a phone of the load sends: the load measures the server, not its limits.
    private static let unlimited = ["--messages-per-second", "1000000"]
    private static let unlimitedRates = Dictionary(
        uniqueKeysWithValues: RateLimit.allCases.map { ($0.rawValue, 10_000_000) })

    let url: String
    let metricsURL: String
    /// Its data folder.
    let folder: String
    /// Where its records are.
    let store: StorePlace
    /// The certificates to trust if it speaks TLS.
    let caFile: String?
    /// From its process to its address.
    let startTime: Duration
    /// Stop it before the end.
    let process: LoggedProcess

    /// Its data folder, in that of the run.
    static func data(in folder: String) -> String { folder + "/server" }

    /// Runs `reveille serve` and waits until it listens.
    /// - Parameters:
    ///   - limits: its settings below `limits` that the load needs; ignored if the server's arguments name a file of
    ///     settings.
    ///   - folder: for its data and its log, exclusively.
    ///   - simulator: the data folder of the push simulator that it pushes to.
    /// - Throws: ``LoadError`` with the end of its log when it does not come up; it does not run then.
    static func start(
        _ server: LoadTarget.OwnServer, limits: [String: Int] = [:], folder: String, simulator: String? = nil
    ) async throws -> ServerProcess {
        var arguments = ["serve", "--port", "0", "--data", data(in: folder), "--metrics-listen", "127.0.0.1:0"]
        arguments += try Self.arguments(server, limits: limits, folder: folder, simulator: simulator)
        if let store = server.store { arguments += ["--store", store.uri, "--realm", store.realm] }
        let certificate = server.usesTLS ? try RunCertificate(in: folder) : nil
        if let certificate {
            arguments += ["--tls-certificate", certificate.certificateFile, "--tls-key", certificate.keyFile]
        }
        let begun = ContinuousClock.now
        let (process, place) = try await LoggedProcess.start(
            "the server", executable: server.executable, arguments: arguments,
            logFile: folder + "/server.log", ready: Self.place)
        let data = DataFolder(path: data(in: folder))
        return ServerProcess(
            url: "\(server.usesTLS ? "wss" : "ws")://\(place.address)", metricsURL: place.metrics,
            folder: data.path, store: server.store.map { .database($0) } ?? .folder(data),
            caFile: certificate?.authorityFile, startTime: begun.duration(to: .now),
            process: process)
    }

    /// The arguments of `reveille serve` that are the same for each server of a run.
    static func arguments(
        _ server: LoadTarget.OwnServer, limits: [String: Int], folder: String, simulator: String?
    ) throws -> [String] {
        var arguments = ["--shards", "\(server.shards)"] + unlimited
        if !server.arguments.contains(where: { $0.hasPrefix("--config") }) {
            let limits = limits.merging(unlimitedRates) { limit, _ in limit }
            arguments += ["--config", try write(limits, to: folder + "/server.yaml")]
        }
        if let simulator { arguments += ["--push-sim", "--push-sim-data", simulator] }
        return arguments + server.arguments
    }

    private static func write(_ limits: [String: Int], to file: String) throws -> String {
        let lines = limits.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)\n" }
        let text = "limits:\n" + lines.joined()
        do { try PrivateFile.write(text.utf8, to: file) } catch { throw LoadError("cannot write \(file)") }
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

    /// Audits its store, once it has stopped.
    func audit() async throws -> StoreAudit {
        try await store.withQueries { try await $0.audit() }
    }
}
