import ArgumentParser
import Benchmarks
import Foundation

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Measures what it costs the core that somebody watches all live calls.",
        discussion: """
            One server in this process, with calls that are live all the time and some that are made, answered and \
            ended by real phones. In each round the core thread's CPU time is taken over ten seconds without a watcher \
            and over ten with one. Ends with status 1 when watching costs 1 % of a processor or more, by the median of \
            the rounds; with 2 when there is no result.
            """)

    @Option(help: "Calls that are live all the time.")
    var calls = 10_000
    @Option(help: "How often it is measured.")
    var rounds = 5

    func validate() throws {
        guard 1...100 ~= rounds else { throw ValidationError("--rounds is 1 to 100.") }
        guard 0...200_000 ~= calls else { throw ValidationError("--calls is 0 to 200,000.") }
    }

    func run() async throws {
        let comparison: WatchComparison
        do {
            comparison = try await WatchBenchmark(liveCalls: calls, rounds: rounds).run { round in
                print(
                    String(
                        format: "core %.2f %% alone, %.2f %% watched; %d calls, %d changes told",
                        round.coreAlone * 100, round.coreWatched * 100, round.callsWatched, round.views))
            }
        } catch {
            FileHandle.standardError.write(Data("reveille-bench: \(error)\n".utf8))
            throw ExitCode(2)
        }
        print("\n" + comparison.text)
        if !comparison.isWithinLimit { throw ExitCode(1) }
    }
}
