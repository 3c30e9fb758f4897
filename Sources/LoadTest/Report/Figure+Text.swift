import Foundation

extension Figure {
    /// The value with its unit, for people.
    public var text: String { Self.text(value, unit) }

    static func text(_ value: Double, _ unit: Unit) -> String {
        guard value.isFinite else { return "–" }
        return switch unit {
        case .count: number(value)
        case .perSecond: number(value) + "/s"
        case .seconds: number(value) + " s"
        case .microseconds: number(value) + " µs"
        case .bytes: bytes(value)
        case .cores: String(format: "%.2f cores", value)
        case .ratio: number(value * 100) + " %"
        }
    }

    /// With three digits at least, and none behind the point that the value does not have.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        if value == value.rounded() { return String(format: "%.0f", value) }
        switch abs(value) {
        case ..<0.0995: return String(format: "%.3g", value)
        case ..<9.995: return String(format: "%.2f", value)
        case ..<99.95: return String(format: "%.1f", value)
        default: return String(format: "%.0f", value)
        }
    }

    /// Microseconds in the unit that suits them.
    static func duration(_ microseconds: Double) -> String {
        switch microseconds {
        case 0: "0"
        case ..<1000: number(microseconds) + " µs"
        case ..<1_000_000: number(microseconds / 1000) + " ms"
        default: number(microseconds / 1_000_000) + " s"
        }
    }

    private static func bytes(_ value: Double) -> String {
        switch abs(value) {
        case ..<1_000: number(value) + " B"
        case ..<1_000_000: number(value / 1_000) + " kB"
        case ..<1_000_000_000: number(value / 1_000_000) + " MB"
        default: number(value / 1_000_000_000) + " GB"
        }
    }
}

extension StageReport {
    /// Microseconds as milliseconds, for columns of them: `0.085`, `4.21`, `312`.
    public static func milliseconds(_ microseconds: UInt64) -> String {
        let value = Double(microseconds) / 1000
        return switch value {
        case ..<1: String(format: "%.3f", value)
        case ..<100: String(format: "%.2f", value)
        case ..<1000: String(format: "%.1f", value)
        default: String(format: "%.0f", value)
        }
    }
}
