/// What a person is called on the other side's screen.
///
/// Characters that a name has no use for are left out: they could break a line, or show the text behind them in another
/// order than it is written.
public struct DisplayName: Equatable, Sendable {
    public let text: String

    /// nil when nothing is left of it.
    public init?(_ text: String) {
        let kept = text.unicodeScalars.filter { !Self.isLeftOut($0) }
        guard !kept.isEmpty else { return nil }
        self.text = String(String.UnicodeScalarView(kept))
    }

    /// Control characters (Cc), line and paragraph separators, and the embeddings and overrides of text direction.
    /// Marks and isolates of direction, which names of right-to-left scripts need, and joiners stay.
    public static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E: true
        default: false
        }
    }
}
