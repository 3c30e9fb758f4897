/// A UUID that names one kind of thing. The kind is part of the type, so a call's id is never taken for a push's.
///
/// On the wire it is the 36-character form in lower case; upper case (iOS `uuidString`) is folded when read.
@frozen public struct Identifier<Subject>: Hashable, Sendable {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    @inlinable public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    // Inlinable, and so compiled for the kind of thing: as the compiler makes them they are generic code.

    @inlinable public static func == (a: Self, b: Self) -> Bool { a.high == b.high && a.low == b.low }

    @inlinable public func hash(into hasher: inout Hasher) {
        hasher.combine(high)
        hasher.combine(low)
    }

    /// A random (version 4, RFC 9562) identifier.
    public init(random generator: inout some RandomNumberGenerator) {
        let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        self.init(high: high, low: low)
    }

    public static func random() -> Self {
        var generator = SystemRandomNumberGenerator()
        return Self(random: &generator)
    }

    /// Reads the 36-character form, in either case; `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        var text = String(text)
        guard let parsed = text.withUTF8({ Self(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = parsed
    }

    /// Reads the 36 bytes `8-4-4-4-12`, in either case; `nil` for anything else.
    public init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 36 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for (index, byte) in bytes.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let nibble: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): nibble = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            if digits < 16 {
                words.0 = words.0 << 4 | UInt64(nibble)
            } else {
                words.1 = words.1 << 4 | UInt64(nibble)
            }
            digits += 1
        }
        self.init(high: words.0, low: words.1)
    }

    /// Writes the 36 bytes of the lower-case form into the front of `buffer`, which must have room for them.
    public func write(into buffer: UnsafeMutableRawBufferPointer) {
        precondition(buffer.count >= 36, "a UUID takes 36 bytes")
        var out = 0
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                buffer[out] = UInt8(ascii: "-")
                out += 1
            }
            let word = index < 8 ? high : low
            let byte = UInt8(truncatingIfNeeded: word &>> UInt64(56 - 8 * (index & 7)))
            buffer[out] = Self.digit(byte >> 4)
            buffer[out + 1] = Self.digit(byte & 15)
            out += 2
        }
    }

    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble &+ (nibble < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }

    /// The 16 bytes in network order, as a store keeps them.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
    }

    /// Reads 16 bytes in network order; `nil` when there are not exactly 16.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for byte in bytes.prefix(8) { high = high << 8 | UInt64(byte) }
        for byte in bytes.dropFirst(8) { low = low << 8 | UInt64(byte) }
        self.init(high: high, low: low)
    }
}

extension Identifier: Comparable {
    public static func < (a: Self, b: Self) -> Bool {
        (a.high, a.low) < (b.high, b.low)
    }
}

extension Identifier: CustomStringConvertible {
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            write(into: UnsafeMutableRawBufferPointer(buffer))
            return 36
        }
    }
}

public enum CallSubject {}
public enum DeviceSubject {}
public enum SessionSubject {}
public enum PushSubject {}

/// Names one call everywhere: in the invite, the push, CallKit, the ledger and the CLI. Chosen by the caller.
public typealias CallID = Identifier<CallSubject>
/// Names one installation of an app. Chosen by the app and kept for as long as it is installed.
public typealias DeviceID = Identifier<DeviceSubject>
/// Names one session: one WebSocket of a device, and what resumes it.
public typealias SessionID = Identifier<SessionSubject>
/// Names one push; also its `apns-id`.
public typealias PushID = Identifier<PushSubject>
