import ArgumentParser
import Benchmarks

struct SocketsCommand: PartCommand {
    static let configuration = CommandConfiguration(
        commandName: "sockets",
        abstract:
            "Measures the floor of a call: its sockets, with and without a store, a woken phone's, and a synced block.",
        discussion: discussion)

    @OptionGroup var options: PartOptions
    @Option(help: ArgumentHelp("Where blocks are written and synced; nothing is left there.", valueName: "folder"))
    var data = "."

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        var benchmark = SocketsBenchmark(settings)
        benchmark.folder = data
        return try await benchmark.run(progress: progress)
    }
}
