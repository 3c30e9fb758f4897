public struct Style: Hashable, Sendable {
    /// From the terminal's palette, which the user has made readable.
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

    /// The style for ended or uncertain items.
    public var dimmed: Style {
        var style = self
        style.isDim = true
        style.isBold = false
        return style
    }
}
