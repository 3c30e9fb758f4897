/// A plot of lines as SVG. Colours and sizes of letters are those of ``PageStyle``.
struct Plot {
    struct Point: Equatable {
        let x, y: Double
        /// What is said when the pointer rests on it.
        let words: String
    }

    struct Line {
        let name: String
        /// Its colour: a class of the style.
        let style: String
        /// nil: a gap.
        let points: [Point?]
    }

    /// More points than these are not marked one by one.
    private static let mostMarks = 150
    private static let (width, height) = (560.0, 300.0)
    private static let (left, right, top, bottom) = (66.0, 16.0, 12.0, 34.0)

    let title: String
    let x, y: PlotAxis
    let lines: [Line]

    var svg: String {
        let size = "viewBox=\"0 0 \(Self.text(Self.width)) \(Self.text(Self.height))\""
        return """
            <svg xmlns="http://www.w3.org/2000/svg" \(size) role="img" aria-label="\(Markup.escaped(title))">
            \((grid + lines.flatMap(drawn)).joined(separator: "\n"))
            </svg>
            """
    }

    /// The names of the lines beside their colours.
    var legend: String {
        let items = lines.map { line in
            "<li>\(Self.swatch(line.style))\(Markup.escaped(line.name))</li>"
        }
        return "<ul class=\"legend\">\(items.joined())</ul>"
    }

    /// A piece of a line in its colour.
    static func swatch(_ style: String) -> String {
        """
        <svg class="swatch" viewBox="0 0 22 10" aria-hidden="true"><line class="line \(style)" x1="0" y1="5" x2="22" \
        y2="5"/></svg>
        """
    }

    // MARK: Parts

    private var grid: [String] {
        let (end, floor) = (Self.text(Self.width - Self.right), Self.text(Self.height - Self.bottom))
        let rows = y.ticks.map { tick in
            let at = Self.text(vertical(tick.value))
            return "<line class=\"grid\" x1=\"\(Self.text(Self.left))\" y1=\"\(at)\" x2=\"\(end)\" y2=\"\(at)\"/>"
                + "<text class=\"tick right\" x=\"\(Self.text(Self.left - 8))\" y=\"\(at)\" dy=\"0.35em\">"
                + "\(Markup.escaped(tick.label))</text>"
        }
        let columns = x.ticks.enumerated().map { index, tick in
            let at = Self.text(horizontal(tick.value))
            // The last one would stand over the edge.
            let side = index == x.ticks.count - 1 && x.position(tick.value) > 0.96 ? "tick right" : "tick middle"
            return "<line class=\"grid\" x1=\"\(at)\" y1=\"\(Self.text(Self.top))\" x2=\"\(at)\" y2=\"\(floor)\"/>"
                + "<text class=\"\(side)\" x=\"\(at)\" y=\"\(Self.text(Self.height - Self.bottom + 8))\" dy=\"0.8em\">"
                + "\(Markup.escaped(tick.label))</text>"
        }
        return rows + columns
    }

    private func drawn(_ line: Line) -> [String] {
        let stretches = line.points.split(separator: nil).map { $0.compactMap(\.self) }
        let strokes = stretches.map { points in
            let places = points.map(place).joined(separator: " ")
            return "<polyline class=\"line \(line.style)\" points=\"\(places)\"/>"
        }
        guard lines.reduce(0, { $0 + $1.points.count }) <= Self.mostMarks else { return strokes }
        return strokes
            + stretches.joined().map { point in
                "<circle class=\"mark \(line.style)\" cx=\"\(Self.text(horizontal(point.x)))\" "
                    + "cy=\"\(Self.text(vertical(point.y)))\" r=\"2.5\">"
                    + "<title>\(Markup.escaped(point.words))</title></circle>"
            }
    }

    private func place(_ point: Point) -> String {
        "\(Self.text(horizontal(point.x))),\(Self.text(vertical(point.y)))"
    }

    private func horizontal(_ value: Double) -> Double {
        Self.left + x.position(value) * (Self.width - Self.left - Self.right)
    }

    private func vertical(_ value: Double) -> Double {
        Self.height - Self.bottom - y.position(value) * (Self.height - Self.top - Self.bottom)
    }

    /// To a tenth of a unit, which no screen shows.
    private static func text(_ coordinate: Double) -> String {
        let tenths = Int((coordinate * 10).rounded())
        return tenths.isMultiple(of: 10) ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
