/// Numbers as a row of bars.
enum Sparkline {
    private static let unicode: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    private static let ascii: [Character] = ["_", ".", "-", "=", "+", "*", "%", "#"]

    /// The last `width` values, scaled to the highest.
    static func text(_ values: [Double], width: Int, isUnicode: Bool) -> String {
        let shown = values.suffix(max(0, width))
        let highest = shown.max() ?? 0
        let steps = isUnicode ? unicode : ascii
        return String(
            shown.map { value in
                guard highest > 0, value > 0 else { return steps[0] }
                return steps[min(steps.count - 1, Int(value / highest * Double(steps.count - 1) + 0.5))]
            })
    }

    /// A bar of at most `width` cells, and at least one for a positive value.
    static func bar(_ value: Int, of highest: Int, width: Int, isUnicode: Bool) -> String {
        guard value > 0, highest > 0 else { return "" }
        let cells = max(1, min(width, Int(Double(value) / Double(highest) * Double(width) + 0.5)))
        return String(repeating: isUnicode ? "█" : "#", count: cells)
    }
}
