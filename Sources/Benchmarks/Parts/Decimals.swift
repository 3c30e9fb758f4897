import Foundation

enum Decimals {
    static func text(_ value: Double, _ places: Int) -> String { String(format: "%.\(places)f", value) }

    /// With about three significant digits.
    static func text(_ value: Double) -> String {
        if value != 0, abs(value) < 0.1 { return String(format: "%.3g", value) }
        return text(value, abs(value) < 10 ? 2 : abs(value) < 100 ? 1 : 0)
    }
}
