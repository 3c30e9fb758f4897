/// What a load test is failed for: `invite_ringing.p99>50ms`.
///
/// A stage with one of its times, or a figure by its key; a relation; a number with its unit.
public struct LoadCondition: Equatable, Sendable {
    /// What of a stage is compared.
    public enum Measure: String, CaseIterable, Sendable { case count, min, mean, p50, p90, p99, p999, max }

    enum Subject: Equatable, Sendable {
        case stage(LoadStage, Measure)
        case figure(key: String)
    }

    enum Relation: String, CaseIterable, Sendable {
        // The longer ones first, as they are looked for.
        case atLeast = ">="
        case atMost = "<="
        case above = ">"
        case below = "<"

        func holds(_ value: Double, _ limit: Double) -> Bool {
            switch self {
            case .atLeast: value >= limit
            case .atMost: value <= limit
            case .above: value > limit
            case .below: value < limit
            }
        }
    }

    /// As it was given.
    public let text: String
    let subject: Subject
    let relation: Relation
    /// In the unit of what it is compared with: of times, microseconds.
    let limit: Double

    public init(_ text: String) throws(LoadError) {
        self.text = text
        guard let (relation, place) = Self.relation(in: text) else {
            throw LoadError("it has none of >, >=, <, <=; write it as 'invite_ringing.p99>50ms'")
        }
        self.relation = relation
        let name = text[..<place.lowerBound].trimmed
        let value = text[place.upperBound...].trimmed
        let unit: Figure.Unit
        (subject, unit) = try Self.subject(name)
        limit = try Self.value(value, unit)
    }

    private static func relation(in text: String) -> (Relation, Range<String.Index>)? {
        for relation in Relation.allCases {
            if let place = text.firstRange(of: relation.rawValue) { return (relation, place) }
        }
        return nil
    }

    private static func subject(_ name: String) throws(LoadError) -> (Subject, Figure.Unit) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        if let stage = LoadStage.allCases.first(where: { $0.key == parts[0] }) {
            guard parts.count == 2, let measure = Measure(rawValue: parts[1]) else {
                let names = Measure.allCases.map { "\(stage.key).\($0.rawValue)" }.joined(separator: ", ")
                throw LoadError("of the stage \(stage.key) there are \(names)")
            }
            return (.stage(stage, measure), measure == .count ? .count : .microseconds)
        }
        guard parts.count == 1, let kind = LoadFigure.kind(of: name) else {
            throw LoadError("there is no stage or figure '\(parts[0])'; man reveille-load has all of them")
        }
        return (.figure(key: name), kind.unit)
    }

    /// What one of each unit is, by what it is written as.
    private static func units(_ unit: Figure.Unit) -> [String: Double] {
        switch unit {
        case .count: ["": 1]
        case .perSecond: ["": 1, "/s": 1]
        case .seconds: ["s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6]
        case .microseconds: ["us": 1, "µs": 1, "ms": 1e3, "s": 1e6]
        case .bytes: ["B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9]
        case .cores: ["": 1, "cores": 1]
        case .ratio: ["": 1, "%": 0.01]
        }
    }

    private static func value(_ text: String, _ unit: Figure.Unit) throws(LoadError) -> Double {
        let number = text.prefix { $0.isNumber || $0 == "." || $0 == "-" }
        let units = units(unit)
        guard let value = Double(number), let factor = units[text.dropFirst(number.count).trimmed] else {
            let names = units.keys.filter { !$0.isEmpty }.sorted().joined(separator: ", ")
            let expected =
                names.isEmpty ? "a number" : units[""] != nil ? "a number, or one in \(names)" : "one in \(names)"
            throw LoadError("'\(text)' is no limit; write \(expected)")
        }
        return value * factor
    }

    /// Looks at what a run came to.
    public func judge(_ report: LoadReport) -> Judgement {
        let (value, unit) = value(in: report)
        guard let value, value.isFinite else {
            return Judgement(condition: self, value: nil, text: "", hasFailed: true)
        }
        let text = unit == .microseconds ? Self.milliseconds(value) : Figure.text(value, unit)
        return Judgement(condition: self, value: value, text: text, hasFailed: relation.holds(value, limit))
    }

    private static func milliseconds(_ microseconds: Double) -> String {
        microseconds < 1000
            ? Figure.text(microseconds, .microseconds)
            : StageReport.milliseconds(UInt64(microseconds.rounded())) + " ms"
    }

    private func value(in report: LoadReport) -> (Double?, Figure.Unit) {
        switch subject {
        case .figure(let key):
            let figure = report.figures.first { $0.key == key }
            return (figure?.value, figure?.unit ?? .count)
        case .stage(let stage, .count):
            return (Double(report.stages.first { $0.key == stage.key }?.count ?? 0), .count)
        case .stage(let stage, let measure):
            let found = report.stages.first { $0.key == stage.key && $0.count > 0 }
            return (found.map { $0.value(of: measure) }, .microseconds)
        }
    }

    /// A condition, and whether a run failed by it.
    public struct Judgement: Sendable {
        public let condition: LoadCondition
        /// In the unit of what was measured; nil where it was not.
        public let value: Double?
        /// With its unit.
        let text: String
        /// What was not measured fails too: nobody knows whether it is within the limit.
        public let hasFailed: Bool

        /// For people.
        public var words: String {
            let subject = condition.text.prefix { !"<>".contains($0) }.trimmed
            return value == nil
                ? "\(subject) was not measured, and --fail-if '\(condition.text)' asks for it"
                : "\(subject) is \(text): --fail-if '\(condition.text)'"
        }
    }
}

extension StageReport {
    /// In microseconds; of `count`, how many.
    func value(of measure: LoadCondition.Measure) -> Double {
        switch measure {
        case .count: Double(count)
        case .min: Double(min)
        case .mean: mean
        case .p50: Double(p50)
        case .p90: Double(p90)
        case .p99: Double(p99)
        case .p999: Double(p999)
        case .max: Double(max)
        }
    }
}

extension StringProtocol {
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
