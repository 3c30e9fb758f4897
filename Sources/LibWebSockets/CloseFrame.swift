/// The limits of a close frame's payload (RFC 6455, 5.5).
enum CloseFrame {
    /// In bytes, without the code.
    private static let longestReason = 123

    /// The longest prefix of `text` that fits.
    static func reason(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count > longestReason else { return bytes }
        // A cut within a character would be invalid UTF-8.
        var end = longestReason
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(bytes[..<end])
    }
}
