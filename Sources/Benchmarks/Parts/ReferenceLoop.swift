import CallVocabulary
import Determinism

/// Work of a known kind, done in the same round as what is measured: a machine that is slower, or busy, is so for both.
enum ReferenceLoop {
    static let byteLoop = "FNV-1a of the same bytes"
    static let dictionary = "insert and remove a 16-byte key"

    /// Nanoseconds for FNV-1a (Fowler, Noll, Vo) over `bytes`: one step after the other, a multiplication for each byte, so
    /// four or five cycles.
    static func byteLoopCost(over bytes: [UInt8], for seconds: Double) -> Double {
        let passes = 1 + 20_000 / (bytes.count + 1)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        let cost = Cost.measure(for: seconds) { cost in
            cost.add(passes) {
                for _ in 0..<passes { hash = bytes.withUnsafeBytes { fnv1a(hash, $0) } }
            }
        }
        // Looked at, so that it has to be worked out. FNV-1a is 0 for no input in use here.
        precondition(hash != 0, "a hash that is 0 stays it only for bytes that are")
        return cost.nanosecondsEach
    }

    @inline(never)
    static func fnv1a(_ start: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = start
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }

    /// Nanoseconds for an insertion and a removal of one of 1,024 keys, into an empty dictionary that has room for them.
    static func dictionaryCost(for seconds: Double) -> Double {
        var random = SeededGenerator(seed: 7)
        let keys = (0..<1024).map { _ in CallID(random: &random) }
        var table: [CallID: Int] = [:]
        var sum = 0
        let cost = Cost.measure(for: seconds) { cost in
            cost.add(keys.count) {
                for (index, key) in keys.enumerated() { table[key] = index }
                for key in keys { sum += table.removeValue(forKey: key) ?? 0 }
            }
        }
        precondition(table.isEmpty && sum.isMultiple(of: 1023 * 512), "each key comes out with what it went in with")
        return cost.nanosecondsEach
    }
}
