import ArgumentParser
import Benchmarks

struct MailboxCommand: PartCommand {
    static let configuration = CommandConfiguration(
        commandName: "mailbox", abstract: "Measures messages from one thread to another.", discussion: discussion)

    @OptionGroup var options: PartOptions

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        try await MailboxBenchmark(settings).run(progress: progress)
    }
}
