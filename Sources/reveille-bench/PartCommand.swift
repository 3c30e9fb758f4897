import ArgumentParser
import Benchmarks
import Foundation
import StoreInterface

extension BenchmarkPart: ExpressibleByArgument {}

/// Measures one component, beside a reference operation in the same rounds.
struct PartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "part",
        abstract: "Measures one component: CPU time, heap allocations, and the ratio to a reference operation.",
        discussion: """
            Each figure is a ratio: its cost over that of a reference operation in the same round. To see what a change \
            costs, write the result of the old build with --json, and name that file with --baseline for the new build. \
            Exit code 0 for any result, 2 if there is none.

            codec     decoding and encoding the frames of a call
            core      calls in the call machine alone, by kind, by legs, among few and many others
            calls     complete calls without sockets, from bytes to bytes, and into a store
            timers    the deadline queue with few and with many pending
            payloads  the request and body of a push, for each payload profile
            store     commits to a store in a temporary folder
            """)

    @Argument(help: "The component.")
    var part: BenchmarkPart
    @Option(help: "How often each figure is measured.")
    var rounds = 5
    @Option(help: "How many seconds each figure, and its reference, is measured in each round. With 0 once.")
    var seconds = 0.1
    @Option(help: ArgumentHelp("Compare with this result of the same component.", valueName: "file"))
    var baseline: String?
    @Option(
        help: ArgumentHelp(
            "With store: measure this PostgreSQL database too, in its schema reveille_bench, which is dropped first.",
            valueName: "uri"))
    var database: String?
    @OptionGroup var result: ResultOptions

    func validate() throws {
        guard database.map({ PostgresAddress($0)?.hasPassword == false }) ?? true else {
            throw ValidationError("--database is a URI without a password, postgres://…; give that in PGPASSWORD")
        }
        guard 1...1000 ~= rounds else { throw ValidationError("--rounds is 1 to 1000.") }
        guard 0...60 ~= seconds else { throw ValidationError("--seconds is 0 to 60.") }
    }

    func run() async throws {
        do {
            let baseline = try baseline.map { try PartReport(file: $0, of: part) }
            var settings = PartSettings(rounds: rounds, seconds: seconds)
            settings.database = database.flatMap { PostgresAddress($0, realm: "reveille_bench") }
            let report = try await part.measure(settings) { round in
                FileHandle.standardError.write(Data("round \(round) of \(rounds)\n".utf8))
            }
            try result.tell(report.text(against: baseline))
            try result.file?.write(report)
        } catch {
            FileHandle.standardError.write(Data("reveille-bench: \(error)\n".utf8))
            throw ExitCode(2)
        }
    }
}
