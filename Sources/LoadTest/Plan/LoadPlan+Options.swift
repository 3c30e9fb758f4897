import CallVocabulary
import PushSimulator
import StoreInterface

extension LoadPlan {
    /// The options of the command that give this plan, with their values, in the order of its help. Includes defaults
    /// that may change.
    public var entries: [(option: String, value: String)] {
        var entries: [(option: String, value: String)] = []
        func add(_ option: String, _ value: String) { entries.append((option, value)) }
        if sessions > 0 { add("--sessions", "\(sessions)") }
        if standing > 0 { add("--standing", "\(standing)") }
        if registered > 0 { add("--registered", "\(registered)") }
        switch pace {
        case .open(let rate): add("--rate", rate == rate.rounded() ? "\(Int64(rate))" : "\(rate)")
        case .closed(let concurrency): add("--concurrency", "\(concurrency)")
        }
        if let givenPlaces { add("--places", "\(givenPlaces)") }
        if scenario.hasDuration {
            add("--duration", Self.text(duration))
            add("--warmup", Self.text(warmUp))
        }
        if ramp > .zero { add("--ramp", Self.text(ramp)) }
        if scenario.hasHold { add("--hold", Self.text(hold)) }
        if scenario.hasAnswers {
            add("--answer-ratio", answerRatio == answerRatio.rounded() ? "\(Int(answerRatio))" : "\(answerRatio)")
        }
        if hasDescriptions { add("--sdp", "") }
        if hasFanOut {
            add("--fanout", "\(fanOut)")
            add("--\(fanOutKind.rawValue)", "")
            if fanOutAsleep { add("--asleep", "") }
        }
        if app != .reveille { add("--app", app.rawValue) }
        if scenario == .mixed {
            add("--weights", weightsText)
            if faults { add("--faults", "") }
        }
        add("--seed", "\(seed)")
        add("--threads", "\(threads)")
        switch target {
        case .own(let server):
            add("--shards", "\(server.shards)")
            if server.usesTLS { add("--tls", "") }
            // The realm is of the run, so the command makes another.
            if let store = server.store { add("--store", PostgresAddress.redacted(store.uri)) }
            if let period = server.killsHomeEvery { add("--kill-home-every", Self.text(period)) }
            if let folder = server.dataFolder { add("--data", folder) }
        case .running(let server):
            add("--target", server.url)
            add("--secret-file", server.secretFile)
            switch server.admin {
            case nil: break
            case .folder(let folder): add("--data", folder)
            case .socket(let name), .url(let name, _): add("--server", name)
            }
            if let file = server.caFile { add("--ca-file", file) }
            if let url = server.metricsURL { add("--metrics-url", url) }
            if let folder = server.simulatorFolder { add("--push-sim-data", folder) }
        }
        return entries
    }

    /// The command for a shell that repeats the plan.
    public var commandLine: String {
        let words = ["reveille", "load", scenario.rawValue] + entries.flatMap { [$0.option, $0.value] }
        return words.filter { !$0.isEmpty }.map(Self.quoted).joined(separator: " ")
    }

    /// Whether it has fan-out calls.
    public var hasFanOut: Bool {
        scenario == .fanout || scenario == .mixed && weights[.fanout, default: 0] > 0
    }

    private var weightsText: String {
        Scenario.allCases.compactMap { scenario in
            weights[scenario].flatMap { $0 > 0 ? "\(scenario.rawValue)=\($0)" : nil }
        }.joined(separator: ",")
    }

    /// As the command's options are written.
    public static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        return milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
    }

    /// For a shell: in quotes if it would not be one plain word.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_=,./:@+%".utf8.contains(byte)
            }
        }
        return isPlain ? word : "'" + word.replacingBytes("'", with: "'\\''") + "'"
    }
}

extension LoadPlan.Scenario {
    /// False for `register`, which ends with its last session.
    public var hasDuration: Bool { self != .register }
    /// Whether calls or sessions are held.
    public var hasHold: Bool { hasAnswers || self == .fanout || self == .register }
    /// Whether its calls may be answered or not. Those of `fanout` always are, so that each leg is told twice.
    public var hasAnswers: Bool {
        switch self {
        case .online, .wake, .mixed: true
        case .fanout, .register, .relay, .churn: false
        }
    }
    /// Whether calls are placed all the time.
    public var hasCalls: Bool { hasAnswers || self == .fanout }
    /// Whether it can be a part of a mixed load.
    public var canBeMixed: Bool { self != .mixed && self != .register }
}
