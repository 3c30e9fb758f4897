/// What a close frame may hold (RFC 6455, 5.5).
enum CloseFrame {
    /// Beside the code, in bytes.
    private static let longestReason = 123

    /// As much of `text` as fits.
    static func reason(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count > longestReason else { return bytes }
        // Not in the middle of a character: the peer would have to fail the connection.
        var end = longestReason
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(bytes[..<end])
    }
}
