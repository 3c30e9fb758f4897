/// The header of an unfragmented text frame (RFC 6455, 5.2).
enum TextFrame {
    /// FIN and the opcode.
    static let opcode: UInt8 = 0x81

    /// Appends the length in its shortest form, as the RFC demands.
    /// - Parameter isMasked: whether a masking key follows.
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
