/// A digest of a run: FNV-1a (Fowler, Noll, Vo). The same in each process; Swift's own hashes have a seed of each process.
public struct Fingerprint: Equatable, Sendable, CustomStringConvertible {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325

    public init() {}

    mutating func mix(_ word: UInt64) { value = (value ^ word) &* 0x100_0000_01b3 }

    public mutating func mix(_ line: String) {
        for byte in line.utf8 { mix(UInt64(byte)) }
        // The end of the line: no text has this byte.
        mix(0xFF)
    }

    /// 16 hexadecimal digits.
    public var description: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
