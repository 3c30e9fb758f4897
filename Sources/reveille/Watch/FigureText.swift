import Glibc

/// Numbers as short text.
enum FigureText {
    /// One decimal below 100.
    static func rate(_ value: Double) -> String {
        value < 100 ? fixed(value, digits: 1) : "\(Int(value.rounded()))"
    }

    static func milliseconds(_ value: Double) -> String {
        if value < 10 { return fixed(value, digits: 1) }
        if value < 10_000 { return "\(Int(value.rounded()))" }
        return "\(Int((value / 1000).rounded()))s"
    }

    /// `12.3k`, `4.5M` from five digits on.
    static func short(_ value: Int) -> String {
        if value < 10_000 { return "\(value)" }
        if value < 1_000_000 { return scaled(Double(value) / 1000) + "k" }
        if value < 1_000_000_000 { return scaled(Double(value) / 1_000_000) + "M" }
        return scaled(Double(value) / 1_000_000_000) + "G"
    }

    static func bytes(_ value: Int) -> String {
        if value < 10_240 { return "\(value) B" }
        if value < 10_485_760 { return "\(value / 1024) KiB" }
        return "\(value / 1_048_576) MiB"
    }

    private static func scaled(_ value: Double) -> String {
        value < 100 ? fixed(value, digits: 1) : "\(Int(value))"
    }

    private static func fixed(_ value: Double, digits: Int) -> String {
        let scale = pow(10, Double(digits))
        let whole = Int((value * scale).rounded())
        let fraction = String(Int(scale) + whole % Int(scale)).dropFirst()
        return "\(whole / Int(scale)).\(fraction)"
    }
}
