import ArgumentParser
import Benchmarks

struct TimersCommand: PartCommand {
    static let configuration = CommandConfiguration(
        commandName: "timers", abstract: "Measures the deadline queue with few and with many pending.",
        discussion: discussion)

    @OptionGroup var options: PartOptions

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        try TimersBenchmark(settings).run(progress: progress)
    }
}
