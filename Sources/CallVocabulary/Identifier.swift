/// A UUID of one kind of object. The kind is a type parameter, so that a call id cannot be used as a push id.
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

    // Inlinable, and so specialized for `Subject`: synthesized conformances are generic code.

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

    /// An identifier that sorts by the millisecond of its creation (version 7, RFC 9562), so that ids of one time are
    /// adjacent in an index. Its other 74 bits are random.
    public init(at time: Instant, random generator: inout some RandomNumberGenerator) {
        let high = UInt64(truncatingIfNeeded: time.milliseconds) << 16 | generator.next() & 0x0FFF | 0x7000
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
        let dash = UInt8(ascii: "-")
        guard bytes[8] == dash, bytes[13] == dash, bytes[18] == dash, bytes[23] == dash else { return nil }
        // The 32 digits as four words of eight; the middle groups have four each.
        let middle = (
            Self.half(bytes, at: 9), Self.half(bytes, at: 14), Self.half(bytes, at: 19), Self.half(bytes, at: 24)
        )
        guard let first = HexDigits.value(of: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))),
            let second = HexDigits.value(of: middle.0 << 32 | middle.1),
            let third = HexDigits.value(of: middle.2 << 32 | middle.3),
            let fourth = HexDigits.value(
                of: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 28, as: UInt64.self)))
        else { return nil }
        self.init(high: UInt64(first) << 32 | UInt64(second), low: UInt64(third) << 32 | UInt64(fourth))
    }

    private static func half(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }

    /// Writes the 36 bytes of the lower-case form to the start of `buffer`, which must have room for them.
    public func write(into buffer: UnsafeMutableRawBufferPointer) {
        precondition(buffer.count >= 36, "a UUID takes 36 bytes")
        let second = HexDigits.digits(of: UInt32(truncatingIfNeeded: high))
        let third = HexDigits.digits(of: UInt32(truncatingIfNeeded: low >> 32))
        buffer.storeBytes(of: HexDigits.digits(of: UInt32(high >> 32)).bigEndian, as: UInt64.self)
        buffer.storeBytes(of: UInt32(second >> 32).bigEndian, toByteOffset: 9, as: UInt32.self)
        buffer.storeBytes(of: UInt32(truncatingIfNeeded: second).bigEndian, toByteOffset: 14, as: UInt32.self)
        buffer.storeBytes(of: UInt32(third >> 32).bigEndian, toByteOffset: 19, as: UInt32.self)
        buffer.storeBytes(of: UInt32(truncatingIfNeeded: third).bigEndian, toByteOffset: 24, as: UInt32.self)
        let fourth = HexDigits.digits(of: UInt32(truncatingIfNeeded: low))
        buffer.storeBytes(of: fourth.bigEndian, toByteOffset: 28, as: UInt64.self)
        for dash in stride(from: 8, through: 23, by: 5) { buffer[dash] = UInt8(ascii: "-") }
    }

    /// The 16 bytes in network order, as stored.
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
public enum EventSubject {}

/// Identifies a call everywhere: invite, push, CallKit, ledger and CLI. Chosen by the caller.
public typealias CallID = Identifier<CallSubject>
/// Identifies an installation of an app. Chosen by the app and kept while it is installed.
public typealias DeviceID = Identifier<DeviceSubject>
/// Identifies a session of a device, which may span several WebSockets through resumes.
public typealias SessionID = Identifier<SessionSubject>
/// Identifies a push; also its `apns-id`.
public typealias PushID = Identifier<PushSubject>
/// Identifies an event for other systems; also its `webhook-id`.
public typealias EventID = Identifier<EventSubject>
