/// How a cell looks.
public struct Style: Hashable, Sendable {
    /// The terminal's own palette: what the person has chosen is readable on their background.
    public enum Colour: UInt8, Sendable {
        case standard = 0
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case cyan = 36
    }

    public var colour: Colour
    public var isBold: Bool
    public var isDim: Bool
    public var isReversed: Bool

    public init(_ colour: Colour = .standard, bold: Bool = false, dim: Bool = false, reversed: Bool = false) {
        self.colour = colour
        isBold = bold
        isDim = dim
        isReversed = reversed
    }

    public static let plain = Style()
    public static let bold = Style(bold: true)
    public static let dim = Style(dim: true)
    public static let reversed = Style(reversed: true)

    /// The same, of something that is over or not to be relied on.
    public var dimmed: Style {
        var style = self
        style.isDim = true
        style.isBold = false
        return style
    }
}
