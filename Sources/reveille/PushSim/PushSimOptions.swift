import ArgumentParser
import PushSimulator

/// The push simulator's data folder.
struct PushSimOptions: ParsableArguments {
    @OptionGroup var data: DataOptions
    @Option(
        help: ArgumentHelp(
            "The simulator's data folder. Default: push-sim in the server's data folder.", valueName: "folder"),
        completion: .directory)
    var pushSimData: String?

    var folder: String { pushSimData ?? data.simulatorFolder }

    /// Asks the simulator that runs on the folder.
    /// - Throws: the exit code of what could not be reached, with words on standard error.
    func ask<Answer>(_ call: (PushSimulatorAdmin) async throws -> Answer) async throws -> Answer {
        do {
            return try await call(PushSimulatorAdmin(folder: folder))
        } catch let failure as PushSimulatorAdmin.Failure {
            Terminal.complain("reveille: \(failure)")
            switch failure {
            case .notRunning: throw Exit.unavailable
            case .refused: throw Exit.failed
            }
        } catch {
            throw Terminal.unavailable(error)
        }
    }
}
