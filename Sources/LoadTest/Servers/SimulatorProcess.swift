/// A push simulator of its own for one load test: a child process on free ports, so that its CPU time is not the
/// generator's. Any thread. ``stop()`` it before the end.
final class SimulatorProcess: Sendable {
    /// Its data folder, where servers and phones find it.
    let folder: String
    private let process: LoggedProcess

    var pid: Int32 { process.pid }
    var isRunning: Bool { process.isRunning }

    private init(folder: String, process: LoggedProcess) {
        self.folder = folder
        self.process = process
    }

    /// Runs `reveille push-sim` and waits until it is ready.
    /// - Parameters:
    ///   - executable: the path of `reveille`.
    ///   - folder: for its data and its log; there, and of nobody else.
    ///   - seed: for the tokens and whatever else it draws.
    /// - Throws: ``LoadError`` with its last words when it does not come up; it does not run then.
    static func start(executable: String, folder: String, seed: UInt64) async throws -> SimulatorProcess {
        let data = folder + "/push-sim"
        let arguments = [
            "push-sim", "run", "--push-sim-data", data, "--port", "0", "--sandbox-port", "0", "--fcm-port", "0",
            "--seed", "\(seed)",
        ]
        let (process, _) = try await LoggedProcess.start(
            "the push simulator", executable: executable, arguments: arguments, logFile: folder + "/push-sim.log"
        ) { $0.contains(#""message":"ready"#) ? "" : nil }
        return SimulatorProcess(folder: data, process: process)
    }

    /// Asks it to end, and waits until it has; ends it by force after 20 s.
    /// - Returns: what was wrong with its end, for the report; nil when it ended in order.
    func stop() async -> String? { await process.stop() }

    func trimLog() { process.trimLog() }
}
