/// Parses the frames of one client (RFC 6455, 5.2), unmasks them in place and joins fragments. The first invalid frame
/// ends the input.
///
/// The library's own parser (lws 4.1) accepts unmasked frames, omits the close code for some faults and does not report
/// pings.
package struct FrameReader {
    /// One frame. The bytes are valid during the call only.
    package enum Frame {
        /// A whole message, valid UTF-8.
        case text(UnsafeRawBufferPointer)
        /// A fragment, not the final one.
        case fragment
        case ping(UnsafeRawBufferPointer)
        case pong
        /// The code is nil for an empty close frame.
        case close(code: UInt16?)
        /// An invalid frame. No frame follows.
        case fault(FrameFault)
    }

    private struct Header {
        let opcode: UInt8
        let isFinal: Bool
        let mask: UInt32
        /// Of this header, in bytes.
        let length: Int
        let payload: Int
    }

    private static let longestControl = 125

    /// The fragments so far; nil between messages.
    private var gathered: [UInt8]?
    /// Bytes that the next frame needs before parsing can continue.
    package private(set) var needed = 2

    package init() {}

    /// Whether a fragmented message has begun and not ended.
    package var isInMessage: Bool { gathered != nil }

    /// Parses the complete frames in `bytes` and unmasks them in place.
    /// - Parameters:
    ///   - limit: the longest message, in bytes; asked for at each frame.
    ///   - deliver: returns false to stop reading.
    /// - Returns: the bytes consumed. The caller passes the rest again with the bytes that follow. nil after a fault,
    ///   or when `deliver` returned false.
    package mutating func read(
        _ bytes: UnsafeMutableRawBufferPointer, limit: @autoclosure () -> Int, deliver: (Frame) -> Bool
    ) -> Int? {
        var position = 0
        while true {
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[position...])
            do throws(FrameFault) {
                guard let header = try header(UnsafeRawBufferPointer(rest), limit: limit()) else { return position }
                needed = header.length + header.payload
                guard rest.count >= needed else { return position }
                let payload = UnsafeMutableRawBufferPointer(rebasing: rest[header.length..<needed])
                Self.unmask(payload, by: header.mask)
                position += needed
                needed = 2
                guard try take(header, UnsafeRawBufferPointer(payload), deliver) else { return nil }
            } catch {
                _ = deliver(.fault(error))
                return nil
            }
        }
    }

    /// Validates a header before its payload arrives.
    /// - Returns: nil when more bytes are needed.
    private mutating func header(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(FrameFault) -> Header? {
        guard bytes.count >= 2 else {
            needed = 2
            return nil
        }
        let (first, second) = (bytes[0], bytes[1])
        guard first & 0x70 == 0 else { throw .reservedBits }
        let (opcode, isFinal, short) = (first & 0x0F, first & 0x80 != 0, Int(second & 0x7F))
        try check(opcode: opcode, isFinal: isFinal, short: short)
        guard second & 0x80 != 0 else { throw .unmasked }
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        guard bytes.count >= 6 + extra else {
            needed = 6 + extra
            return nil
        }
        let long = bytes[2..<2 + extra].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let payload = extra == 0 ? UInt64(short) : long
        // The most significant bit is 0, and the length uses the shortest form.
        guard payload >> 63 == 0, extra == 0 || payload > (extra == 2 ? 125 : 0xFFFF) else { throw .length }
        guard payload <= UInt64(max(0, limit - (gathered?.count ?? 0))) || opcode >= 8 else { throw .tooLarge }
        return Header(
            opcode: opcode, isFinal: isFinal,
            mask: bytes.loadUnaligned(fromByteOffset: 2 + extra, as: UInt32.self), length: 6 + extra,
            payload: Int(payload))
    }

    private func check(opcode: UInt8, isFinal: Bool, short: Int) throws(FrameFault) {
        switch opcode {
        case 0: if gathered == nil { throw .continuationOfNothing }
        case 1: if gathered != nil { throw .messageInMessage }
        case 2: throw gathered == nil ? .binary : .messageInMessage
        case 8, 9, 10:
            guard isFinal else { throw .fragmentedControl }
            guard short <= Self.longestControl else { throw .longControl }
        default: throw .reservedOpcode
        }
    }

    /// - Returns: whether reading continues.
    private mutating func take(
        _ header: Header, _ payload: UnsafeRawBufferPointer, _ deliver: (Frame) -> Bool
    ) throws(FrameFault) -> Bool {
        switch header.opcode {
        case 8: return deliver(.close(code: try Self.closeCode(payload)))
        case 9: return deliver(.ping(payload))
        case 10: return deliver(.pong)
        default: break
        }
        guard header.isFinal else {
            // In place: a message may come in fragments of one byte.
            gathered = gathered ?? []
            gathered?.append(contentsOf: payload)
            return deliver(.fragment)
        }
        guard var message = gathered else {
            guard isValidUTF8(payload) else { throw .invalidText }
            return deliver(.text(payload))
        }
        gathered = nil
        message += payload
        guard message.withUnsafeBytes({ isValidUTF8($0) }) else { throw .invalidText }
        return message.withUnsafeBytes { deliver(.text($0)) }
    }

    /// Validates the payload of a close frame (RFC 6455, 5.5.1 and 7.4).
    private static func closeCode(_ payload: UnsafeRawBufferPointer) throws(FrameFault) -> UInt16? {
        guard !payload.isEmpty else { return nil }
        guard payload.count >= 2 else { throw .shortClose }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: break
        default: throw .closeCode
        }
        guard isValidUTF8(UnsafeRawBufferPointer(rebasing: payload[2...])) else { throw .closeReason }
        return code
    }

    private static func unmask(_ payload: UnsafeMutableRawBufferPointer, by mask: UInt32) {
        guard mask != 0 else { return }
        let wide = UInt64(mask) | UInt64(mask) << 32
        var place = 0
        while place + 8 <= payload.count {
            let word = payload.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            payload.storeBytes(of: word ^ wide, toByteOffset: place, as: UInt64.self)
            place += 8
        }
        // The key has four bytes, so the remainder begins at its first byte.
        withUnsafeBytes(of: wide) { key in
            for index in place..<payload.count { payload[index] ^= key[index - place] }
        }
    }
}

