import ArgumentParser
import Benchmarks

struct CodecCommand: PartCommand {
    static let configuration = CommandConfiguration(
        commandName: "codec", abstract: "Measures reading and writing the frames of a call.", discussion: discussion)

    @OptionGroup var options: PartOptions

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        try CodecBenchmark(settings).run(progress: progress)
    }
}
