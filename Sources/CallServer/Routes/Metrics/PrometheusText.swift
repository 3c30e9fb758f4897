import CallVocabulary

/// Writes metrics in Prometheus' text format, version 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    enum Kind: String {
        case counter, gauge, histogram
    }

    /// Cumulative counts by upper bound; the last bound is nil.
    struct Histogram {
        var cumulative: [(bound: Double?, count: UInt64)]
        var sum: Double

        init(cumulative: [(bound: Double?, count: UInt64)], sum: Double) {
            self.cumulative = cumulative
            self.sum = sum
        }

        /// - Parameter buckets: not cumulative; one for each bound, and one above the last.
        init(buckets: [UInt64], bounds: [Double], sum: Double) {
            var count: UInt64 = 0
            let cumulative = buckets.enumerated().map { index, bucket in
                count += bucket
                return (bound: index < bounds.count ? bounds[index] : nil, count: count)
            }
            self.init(cumulative: cumulative, sum: sum)
        }
    }

    /// Adds one metric, with a value for each set of labels.
    mutating func metric(_ name: String, _ kind: Kind, _ help: String, _ values: [(labels: String, value: Double)]) {
        describe(name, kind, help)
        for (labels, value) in values { add(name, labels, value) }
    }

    /// Adds one metric with a histogram for each set of labels.
    mutating func histogram(_ name: String, _ help: String, _ values: [(labels: String, value: Histogram)]) {
        describe(name, .histogram, help)
        for (labels, value) in values {
            for (bound, count) in value.cumulative {
                let le = "le=\"\(bound.map(Self.number) ?? "+Inf")\""
                add("\(name)_bucket", labels.isEmpty ? le : "\(labels),\(le)", Double(count))
            }
            add("\(name)_sum", labels, value.sum)
            add("\(name)_count", labels, Double(value.cumulative.last?.count ?? 0))
        }
    }

    /// `text` as a label value, without characters that would end the value or that terminals interpret.
    static func label(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(
            contentsOf: text.unicodeScalars.filter { $0 != "\"" && $0 != "\\" && !$0.isHarmfulOnTerminals })
        return String(scalars)
    }

    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    private mutating func describe(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func add(_ name: String, _ labels: String, _ value: Double) {
        text += labels.isEmpty ? "\(name) \(Self.number(value))\n" : "\(name){\(labels)} \(Self.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }

    mutating func metric(_ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger) {
        metric(name, kind, help, [("", Double(value))])
    }
}
