import CallVocabulary

/// Tells of a call id that no call ever had it, so that a new call need not be looked up in the store.
///
/// A Bloom filter (B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970). An id that was
/// inserted is always found; of others one in a hundred is, as long as no more are inserted than it was made for.
public struct CallIDFilter: Equatable, Sendable {
    /// Bits for each id: with seven of them set, one in 120 strangers is taken for a known one.
    private static let bitsPerID = 10
    private static let hashes: UInt64 = 7
    /// The smallest and the largest, in bits: 1 MiB and 64 MiB.
    private static let sizes = (1 << 23)...(1 << 29)

    private var words: [UInt64]
    private let mask: UInt64
    private var inserted = 0

    /// How many ids it takes before strangers are taken for known ones more often.
    public var capacity: Int { words.count * 64 / Self.bitsPerID }
    public var bytes: Int { words.count * 8 }
    public var isFull: Bool { inserted >= capacity }

    /// - Parameter count: how many ids are expected. With more than 50 million it grows no further, and more strangers
    ///   are taken for known ones.
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

    /// Double hashing (A. Kirsch, M. Mitzenmacher, "Less hashing, same performance", 2006). Clients choose ids, and some
    /// choose them badly, so the halves are mixed first.
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
