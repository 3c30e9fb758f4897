import ArgumentParser
import Simulation

/// Runs the simulation of the whole system, one seed or many.
@main
struct ReveilleSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reveille-sim",
        abstract: "Simulates the whole system under faults, each run from one seed.",
        discussion: """
            The same seed repeats the same run. If a run violates an invariant, the program prints the command that \
            replays it, and exits with status 1.
            """)

    @Option(help: "Replay this seed.")
    var seed: UInt64?
    @Option(help: "Run these seeds: 100..<200.")
    var seeds: String?
    @Option(help: "Run this many seeds, from 1 on.")
    var count: UInt64?
    @Option(help: "Steps with faults in each run.")
    var steps = Simulation.defaultSteps
    @Flag(help: "Let several server processes share a database in every run, not only in a third of them.")
    var realms = false
    @Flag(help: "Print every input and effect with its virtual time in milliseconds.")
    var trace = false
    @Flag(help: "Print a digest of the inputs and effects of each run. It is the same in each process.")
    var fingerprint = false
    @Flag(help: "On a violation, look for a run of the same seed with fewer steps that also violates an invariant.")
    var shrink = false
    @Flag(help: "Continue after a violation.")
    var keepGoing = false
    @Flag(help: "Print how often each event happened.")
    var coverage = false

    func validate() throws {
        guard [seed != nil, seeds != nil, count != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Give one of --seed, --seeds and --count.")
        }
        guard steps > 0 else { throw ValidationError("--steps is at least 1.") }
        if seeds != nil, range == nil { throw ValidationError("Give seeds as 100..<200.") }
    }

    private var range: Range<UInt64>? {
        if let seed { return seed..<seed + 1 }
        if let count { return 1..<count + 1 }
        let parts = seeds?.split(separator: "..<", omittingEmptySubsequences: true).map { UInt64($0) } ?? []
        guard parts.count == 2, let from = parts[0], let to = parts[1], from < to else { return nil }
        return from..<to
    }

    func run() throws {
        guard let range else { return }
        var total = Coverage()
        var failures = 0
        var done: UInt64 = 0
        for seed in range {
            let report = report(of: seed)
            total.add(report.coverage)
            done += 1
            if !report.violations.isEmpty {
                failures += 1
                explain(report)
                if !keepGoing { break }
            }
            if done.isMultiple(of: 1000) { print("\(done) seeds, \(failures) failed") }
        }
        if coverage { for (name, count) in total.lines { print("\(count)\t\(name)") } }
        print("\(done) seeds, \(failures) failed")
        if failures > 0 { throw ExitCode(1) }
    }

    /// Runs the seed, and prints what is asked for of the run.
    private func report(of seed: UInt64) -> Simulation.Report {
        var digest = Fingerprint()
        func note(_ line: String) {
            if trace { print(line) }
            if fingerprint { digest.mix(line) }
        }
        let report = simulation(seed, steps: steps, trace: trace || fingerprint ? note : nil).run()
        if fingerprint {
            digest.mix(report.fingerprint.description)
            print("seed \(seed): \(digest)")
        }
        return report
    }

    private func simulation(_ seed: UInt64, steps: Int, trace: ((String) -> Void)? = nil) -> Simulation {
        Simulation(seed: seed, steps: steps, isRealm: realms, trace: trace)
    }

    private func explain(_ report: Simulation.Report) {
        print("seed \(report.seed), step \(report.steps): \(report.violations.joined(separator: "; "))")
        let shortest = shrink ? shrunk(report) : steps
        let realm = realms ? " --realms" : ""
        print("  replay: reveille-sim --seed \(report.seed) --steps \(shortest)\(realm) --trace")
    }

    /// The fewest steps with faults after which the same seed still fails; not every one in between must.
    private func shrunk(_ report: Simulation.Report) -> Int {
        var failing = min(steps, report.steps)
        var passing = 0
        while failing - passing > 1 {
            let middle = (failing + passing) / 2
            let fails = !simulation(report.seed, steps: middle).run().violations.isEmpty
            if fails { failing = middle } else { passing = middle }
        }
        return failing
    }
}