/// An invalid frame, which ends the connection.
package enum FrameFault: Error, CaseIterable {
    case unmasked
    case reservedBits
    case reservedOpcode
    case fragmentedControl
    case longControl
    case length
    case continuationOfNothing
    case messageInMessage
    case shortClose
    case closeCode
    case closeReason
    case binary
    case tooLarge
    case invalidText

    /// The close code: of RFC 6455, or above 3000 of Reveille's protocol.
    package var code: UInt16 {
        switch self {
        case .unmasked, .reservedBits, .reservedOpcode, .fragmentedControl, .longControl, .length,
            .continuationOfNothing, .messageInMessage, .shortClose, .closeCode:
            1002
        case .closeReason, .invalidText: 1007
        case .binary: 1003
        case .tooLarge: 3502
        }
    }

    package var reason: String {
        switch self {
        case .unmasked: "a client masks its frames"
        case .reservedBits: "reserved bits are 0 without an extension"
        case .reservedOpcode: "unknown opcode"
        case .fragmentedControl: "a control frame is one frame"
        case .longControl: "a control frame has at most 125 bytes"
        case .length: "a length takes the fewest bytes that hold it"
        case .continuationOfNothing: "a continuation frame without a message"
        case .messageInMessage: "a data frame within a fragmented message"
        case .shortClose: "a close frame has a code of 2 bytes or nothing"
        case .closeCode: "invalid close code"
        case .closeReason: "invalid UTF-8 in the reason"
        case .binary: "text frames only"
        case .tooLarge: "message too large"
        case .invalidText: "invalid UTF-8"
        }
    }
}
