/// A person's name as shown on the other side's screen.
///
/// Characters that could break a line, or change the display order of the text around them, are removed.
public struct DisplayName: Equatable, Sendable {
    public let text: String

    /// nil when no character is left.
    public init?(_ text: String) {
        let kept = text.unicodeScalars.filter { !Self.isLeftOut($0) }
        guard !kept.isEmpty else { return nil }
        self.text = String(String.UnicodeScalarView(kept))
    }

    /// Whether the scalar is removed: control characters (Cc), line and paragraph separators, bidirectional embeddings
    /// and overrides. Bidirectional marks and isolates, which right-to-left names need, and joiners are kept.
    public static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E: true
        default: false
        }
    }
}
