import CallVocabulary
import PushSimulator

/// The plan of a load test.
public struct LoadPlan: Sendable {
    /// The kind of operation.
    public enum Scenario: String, CaseIterable, Sendable {
        /// Opens and keeps sessions.
        case register
        /// Whole calls between phones that are online.
        case online
        /// Whole calls to phones that sleep and are woken by a push.
        case wake
        /// Calls to many devices at once; the first answer wins.
        case fanout
        /// Candidates and session descriptions in standing calls.
        case relay
        /// Connections that are cut, and sessions that are resumed.
        case churn
        /// Several of these side by side.
        case mixed
    }

    /// When the next operation begins.
    public enum Pace: Equatable, Sendable {
        /// Open loop: `rate` per second, however slow the server is. Latency counts from when an operation was due.
        case open(rate: Double)
        /// Closed loop: this many at a time, each followed by the next.
        case closed(concurrency: Int)
    }

    /// How the devices of a fan-out belong together.
    public enum FanOutKind: String, CaseIterable, Sendable {
        /// One user with that many devices.
        case devices
        /// A group of that many members with one device each.
        case members
    }

    public var scenario: Scenario
    public var pace: Pace
    /// Sessions besides those at work; for ``Scenario/register`` the sessions to open.
    public var sessions = 0
    /// Standing calls outside the load, four per pair of further sessions. Not of ``Scenario/register``.
    public var standing = 0
    /// Devices registered with the run's own server before it starts, besides those of the load.
    public var registered = 0
    /// The measured part.
    public var duration = Duration.seconds(10)
    /// Under full load, and not measured.
    public var warmUp = Duration.seconds(1)
    /// The time before the warm-up in which the load grows from zero.
    public var ramp = Duration.zero
    /// How long a call stands once it is connected; for ``Scenario/register``, how long the sessions are kept.
    public var hold = Duration.zero
    /// The part of the calls that is answered, 0 to 1; of the others one half is declined and one half ends by the
    /// caller's hangup.
    public var answerRatio = 1.0
    /// The devices or members of one call of ``Scenario/fanout``, or of that part of ``Scenario/mixed``.
    public var fanOut: Int
    public var fanOutKind = FanOutKind.devices
    /// Whether invites and answers carry a session description.
    public var hasDescriptions = false
    /// Whether those sleep and have to be woken.
    public var fanOutAsleep = false
    /// The app on phones that sleep, by the rules of its plugin. It asks for the payload profile of its name.
    public var app = PhoneApp.reveille
    /// Of ``Scenario/mixed``: the share of each, as whole numbers.
    public var weights: [Scenario: Int] = [.online: 70, .wake: 20, .fanout: 5, .churn: 5]
    /// Of ``Scenario/mixed``: faults on purpose: sockets cut in a call, callers who hang up while it rings, pushes that
    /// the provider refuses, delays or loses.
    public var faults = false
    /// For every random choice: arrivals, callers and callees, outcomes, faults.
    public var seed: UInt64 = 1
    /// Threads of phones.
    public var threads = 1
    public var target: LoadTarget
    /// What ``places`` were set to.
    private(set) var givenPlaces: Int?

    public init(_ scenario: Scenario, pace: Pace, target: LoadTarget) {
        self.scenario = scenario
        self.pace = pace
        self.target = target
        fanOut = Self.standardFanOut(scenario)
    }

    /// More than one: on one thread every phone waits for the turn of all others, and so does the server.
    public static var standardThreads: Int { max(1, min(mostStandardThreads, LoadEnvironment.usableCores)) }
    public static let mostStandardThreads = 4

    /// In a mix there are many such calls at a time.
    public static func standardFanOut(_ scenario: Scenario) -> Int { scenario == .mixed ? 10 : 100 }

    /// The most operations under way at once. In an open loop an operation that is due beyond them counts as not begun.
    /// The default allows for operations that take 2 s longer than the hold, 5 s if many devices are woken for each:
    /// then a server that stalls that long shows in latencies, not in missing operations.
    public var places: Int {
        get { givenPlaces ?? usualPlaces }
        set { givenPlaces = newValue }
    }

    private var usualPlaces: Int {
        guard case .open(let rate) = pace else { return concurrency }
        if scenario == .mixed { return mixedParts.reduce(0) { $0 + $1.places } }
        // Each of a fan-out has as many phones as the call has devices, and each thread needs one.
        return scenario == .fanout ? max(threads, 1 + due(.fanout, rate)) : 64 + due(scenario, rate)
    }

    /// How many operations of a scenario are due while one is under way that takes long.
    func due(_ scenario: Scenario?, _ rate: Double) -> Int {
        let time = hold.inSeconds + (scenario == .fanout && fanOutAsleep ? 5 : 2)
        return Int((rate * time).rounded(.up))
    }

    /// What a server of its own has to allow more of than servers do, by its settings below `limits`.
    var serverLimits: [String: Int] {
        var limits: [String: Int] = [:]
        if hasFanOut, fanOutKind == .devices { limits["devices_per_user"] = max(16, fanOut) }
        // Pushes that are lost on purpose are no fault of the device.
        if faults { limits["unreported_pushes"] = 1000 }
        // A phone of the load sleeps again as soon as its call is over, and is called more often than any person's.
        if needsPushes {
            for limit in [
                "pushes_per_device", "pushing_calls_per_pair", "pushing_calls_per_caller", "pushes_per_caller",
            ] { limits[limit] = 1_000_000 }
        }
        // A caller of the load places more calls than any person, to more devices.
        for limit in ["stored_bytes_per_user", "call_bytes_per_user"] { limits[limit] = 1 << 36 }
        return limits
    }

    /// Whether phones are woken by pushes.
    public var needsPushes: Bool {
        switch scenario {
        case .register, .online, .relay, .churn: false
        case .wake: true
        case .fanout: fanOutAsleep
        case .mixed: faults || weights[.wake, default: 0] > 0 || fanOutAsleep && weights[.fanout, default: 0] > 0
        }
    }

    /// The plan as it is run: with no more threads than operations at a time. Of ``Scenario/register`` all sessions
    /// count, and the measured part ends with the last.
    var settled: LoadPlan {
        var plan = self
        plan.threads = max(1, min(threads, places))
        guard scenario == .register else { return plan }
        plan.warmUp = .zero
        plan.duration = .seconds(86_400)
        return plan
    }

    /// The stage that the progress and the series show.
    var firstStage: LoadStage {
        switch scenario {
        case .register: .open
        case .online, .wake, .fanout: .inviteResult
        case .relay: .message
        case .churn: .resume
        case .mixed:
            [.online, .wake, .fanout].contains { weights[$0, default: 0] > 0 }
                ? .inviteResult
                : weights[.churn, default: 0] > 0 ? .resume : .message
        }
    }

    /// Of a closed loop; 0 of an open one.
    var concurrency: Int {
        if case .closed(let concurrency) = pace { concurrency } else { 0 }
    }

    /// From the first operation to the end of the measured part.
    public var loadTime: Duration { ramp + warmUp + duration }
}
