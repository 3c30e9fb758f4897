import CallCore
import CallStore
import ChildProcess
import Foundation

/// A server of its own for one load test: a child process on a free port, with its data in a new folder.
///
/// May be used from any thread. ``stop()`` it before the end, and ``removeData()``: neither happens by itself.
public final class ServerProcess: Sendable {
    /// How long it may take to listen, and to stop.
    private static let patience = Duration.seconds(20)
    private static let pollInterval = Duration.milliseconds(20)
    private static let logLinesShown = 5

    public let url: String
    /// Its data folder, with its log.
    public let folder: String
    private let process: ChildProcess

    public var pid: Int32 { process.pid }
    public var isRunning: Bool { process.ending == nil }

    private init(url: String, folder: String, process: ChildProcess) {
        self.url = url
        self.folder = folder
        self.process = process
    }

    /// Runs `reveille serve` and waits until it listens.
    /// - Parameters:
    ///   - executable: the path of `reveille`.
    ///   - messagesPerSecond: what each connection may send; nil leaves the server's own limit.
    /// - Throws: ``LoadError`` with the server's last words when it does not come up; nothing is left then.
    public static func start(
        executable: String, shards: Int = 1, messagesPerSecond: Int? = nil
    ) async throws -> ServerProcess {
        let folder = NSTemporaryDirectory() + "reveille-load-\(UUID().uuidString)"
        var process: ChildProcess?
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            guard FileManager.default.createFile(atPath: logFile(in: folder), contents: nil) else {
                throw LoadError("cannot write to \(folder); set TMPDIR to a folder that can be written")
            }
            var arguments = [
                "serve", "--port", "0", "--data", folder, "--shards", "\(shards)", "--log-format", "json",
            ]
            if let messagesPerSecond { arguments += ["--messages-per-second", "\(messagesPerSecond)"] }
            let started = try ChildProcess.start(executable, arguments, output: .file(logFile(in: folder)))
            process = started
            let address = try await listeningAddress(started, folder)
            return ServerProcess(url: "ws://\(address)", folder: folder, process: started)
        } catch {
            await process?.stop(atMost: patience)
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    private static func logFile(in folder: String) -> String { folder + "/server.log" }

    /// The address that the server logs once it listens.
    private static func listeningAddress(_ process: ChildProcess, _ folder: String) async throws -> String {
        let deadline = ContinuousClock.now + patience
        while true {
            let hasEnded = process.ending != nil
            let lines = logLines(folder)
            if let line = lines.first(where: { $0.contains(#""message":"listening""#) }),
                let start = line.range(of: #""address":""#)?.upperBound
            {
                return String(line[start...].prefix { $0 != "\"" })
            }
            guard !hasEnded, ContinuousClock.now < deadline else {
                throw LoadError(
                    "the server \(hasEnded ? "ended at once" : "does not listen after \(patience)"). It said: "
                        + lines.suffix(logLinesShown).joined(separator: " / "))
            }
            try await Task.sleep(for: pollInterval)
        }
    }

    private static func logLines(_ folder: String) -> [Substring] {
        let data = FileManager.default.contents(atPath: logFile(in: folder)) ?? Data()
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    /// Asks it to end, and waits until it has; ends it by force after 20 s.
    /// - Returns: what was wrong with its end, for the report; nil when it ended in order.
    public func stop() async -> String? {
        if let ending = process.ending { return complaint("the server ended by itself, \(Self.words(ending))") }
        process.send(SIGTERM)
        guard let ending = await process.wait(atMost: Self.patience) else {
            process.send(SIGKILL)
            return complaint("the server did not stop within \(Self.patience)")
        }
        return ending == .exit(0) ? nil : complaint("the server did not stop in order: \(Self.words(ending))")
    }

    private static func words(_ ending: ChildProcess.Ending) -> String {
        switch ending {
        case .exit(let code): "with exit code \(code)"
        case .signal(let signal): "killed by signal \(signal)"
        }
    }

    private func complaint(_ what: String) -> String {
        let said = Self.logLines(folder).suffix(Self.logLinesShown).joined(separator: " / ")
        return said.isEmpty ? what : "\(what); it said: \(said)"
    }

    /// The laws that its store breaks, in words. After ``stop()``, or while it runs.
    public func audit() throws -> [String] {
        let reader = try StoreReader.open(folder: folder)
        return try reader.audit().violations
    }

    /// How many calls its store has that are not over, up to `limit`.
    func liveCalls(limit: Int) throws -> Int {
        try StoreReader.open(folder: folder).calls(CallFilter(isLive: true, limit: limit)).count
    }

    /// Removes its folder. After ``stop()``.
    public func removeData() {
        // Only a temporary folder; the system removes what stays behind.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
