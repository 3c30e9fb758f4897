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
    @Option(help: "Among how many connections few calls at a time are made; each takes two descriptors (ulimit -n).")
    var connections = 9_000

    func validate() throws {
        guard 200...50_000 ~= connections else { throw ValidationError("--connections is 200 to 50,000.") }
    }

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        var benchmark = SocketsBenchmark(settings)
        benchmark.folder = data
        benchmark.manyPairs = connections / 2
        return try await benchmark.run(progress: progress)
    }
}
