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
    func ask<Answer>(_ call: (PushSimulatorAdmin) async throws -> Answer) async throws -> Answer {
        try await call(PushSimulatorAdmin(folder: folder))
    }
}
