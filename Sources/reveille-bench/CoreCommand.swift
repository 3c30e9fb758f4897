import ArgumentParser
import Benchmarks

struct CoreCommand: PartCommand {
    static let configuration = CommandConfiguration(
        commandName: "core", abstract: "Measures calls in the call machine alone, and how they grow.",
        discussion: discussion)

    @OptionGroup var options: PartOptions

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        try CoreBenchmark(settings).run(progress: progress)
    }
}
