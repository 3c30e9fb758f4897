import Foundation

/// A line chart as SVG, with its title, legend and caption.
struct Chart {
    struct Line {
        let name: String
        /// Lines with the same number have the same colour in every chart.
        let colour: Int
        /// In the coordinates of the axes; nil is a gap.
        let points: [(x: Double, y: Double)?]
    }

    /// Ascending ticks. The axis ends at the first and the last.
    typealias Axis = [(value: Double, label: String)]

    private static let (left, right, top, bottom) = (66.0, 544.0, 12.0, 266.0)

    let title, caption: String
    let x, y: Axis
    let lines: [Line]

    var markup: Markup {
        """
        <figure>
        <h3>\(title)</h3>
        <p class="legend">\(lines.map { "<span>\(Self.swatch($0.colour))\($0.name)</span>" })</p>
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 300" role="img" aria-label="\(title)">
        \(x.map(column) + y.map(row) + lines.flatMap(curves))
        </svg>
        <figcaption>\(caption)</figcaption>
        </figure>
        """
    }

    /// The key to a line's colour.
    static func swatch(_ colour: Int) -> Markup {
        "<svg class=\"swatch\" viewBox=\"0 0 10 10\"><circle cx=\"5\" cy=\"5\" r=\"5\" fill=\"\(css(colour))\"/></svg>"
    }

    /// Readable on a light and on a dark page. The golden angle keeps neighbours apart.
    private static func css(_ colour: Int) -> String { "hsl(\((210 + colour * 137) % 360) 65% 50%)" }

    private func column(_ tick: Axis.Element) -> Markup {
        let at = Self.text(horizontal(tick.value))
        return """
            <line class="grid" x1="\(at)" y1="\(Self.text(Self.top))" x2="\(at)" y2="\(Self.text(Self.bottom))"/>\
            <text x="\(at)" y="\(Self.text(Self.bottom + 18))" text-anchor="middle">\(tick.label)</text>
            """
    }

    private func row(_ tick: Axis.Element) -> Markup {
        let at = Self.text(vertical(tick.value))
        return """
            <line class="grid" x1="\(Self.text(Self.left))" y1="\(at)" x2="\(Self.text(Self.right))" y2="\(at)"/>\
            <text x="\(Self.text(Self.left - 8))" y="\(at)" dy="0.35em" text-anchor="end">\(tick.label)</text>
            """
    }

    private func curves(_ line: Line) -> [Markup] {
        line.points.split { $0 == nil }.map { stretch in
            let points = stretch.compactMap(\.self).map {
                "\(Self.text(horizontal($0.x))),\(Self.text(vertical($0.y)))"
            }
            return """
                <polyline class="line" stroke="\(Self.css(line.colour))" points="\(points.joined(separator: " "))"/>
                """
        }
    }

    private func horizontal(_ value: Double) -> Double {
        Self.left + Self.share(value, x) * (Self.right - Self.left)
    }

    private func vertical(_ value: Double) -> Double {
        Self.bottom - Self.share(value, y) * (Self.bottom - Self.top)
    }

    private static func share(_ value: Double, _ axis: Axis) -> Double {
        guard let first = axis.first?.value, let last = axis.last?.value, first < last else { return 0 }
        return (value - first) / (last - first)
    }

    private static func text(_ coordinate: Double) -> String { String(format: "%.1f", coordinate) }
}

extension Chart.Axis {
    /// From 0 to at least `largest`, in steps of 1, 2 or 5 times a power of ten.
    static func linear(upTo largest: Double, _ label: (Double) -> String) -> Self {
        let least = (largest > 0 ? largest : 1) / 6
        let power = pow(10, log10(least).rounded(.down))
        let step = ([1.0, 2, 5].first { $0 * power >= least * (1 - 1e-9) } ?? 10) * power
        let steps = Int((6 * least / step - 1e-9).rounded(.up))
        return (0...steps).map { (Double($0) * step, label(Double($0) * step)) }
    }

    /// Whole powers of ten, in microseconds; the values are the exponents.
    static func decades(from least: UInt64, to greatest: UInt64) -> Self {
        let low = Int(exponent(ofMicroseconds: least).rounded(.down))
        let high = Swift.max(low + 1, Int(exponent(ofMicroseconds: greatest).rounded(.up)))
        return (low...high).map { (Double($0), Figure.duration(pow(10, Double($0)))) }
    }

    static func exponent(ofMicroseconds time: UInt64) -> Double { log10(Double(Swift.max(1, time))) }

    /// Percentiles, each further nine as wide as the one before (HdrHistogram's plots); the values are from ``nines``.
    static func percentiles(count: Int) -> Self {
        let last = Swift.min(6, Swift.max(2, Int(log10(Double(Swift.max(1, count))).rounded(.up))))
        let labels = ["90", "99", "99.9", "99.99", "99.999", "99.9999"].prefix(last)
        return [(0, "0"), (nines(50, count: count), "50")] + labels.enumerated().map { (Double($0 + 1), $1) }
    }

    /// 1 for the percentile 90, 2 for 99, 3 for 99.9; at most as many as `count` samples resolve.
    static func nines(_ percentile: Double, count: Int) -> Double {
        let most = log10(Double(Swift.max(1, count)))
        return percentile < 100 ? Swift.min(most, -log10(1 - percentile / 100)) : most
    }
}
