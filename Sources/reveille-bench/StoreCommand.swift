import ArgumentParser
import Benchmarks

struct StoreCommand: PartCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Measures commits to a store in a temporary folder.", discussion: discussion)

    @OptionGroup var options: PartOptions

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        try await StoreBenchmark(settings).run(progress: progress)
    }
}
