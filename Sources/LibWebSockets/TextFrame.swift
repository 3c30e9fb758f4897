/// The header of a text frame that is a whole message (RFC 6455, 5.2).
enum TextFrame {
    /// FIN and the opcode.
    static let opcode: UInt8 = 0x81

    /// What follows it, without a masking key: the shortest form that holds `length`, as the RFC demands.
    /// - Parameter isMasked: whether a key follows.
    static func appendLength(_ length: Int, isMasked: Bool, to bytes: inout [UInt8]) {
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch length {
        case ..<126: bytes.append(mask | UInt8(length))
        case ..<0x1_0000:
            bytes.append(mask | 126)
            bytes.append(UInt8(length >> 8))
            bytes.append(UInt8(length & 0xFF))
        default:
            bytes.append(mask | 127)
            for place in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: length >> (56 - 8 * place))) }
        }
    }
}
