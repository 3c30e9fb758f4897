/// What a close frame may hold (RFC 6455, 5.5).
enum CloseFrame {
    /// As much of `text` as fits beside the code.
    static func reason(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8.prefix(123))
        if bytes.count < text.utf8.count {
            // Not in the middle of a character: the peer would have to fail the connection.
            while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
            if let last = bytes.last, last >= 0xC0 { bytes.removeLast() }
        }
        return bytes
    }
}
