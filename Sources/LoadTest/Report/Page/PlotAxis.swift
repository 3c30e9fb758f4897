import Foundation

/// One axis of a plot: which part of it a value is at, and where it has its marks.
struct PlotAxis {
    enum Scale { case linear, logarithmic }

    struct Tick: Equatable {
        let value: Double
        let label: String
    }

    let scale: Scale
    let from, to: Double
    let ticks: [Tick]

    /// - Returns: 0 at the beginning, 1 at the end.
    func position(_ value: Double) -> Double {
        let (low, high) = (transformed(from), transformed(to))
        guard high > low else { return 0 }
        return min(1, max(0, (transformed(value) - low) / (high - low)))
    }

    private func transformed(_ value: Double) -> Double {
        scale == .linear ? value : log10(max(value, .leastNormalMagnitude))
    }

    // MARK: Kinds

    /// From 0 to at least `largest`.
    static func count(upTo largest: Double, label: (Double) -> String = Figure.number) -> PlotAxis {
        let step = roundStep(max(largest, .leastNormalMagnitude) / 4)
        let steps = max(1, Int((largest / step - 1e-9).rounded(.up)))
        let ticks = (0...steps).map { Tick(value: Double($0) * step, label: label(Double($0) * step)) }
        return PlotAxis(scale: .linear, from: 0, to: Double(steps) * step, ticks: ticks)
    }

    /// Seconds from 0 to `last`.
    static func time(upTo last: Int) -> PlotAxis {
        let steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800]
        let end = max(1, last)
        let step = steps.first { end / $0 <= 6 } ?? 86_400
        let ticks = stride(from: 0, through: end, by: step).map { Tick(value: Double($0), label: time($0)) }
        return PlotAxis(scale: .linear, from: 0, to: Double(end), ticks: ticks)
    }

    /// Times in microseconds, each power of ten as long as the next.
    static func durations(from least: UInt64, to greatest: UInt64) -> PlotAxis {
        let all = (0...10).flatMap { power in [1, 2, 5].map { $0 * pow(10, Double(power)) } }
        // Where there are many powers of ten, what lies between them would crowd the axis.
        let isWide = Double(greatest) / Double(max(1, least)) > 200
        let steps = isWide ? all.filter(isPowerOfTen) : all
        let low = steps.last { $0 <= Double(max(1, least)) } ?? 1
        let high = steps.first { $0 >= Double(greatest) && $0 > low } ?? Double(greatest)
        let shown = steps.filter { $0 >= low && $0 <= high }
        return PlotAxis(
            scale: .logarithmic, from: low, to: high, ticks: shown.map { Tick(value: $0, label: duration($0)) })
    }

    /// How many of all stay within, on the scale that gives each nine the same room, as HdrHistogram's plots have it.
    /// - Parameter count: the most values of any line: their greatest lies at one in so many.
    static func percentiles(count: Int) -> PlotAxis {
        let nines = min(6, max(2, Int(log10(Double(max(1, count))).rounded(.up))))
        let ticks = [Tick(value: 0, label: "0"), Tick(value: nineness(50, count: count), label: "50")]
        let labels = ["90", "99", "99.9", "99.99", "99.999", "99.9999"]
        return PlotAxis(
            scale: .linear, from: 0, to: Double(nines),
            ticks: ticks + labels.prefix(nines).enumerated().map { Tick(value: Double($0 + 1), label: $1) })
    }

    /// 1 for 90 of 100, 2 for 99, 3 for 99.9. All of them are as many nines as `count` values can tell.
    static func nineness(_ percentile: Double, count: Int) -> Double {
        let most = log10(Double(max(1, count)))
        guard percentile < 100 else { return most }
        return min(most, -log10(1 - max(0, percentile) / 100))
    }

    // MARK: Numbers

    /// 1, 2 or 5 times a power of ten, at least `least`.
    private static func roundStep(_ least: Double) -> Double {
        let power = pow(10, log10(least).rounded(.down))
        let factor = [1.0, 2, 5].first { $0 * power >= least * (1 - 1e-9) } ?? 10
        return factor * power
    }

    private static func isPowerOfTen(_ value: Double) -> Bool {
        let power = log10(value)
        return abs(power - power.rounded()) < 1e-9
    }

    private static func time(_ seconds: Int) -> String {
        switch seconds {
        case 0: "0"
        case let hours where hours.isMultiple(of: 3600): "\(hours / 3600) h"
        case let minutes where minutes.isMultiple(of: 60): "\(minutes / 60) min"
        default: "\(seconds) s"
        }
    }

    /// Microseconds in the unit that suits them.
    static func duration(_ microseconds: Double) -> String {
        switch microseconds {
        case 0: "0"
        case ..<1000: Figure.number(microseconds) + " µs"
        case ..<1_000_000: Figure.number(microseconds / 1000) + " ms"
        default: Figure.number(microseconds / 1_000_000) + " s"
        }
    }
}
