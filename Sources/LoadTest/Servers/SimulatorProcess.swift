/// A push simulator of the run's own: a child process on free ports, so that its CPU time is not the generator's.
struct SimulatorProcess: Sendable {
    /// Its data folder, where servers and phones find it.
    let folder: String
    /// Stop it before the end.
    let process: LoggedProcess

    /// Runs `reveille push-sim` and waits until it is ready.
    /// - Parameter folder: for its data and its log, exclusively.
    /// - Throws: ``LoadError`` with the end of its log when it does not come up; it does not run then.
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
}
