import CallVocabulary

/// Tells whether a call id is certainly new. A new call then needs no lookup in the store.
///
/// A Bloom filter (B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970). Inserted ids are
/// always found. The false positive rate is at most 1 %, up to ``capacity`` ids.
public struct CallIDFilter: Equatable, Sendable {
    /// Bits per id: with seven hashes the false positive rate is 1 in 120.
    private static let bitsPerID = 10
    private static let hashes: UInt64 = 7
    /// The smallest and the largest filter, in bits: 1 MiB and 64 MiB.
    private static let sizes = (1 << 23)...(1 << 29)

    private var words: [UInt64]
    private let mask: UInt64
    private var inserted = 0

    /// How many ids the filter holds before its false positive rate rises.
    public var capacity: Int { words.count * 64 / Self.bitsPerID }
    public var bytes: Int { words.count * 8 }
    public var isFull: Bool { inserted >= capacity }

    /// - Parameter count: how many ids are expected. The filter stops growing at 50 million; beyond, the false positive
    ///   rate rises.
    public init(expecting count: Int) {
        let wanted = min(max(count, 1) * Self.bitsPerID, Self.sizes.upperBound)
        var bits = Self.sizes.lowerBound
        while bits < wanted { bits *= 2 }
        words = Array(repeating: 0, count: bits / 64)
        mask = UInt64(bits - 1)
    }

    public mutating func insert(_ id: CallID) {
        inserted += 1
        let (start, step) = hash(id)
        for index in 0..<Self.hashes {
            let bit = (start &+ index &* step) & mask
            words[Int(bit >> 6)] |= 1 << (bit & 63)
        }
    }

    /// False only when `id` was never inserted.
    public func mayContain(_ id: CallID) -> Bool {
        let (start, step) = hash(id)
        for index in 0..<Self.hashes {
            let bit = (start &+ index &* step) & mask
            if words[Int(bit >> 6)] & (1 << (bit & 63)) == 0 { return false }
        }
        return true
    }

    /// Double hashing (A. Kirsch, M. Mitzenmacher, "Less hashing, same performance", 2006). The halves are mixed first,
    /// because clients choose ids and some choose them badly.
    private func hash(_ id: CallID) -> (start: UInt64, step: UInt64) {
        let start = Self.mix(id.high &+ Self.mix(id.low))
        return (start, Self.mix(start ^ id.low) | 1)
    }

    /// The finaliser of SplitMix64.
    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
