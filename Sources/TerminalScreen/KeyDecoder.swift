/// Decodes keys from a terminal's bytes, in parts of any size. Has no clock: the caller reports a timeout of an
/// incomplete sequence.
///
///     ground ──ESC──▶ escape ──[──▶ control sequence ──final byte──▶ ground
///        ▲              ├──O──▶ shifted ──▶ ground
///        └── timedOut() ┘
public struct KeyDecoder: Sendable {
    private enum State {
        case ground
        case escape
        /// The bytes after `ESC [`.
        case sequence([UInt8])
        /// After `ESC O`: a key in application mode.
        case shifted
        /// An incomplete UTF-8 character, with the number of missing bytes.
        case text([UInt8], missing: Int)
    }

    /// Longer than any key's sequence; a longer one is discarded.
    private static let longestSequence = 32

    private var state = State.ground

    public init() {}

    /// Whether a sequence is incomplete: call ``timedOut()`` if no bytes follow.
    public var isWaiting: Bool { if case .ground = state { false } else { true } }

    public mutating func take(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes { take(byte, &keys) }
        return keys
    }

    /// No more bytes arrived: the ESC was the Esc key.
    public mutating func timedOut() -> [Key] {
        defer { state = .ground }
        switch state {
        case .escape: return [.escape]
        // After a timeout, the bytes following the ESC are separate keys.
        case .sequence(let bytes): return [.escape, .character("[")] + Self.typed(bytes)
        case .shifted: return [.escape, .character("O")]
        case .ground, .text: return []
        }
    }

    private static func typed(_ bytes: [UInt8]) -> [Key] {
        bytes.map { .character(Character(Unicode.Scalar($0))) }
    }

    private mutating func take(_ byte: UInt8, _ keys: inout [Key]) {
        switch state {
        case .ground: begin(byte, &keys)
        case .escape:
            switch byte {
            case UInt8(ascii: "["): state = .sequence([])
            case UInt8(ascii: "O"): state = .shifted
            default:
                // On a slow line, the key after Esc arrives with it; Alt is not used.
                keys.append(.escape)
                state = .ground
                begin(byte, &keys)
            }
        case .sequence(let bytes): sequence(bytes, byte, &keys)
        case .shifted:
            state = .ground
            if let key = Self.key(final: byte) { keys.append(key) }
        case .text(let bytes, let missing):
            guard byte & 0xC0 == 0x80 else {
                state = .ground
                return begin(byte, &keys)
            }
            guard missing == 1 else {
                state = .text(bytes + [byte], missing: missing - 1)
                return
            }
            state = .ground
            // Invalid UTF-8 is discarded.
            if let text = String(validating: bytes + [byte], as: UTF8.self), let character = text.first {
                keys.append(.character(character))
            }
        }
    }

    private mutating func begin(_ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case 0x1B: state = .escape
        case 0x0D, 0x0A: keys.append(.enter)
        case 0x09: keys.append(.tab)
        case 0x08, 0x7F: keys.append(.backspace)
        case 0x01...0x1A: keys.append(.control(Character(Unicode.Scalar(byte + 0x60))))
        case 0x20...0x7E: keys.append(.character(Character(Unicode.Scalar(byte))))
        case 0xC2...0xDF: state = .text([byte], missing: 1)
        case 0xE0...0xEF: state = .text([byte], missing: 2)
        case 0xF0...0xF4: state = .text([byte], missing: 3)
        default: break
        }
    }

    private mutating func sequence(_ bytes: [UInt8], _ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        // The Linux console sends `ESC [ [ A` for function keys.
        case 0x5B where bytes.isEmpty, 0x20...0x3F:
            guard bytes.count < Self.longestSequence else { return state = .ground }
            state = .sequence(bytes + [byte])
        case 0x40...0x7E:
            state = .ground
            if let key = Self.key(sequence: bytes, final: byte) { keys.append(key) }
        case 0x1B: state = .escape
        default:
            state = .ground
            begin(byte, &keys)
        }
    }

    private static func key(sequence bytes: [UInt8], final byte: UInt8) -> Key? {
        guard bytes.first != 0x5B else { return nil }
        guard byte == UInt8(ascii: "~") else { return key(final: byte) }
        // Modifiers follow a semicolon and are ignored.
        let number = bytes.prefix { $0 != UInt8(ascii: ";") }
        return switch String(decoding: number, as: UTF8.self) {
        case "1", "7": .home
        case "4", "8": .end
        case "3": .delete
        case "5": .pageUp
        case "6": .pageDown
        default: nil
        }
    }

    private static func key(final byte: UInt8) -> Key? {
        switch byte {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "M"): .enter
        default: nil
        }
    }
}
