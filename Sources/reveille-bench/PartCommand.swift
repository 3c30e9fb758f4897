import ArgumentParser
import Benchmarks
import Foundation

/// A subcommand that measures one part of the project by itself, beside a reference in the same rounds.
///
/// Ends with status 0 whatever it finds, and with 2 when there is no result.
protocol PartCommand: AsyncParsableCommand {
    var options: PartOptions { get }

    func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport
}

struct PartOptions: ParsableArguments {
    @Option(help: "How often each figure is measured.")
    var rounds = 5
    @Option(help: "How many seconds each figure, and its reference, is measured in each round. With 0 once.")
    var seconds = 0.1
    @OptionGroup var result: ResultOptions

    func validate() throws {
        guard 1...1000 ~= rounds else { throw ValidationError("--rounds is 1 to 1000.") }
        guard 0...60 ~= seconds else { throw ValidationError("--seconds is 0 to 60.") }
    }
}

extension PartCommand {
    static var discussion: String {
        """
        Each figure is a ratio: its cost over that of a reference, which is work of a known kind in the same round. \
        `recorded` is what the ratio was when it was last noted, by a release build on one machine; how far it is from \
        that says more than how long it takes. Ends with status 2 when there is no result, else with 0.
        """
    }

    func run() async throws {
        do {
            let report = try await measure(PartSettings(rounds: options.rounds, seconds: options.seconds)) { round in
                FileHandle.standardError.write(Data("round \(round) of \(options.rounds)\n".utf8))
            }
            try options.result.tell(report.text)
            try options.result.file?.write(report.json)
        } catch {
            FileHandle.standardError.write(Data("reveille-bench: \(error)\n".utf8))
            throw ExitCode(2)
        }
    }
}
