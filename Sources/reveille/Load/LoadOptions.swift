import ArgumentParser
import LoadTest
import PushSimulator

/// The options that describe a load; nil for an option that was not given.
struct LoadOptions: ParsableArguments {
    private static let most = 1_000_000
    private static let mostRegistered = 100_000_000
    private static let longest = Duration.seconds(86_400)
    /// As many devices as a server lets one call ring.
    private static let mostLegs = 1_000
    private static let time = "time"

    @Option(
        help: "Sessions beyond those of the load (default: 0); for register, the sessions to open (default: 1000).")
    var sessions: Int?
    @Option(
        help: ArgumentHelp(
            "Standing calls outside the load, four per pair of additional sessions (default: 0).", valueName: "calls"))
    var standing: Int?
    @Option(
        help: ArgumentHelp(
            "Devices registered with the test's own server before it starts, which take no part in calls (default: 0).",
            valueName: "devices"))
    var registered: Int?
    @Option(help: ArgumentHelp("Open loop: operations that are due per second.", valueName: "per-second"))
    var rate: Double?
    @Option(
        help: ArgumentHelp(
            "Closed loop: operations at a time (default, without --rate: \(Self.concurrencies)).", valueName: "n"))
    var concurrency: Int?
    @Option(
        help: ArgumentHelp(
            """
            With --rate: the most operations at a time, each with its own phones (default: those due in 2 s, or in 5 s \
            for fanout --asleep, plus those due while a call is held; for mixed, the sum over its scenarios).
            """,
            valueName: "n"))
    var places: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Length of the measured part, in seconds or as 500ms, 90s, 15m or 1h30m (default: 10s).", valueName: time),
        transform: TimeSpan.parse)
    var duration: Duration?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Full load before the measured part; it does not count (default: 1s plus the time of --hold).",
            valueName: time),
        transform: TimeSpan.parse)
    var warmup: Duration?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Before the warm-up: the time in which the load grows from zero.", valueName: time),
        transform: TimeSpan.parse)
    var ramp: Duration?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long a connected call is held (default: 0); for register, how long sessions are kept (default: 1s).",
            valueName: time),
        transform: TimeSpan.parse)
    var hold: Duration?
    @Option(
        help: ArgumentHelp(
            """
            The share of calls that are answered, 0 to 1 (default: 1); of the others, half are declined and half \
            cancelled by the caller.
            """,
            valueName: "part"))
    var answerRatio: Double?
    @Flag(help: "Invites and answers carry a session description of about 600 bytes.")
    var sdp = false
    @Option(
        help: ArgumentHelp(
            "fanout and mixed: the devices of one call, 1 to 1000 (default: 100; for mixed, 10).", valueName: "n"))
    var fanout: Int?
    @Flag var fanoutKind: LoadPlan.FanOutKind?
    @Flag(help: "The devices are asleep, and a push wakes each.") var asleep = false
    @Option(
        help: ArgumentHelp(
            "The app on sleeping phones. It reads pushes by its plugin's rules (default: reveille).", valueName: "app"))
    var app: PhoneApp?
    @Option(
        help: ArgumentHelp(
            "mixed: the share of each scenario (default: online=70,wake=20,fanout=5,churn=5).",
            valueName: "scenario=share,..."),
        transform: LoadWeights.parse)
    var weights: LoadWeights?
    @Flag(help: "mixed: with cut connections, callers who cancel, and pushes that are refused, late or lost.")
    var faults = false
    @Option(
        help: """
            Determines the users' names and every random choice except the calls' ids. With the same --threads it \
            repeats a run (default: a random seed).
            """)
    var seed: UInt64?
    @Option(
        help: """
            Phone threads, which generate the load, 1 to 64 (default: one per usable core, at most \
            \(LoadPlan.mostStandardThreads)).
            """)
    var threads: Int?

    // MARK: The plan

    private static let concurrencies = LoadPlan.Scenario.allCases.map { "\($0.rawValue) \(standardConcurrency($0))" }
        .joined(separator: ", ")

    /// Saturates a small machine, and ends soon.
    private static func standardConcurrency(_ scenario: LoadPlan.Scenario) -> Int {
        switch scenario {
        case .register: 100
        case .online, .relay: 50
        case .wake, .churn, .mixed: 20
        case .fanout: 1
        }
    }

    func pace(for scenario: LoadPlan.Scenario) throws -> LoadPlan.Pace {
        guard let rate else {
            let concurrency = concurrency ?? Self.standardConcurrency(scenario)
            try Self.check("concurrency", concurrency, 1...100_000)
            return .closed(concurrency: concurrency)
        }
        guard concurrency == nil else {
            throw ValidationError("--rate and --concurrency exclude each other: give one of them.")
        }
        guard rate > 0, rate <= Double(Self.most) else {
            throw ValidationError("--rate is more than 0 and at most \(Self.most) a second, not \(rate).")
        }
        return .open(rate: rate)
    }

    func apply(to plan: inout LoadPlan) throws {
        let scenario = plan.scenario
        try applyTimes(to: &plan)
        plan.sessions = sessions ?? (scenario == .register ? 1_000 : 0)
        try Self.check("sessions", plan.sessions, (scenario == .register ? 1 : 0)...Self.most)
        if let standing {
            guard scenario != .register else { throw Self.foreign("standing", scenario, "scenarios of calls") }
            try Self.check("standing", standing, 0...Self.most)
            plan.standing = standing
        }
        if let registered {
            try Self.check("registered", registered, 0...Self.mostRegistered)
            plan.registered = registered
        }
        if let answerRatio {
            guard scenario.hasAnswers else {
                throw Self.foreign("answer-ratio", scenario, "scenarios whose calls are answered or not")
            }
            guard (0...1).contains(answerRatio) else {
                throw ValidationError("--answer-ratio is 0 to 1, not \(answerRatio).")
            }
            plan.answerRatio = answerRatio
        }
        guard !sdp || scenario.hasCalls else { throw Self.foreign("sdp", scenario, "scenarios that place calls") }
        plan.hasDescriptions = sdp
        if scenario != .mixed {
            guard weights == nil else { throw Self.foreign("weights", scenario, "mixed") }
            guard !faults else { throw Self.foreign("faults", scenario, "mixed") }
        }
        if let weights { plan.weights = weights.shares }
        plan.faults = faults
        try applyFanOut(to: &plan)
        if let app {
            guard scenario == .wake || scenario == .mixed || asleep else {
                throw Self.foreign("app", scenario, "wake, mixed, and fanout --asleep")
            }
            plan.app = app
        }
        try applyPlaces(to: &plan)
        plan.threads = threads ?? LoadPlan.standardThreads
        try Self.check("threads", plan.threads, 1...64)
        // Short enough to be typed again. Two runs on one server at once have different users.
        plan.seed = seed ?? .random(in: 1...999_999)
    }

    private func applyTimes(to plan: inout LoadPlan) throws {
        let scenario = plan.scenario
        if !scenario.hasDuration {
            let those = "scenarios that go on for a time"
            guard duration == nil else {
                throw Self.foreign("duration", scenario, those, "it ends with its last session: give --sessions")
            }
            guard warmup == nil else {
                throw Self.foreign("warmup", scenario, those, "each of its sessions counts: leave it out")
            }
        }
        if let duration {
            try Self.check("duration", duration, from: .milliseconds(100))
            plan.duration = duration
        }
        if let ramp {
            try Self.check("ramp", ramp, from: .zero)
            plan.ramp = ramp
        }
        plan.hold = hold ?? (scenario == .register ? .seconds(1) : .zero)
        guard hold == nil || scenario.hasHold else {
            throw Self.foreign("hold", scenario, "scenarios that end what they begin")
        }
        try Self.check("hold", plan.hold, from: .zero)
        if let warmup {
            try Self.check("warmup", warmup, from: .zero)
            plan.warmUp = warmup
        } else if scenario.hasDuration {
            // In the measured part as many calls are to end as begin.
            plan.warmUp = min(Self.longest, plan.warmUp + plan.hold)
        }
    }

    private func applyPlaces(to plan: inout LoadPlan) throws {
        guard let places else { return }
        guard rate != nil else {
            throw ValidationError("--places goes with --rate: a closed loop has as many as --concurrency.")
        }
        guard plan.scenario != .register else {
            throw Self.foreign("places", plan.scenario, "scenarios whose phones are used again")
        }
        try Self.check("places", places, 1...100_000)
        plan.places = places
    }

    private func applyFanOut(to plan: inout LoadPlan) throws {
        if !plan.hasFanOut {
            let words = "fanout, and mixed with fanout among its --weights"
            guard fanout == nil else { throw Self.foreign("fanout", plan.scenario, words) }
            guard !asleep else { throw Self.foreign("asleep", plan.scenario, words) }
            if let fanoutKind { throw Self.foreign(fanoutKind.rawValue, plan.scenario, words) }
        }
        if let fanout {
            try Self.check("fanout", fanout, 1...Self.mostLegs)
            plan.fanOut = fanout
        }
        if let fanoutKind { plan.fanOutKind = fanoutKind }
        plan.fanOutAsleep = asleep
    }

    // MARK: Faults

    static func check(_ option: String, _ value: Int, _ range: ClosedRange<Int>) throws {
        guard range.contains(value) else {
            throw ValidationError("--\(option) is \(range.lowerBound) to \(range.upperBound), not \(value).")
        }
    }

    private static func check(_ option: String, _ value: Duration, from least: Duration) throws {
        guard value >= least, value <= longest else {
            throw ValidationError("--\(option) is \(least == .zero ? "0" : "100ms") to 1d.")
        }
    }

    /// - Parameter instead: why, and what to do about it, where that does not go without saying.
    private static func foreign(
        _ option: String, _ scenario: LoadPlan.Scenario, _ those: String, _ instead: String? = nil
    ) -> any Error {
        let reason = instead.map { "; \($0)" } ?? ""
        return ValidationError("--\(option) is for \(those), not for \(scenario.rawValue)\(reason).")
    }
}
