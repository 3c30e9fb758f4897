/// Writes figures in Prometheus' text format, version 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    enum Kind: String {
        case counter, gauge
    }

    /// One metric, with a value for each set of labels.
    mutating func metric(_ name: String, _ kind: Kind, _ help: String, _ values: [(labels: String, value: Double)]) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for (labels, value) in values {
            let number = value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
            text += labels.isEmpty ? "\(name) \(number)\n" : "\(name){\(labels)} \(number)\n"
        }
    }

    mutating func metric(_ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger) {
        metric(name, kind, help, [("", Double(value))])
    }
}
