import ChildProcess
import Foundation

/// A `reveille` that runs as a child, with its log in a file. Any thread. ``stop()`` it before the end.
final class LoggedProcess: Sendable {
    /// For its start and its stop.
    private static let patience = Duration.seconds(20)
    private static let pollInterval = Duration.milliseconds(20)
    private static let logLinesShown = 5

    /// For messages: "the server".
    private let name: String
    private let log: LogFile
    private let process: ChildProcess

    var pid: Int32 { process.pid }
    var isRunning: Bool { process.ending == nil }

    private init(name: String, log: LogFile, process: ChildProcess) {
        self.name = name
        self.log = log
        self.process = process
    }

    /// Starts `executable` and waits until its log has a line that says that it is ready.
    /// - Parameters:
    ///   - name: for messages: "the server".
    ///   - ready: parses the line that says that it is ready; nil for other lines.
    /// - Throws: ``LoadError`` with the end of its log if it does not become ready; it does not run then.
    static func start<Found: Sendable>(
        _ name: String, executable: String, arguments: [String], logFile: String, ready: (Substring) -> Found?
    ) async throws -> (process: LoggedProcess, found: Found) {
        let child: ChildProcess
        do {
            // The log's level is the one that servers run with. The input ends with this process, however that ends.
            child = try ChildProcess.start(
                executable, arguments + ["--log-format", "json", "--until-input-ends"], environment: withoutSettings,
                input: .untilClosed, output: .file(logFile))
        } catch {
            throw LoadError("\(name) cannot be started: \(error)")
        }
        Remains.all.add(child)
        let process = LoggedProcess(name: name, log: LogFile(path: logFile), process: child)
        let deadline = ContinuousClock.now + patience
        while true {
            let hasEnded = !process.isRunning
            if let found = process.log.lastLines.lazy.compactMap(ready).first { return (process, found) }
            guard !hasEnded, ContinuousClock.now < deadline else {
                await child.stop(atMost: .zero)
                Remains.all.forget(child)
                throw LoadError(
                    process.complaint("\(name) \(hasEnded ? "ended at once" : "is not ready after \(patience)")"))
            }
            await StopRequest.pause(pollInterval)
        }
    }

    /// Settings in this process's environment are for other servers.
    private static var withoutSettings: [String: String?] {
        ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("REVEILLE_") }
            .reduce(into: [:]) { $0.updateValue(nil, forKey: $1) }
    }

    /// The last line of its log with these words; nil when the end of the log has none.
    func lastLine(with words: String) -> Substring? { log.lastLines.last { $0.contains(words) } }

    /// Ends it by SIGKILL.
    func kill() async {
        process.send(SIGKILL)
        _ = await process.wait(atMost: Self.patience)
        Remains.all.forget(process)
    }

    /// Frees the disk space of its log, except the end.
    func trimLog() { log.trim() }

    /// Asks it to end, and waits until it has; ends it by force after 20 s.
    /// - Returns: the failure, for the report; nil if it ended in order.
    func stop() async -> String? {
        defer { Remains.all.forget(process) }
        if let ending = process.ending { return complaint("\(name) ended by itself, \(Self.words(ending))") }
        process.send(SIGTERM)
        guard let ending = await process.wait(atMost: Self.patience) else {
            await process.stop(atMost: .zero)
            return complaint("\(name) did not stop within \(Self.patience)")
        }
        return ending == .exit(0) ? nil : complaint("\(name) did not stop in order: \(Self.words(ending))")
    }

    private static func words(_ ending: ChildProcess.Ending) -> String {
        switch ending {
        case .exit(let code): "with exit code \(code)"
        case .signal(let number): "killed by signal \(number)"
        }
    }

    /// What is wrong, with the end of its log.
    func complaint(_ what: String) -> String {
        let said = log.lastLines.suffix(Self.logLinesShown).map { LogLine.readable($0) }
        return said.isEmpty ? what : "\(what); the end of its log: \(said.joined(separator: " / "))"
    }
}
