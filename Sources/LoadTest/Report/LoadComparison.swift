/// Two reports of one scenario side by side.
public struct LoadComparison: Sendable {
    public struct Row: Equatable, Sendable {
        public let name: String
        public let before: String
        public let after: String
        /// Of the second to the first, as `+12 %`; empty where the first is 0.
        public let change: String
    }

    public let rows: [Row]
    /// Why the difference may not be the server's.
    public let doubts: [String]

    public init(_ before: LoadDocument, _ after: LoadDocument) throws(LoadError) {
        guard before.scenario == after.scenario else {
            throw LoadError(
                "the first is of load \(before.scenario), the second of load \(after.scenario): compare two of "
                    + "one scenario")
        }
        guard before.reportVersion == after.reportVersion else {
            throw LoadError(
                "the first is of report version \(before.reportVersion), the second of \(after.reportVersion): "
                    + "take both with one version of reveille")
        }
        rows = Self.figures(before, after) + Self.stages(before, after)
        doubts = Self.doubts(before, after)
    }

    private static func figures(_ before: LoadDocument, _ after: LoadDocument) -> [Row] {
        Headlines.keys.compactMap { key in
            guard let first = before.figures[key], let second = after.figures[key], let a = first.value,
                let b = second.value, let unit = Figure.Unit(rawValue: first.unit)
            else { return nil }
            // By the kernel and by its own metrics is the same thing twice.
            if key == "server_cpu_per_piece_by_metrics", before.figures["server_cpu_per_piece"] != nil { return nil }
            return Row(
                name: Headlines.name(key), before: Figure.text(a, unit), after: Figure.text(b, unit),
                change: change(a, b))
        }
    }

    private static func stages(_ before: LoadDocument, _ after: LoadDocument) -> [Row] {
        LoadStage.allCases.flatMap { stage -> [Row] in
            guard let first = before.stages[stage.key], let second = after.stages[stage.key], first.count > 0,
                second.count > 0
            else { return [] }
            let times = [("p50", first.p50, second.p50), ("p99", first.p99, second.p99)]
            return times.map { measure, a, b in
                Row(
                    name: "\(stage.name), \(measure)", before: StageReport.milliseconds(a) + " ms",
                    after: StageReport.milliseconds(b) + " ms", change: change(Double(a), Double(b)))
            }
        }
    }

    private static func change(_ before: Double, _ after: Double) -> String {
        guard before > 0 else { return "" }
        let percent = (after / before - 1) * 100
        return (percent >= 0 ? "+" : "") + Figure.number(percent) + " %"
    }

    private static func doubts(_ before: LoadDocument, _ after: LoadDocument) -> [String] {
        var doubts: [String] = []
        let machines = [before, after].map { document in
            let environment = document.environment
            return "\(environment.cores) cores, \(environment.processor ?? "unknown"), \(environment.kernel)"
        }
        if machines[0] != machines[1] {
            doubts.append("the machines differ: \(machines[0]); then \(machines[1])")
        }
        for option in Set(before.plan.keys).union(after.plan.keys).sorted() where option != "--seed" {
            let (first, second) = (before.plan[option], after.plan[option])
            if first != second {
                doubts.append("\(option) was \(first ?? "not given"), then \(second ?? "not given")")
            }
        }
        for (name, document) in [("first", before), ("second", after)] {
            if !document.passed { doubts.append("the \(name) run failed") }
            guard !document.doubts.isEmpty else { continue }
            doubts.append(
                "the \(name) has " + FailureCounts.count(document.doubts.count, "doubt") + " about its figures")
        }
        return doubts
    }
}
