import ArgumentParser
import EventLoop
import LoadTest

struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Put load on a server, and measure its cost and the latency of calls.",
        discussion: """
            Starts its own server (and, for pushes, the push simulator) on free ports with its data in a temporary \
            folder, or takes a running one (--target), and runs one scenario against it:

              register  opens and keeps sessions: sessions per second, memory per session
              online    whole calls between phones that are online
              wake      whole calls to phones that are asleep: push, reconnect, answer
              fanout    one call to many devices or group members; the first answer wins
              relay     candidates and session descriptions in standing calls
              churn     cuts connections and resumes sessions
              mixed     several of these at once
              compare   no load: compares two reports of --json

            An operation is a session, a call, a message or a resume. With --rate operations begin at random times at \
            that rate (open loop). Latency counts from when an operation was due, and an operation without a free \
            phone is a failure. With --concurrency a fixed number of operations run at a time, and the next begins when \
            one ends (closed loop). Without either option the loop is closed, with the scenario's default concurrency.

            Exit code 0: the run passed. 1: an operation failed, an invariant was violated, or a --fail-if holds. 2: the \
            test could not run, or its report could not be written. 64: the arguments are wrong, and nothing was \
            started. 130: Ctrl-C, 129: SIGHUP, 143: SIGTERM; the report covers the run so far. A second Ctrl-C \
            ends the run at once.

              reveille load online
              reveille load online --rate 500 --duration 30 --html report.html
              reveille load online --json - > report.json
              reveille load online --rate 500 --fail-if 'invite_ringing.p99>50ms'
              reveille load compare before.json after.json
              reveille load register --sessions 10000 --hold 5s
              reveille load register --sessions 5000 --tls
              reveille load online --standing 10000
              reveille load online --registered 1000000
              reveille load wake --concurrency 50
              reveille load fanout --fanout 1000 --members --asleep
              reveille load mixed --faults --rate 200 --duration 30m
              reveille load mixed --weights online=70,wake=20,churn=10
              reveille load online --target wss://calls.example.org --secret-file KEY
              reveille load fanout --members --target ws://127.0.0.1:7350 --data FOLDER
            """)

    @Argument(help: ArgumentHelp("The scenario, or compare.", valueName: "scenario")) var task: LoadTask
    @Argument(help: "With compare: the two reports.", completion: .file()) var reports: [String] = []
    @OptionGroup var work: LoadOptions
    @Option(
        help: ArgumentHelp(
            """
            Exit with 1 if this holds: a stage with count, min, mean, p50, p90, p99, p999 or max, or a figure; >, >=, \
            < or <=; a number with its unit, as in invite_ringing.p99>50ms. May be given more than once.
            """,
            valueName: "condition"),
        transform: LoadCondition.parse)
    var failIf: [LoadCondition] = []
    @OptionGroup var target: LoadTargetOptions
    @OptionGroup var files: LoadFiles

    func validate() throws {
        switch task {
        case .scenario(let scenario):
            guard let extra = reports.first else { return _ = try plan(scenario) }
            throw ValidationError("'\(extra.shown)' is too much: \(scenario.rawValue) takes options alone.")
        case .compare:
            guard reports.count == 2 else { throw ValidationError("Name the two reports: load compare BEFORE AFTER.") }
        }
    }

    func run() async throws {
        guard case .scenario(let scenario) = task else { return try LoadComparisonText.print(reports[0], reports[1]) }
        let plan = try plan(scenario)
        try checkBefore()
        DescriptorLimit.set(to: plan.descriptors)
        try await run(plan)
    }

    /// Checks the named files before anything starts.
    func checkBefore() throws {
        try target.checkFiles()
        try files.check()
    }

    /// - Throws: `ValidationError` with the option, its value, and what is allowed.
    func plan(_ scenario: LoadPlan.Scenario) throws -> LoadPlan {
        var plan = LoadPlan(scenario, pace: try work.pace(for: scenario), target: try target.chosen)
        try work.apply(to: &plan)
        try target.check(for: plan)
        return plan
    }
}

/// A scenario, or reports to compare.
enum LoadTask: ExpressibleByArgument {
    case scenario(LoadPlan.Scenario)
    case compare

    private static let comparison = "compare"

    init?(argument: String) {
        if argument == Self.comparison {
            self = .compare
        } else if let scenario = LoadPlan.Scenario(rawValue: argument) {
            self = .scenario(scenario)
        } else {
            return nil
        }
    }

    static var allValueStrings: [String] { LoadPlan.Scenario.allCases.map(\.rawValue) + [comparison] }
}

extension LoadCondition {
    static func parse(_ text: String) throws -> LoadCondition {
        do {
            return try LoadCondition(text)
        } catch {
            throw ValidationError("--fail-if '\(text.shown)': \(error.description.shown).")
        }
    }
}

extension LoadPlan.FanOutKind: EnumerableFlag {
    public static func help(for value: Self) -> ArgumentHelp? {
        switch value {
        case .devices: "The devices belong to one user (default)."
        case .members: "The devices belong to the members of a group, one each."
        }
    }
}
