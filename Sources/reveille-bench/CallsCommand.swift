import ArgumentParser
import Benchmarks

struct CallsCommand: PartCommand {
    static let configuration = CommandConfiguration(
        commandName: "calls",
        abstract:
            "Measures complete calls apart from their sockets: from bytes to bytes, and into a store.",
        discussion: discussion)

    @OptionGroup var options: PartOptions

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        try await CallsBenchmark(settings).run(progress: progress)
    }
}
