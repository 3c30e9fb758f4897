import ArgumentParser

/// From where on a figure is worth a warning, and from where on it is critical: `5:15`, `5` (a warning only), `:15`
/// (critical only) or `off`.
struct Threshold: Equatable, ExpressibleByArgument, CustomStringConvertible {
    var warning: Double?
    var critical: Double?

    init(warning: Double? = nil, critical: Double? = nil) {
        self.warning = warning
        self.critical = critical
    }

    init?(argument: String) {
        guard argument != "off" else {
            self.init()
            return
        }
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        func limit(_ text: Substring) -> Double?? {
            if text.isEmpty { return .some(nil) }
            guard let value = Double(text), value.isFinite, value >= 0 else { return nil }
            return value
        }
        guard let warning = limit(parts[0]), let critical = parts.count > 1 ? limit(parts[1]) : .some(nil) else {
            return nil
        }
        guard warning != nil || critical != nil else { return nil }
        // A warning behind the alarm would never be seen.
        if let warning, let critical, warning > critical { return nil }
        self.init(warning: warning, critical: critical)
    }

    static let valueName = "w:c"

    /// Why a text is no threshold.
    static func objection(to text: String) -> String {
        let parts = text.split(separator: ":")
        let isTurned = parts.count == 2 && Threshold(argument: "\(parts[1]):\(parts[0])") != nil
        return isTurned
            ? "the warning, \(parts[0]), is above the critical value, \(parts[1])"
            : "it is neither off nor one or two numbers from 0 on, as 5:15, 5 (a warning only) or :15 (critical only)"
    }

    func status(of value: Double) -> CheckStatus {
        if let critical, value >= critical { return .critical }
        if let warning, value >= warning { return .warning }
        return .ok
    }

    var description: String {
        guard warning != nil || critical != nil else { return "off" }
        return Self.text(warning) + (critical == nil ? "" : ":" + Self.text(critical))
    }

    static func text(_ value: Double?) -> String {
        guard let value else { return "" }
        // Thousandths are as fine as anybody measures here.
        let thousandths = (value * 1000).rounded()
        guard thousandths.magnitude < 1e15 else { return "\(value)" }
        let (whole, rest) = Int64(thousandths).quotientAndRemainder(dividingBy: 1000)
        if rest == 0 { return "\(whole)" }
        var fraction = String(String(1000 + rest.magnitude).dropFirst())
        while fraction.last == "0" { fraction.removeLast() }
        return "\(whole).\(fraction)"
    }
}
