import CallVocabulary
import Determinism

/// Reference operations, run in the same round as the figure: a slow or busy machine slows down both.
enum ReferenceLoop {
    static let byteLoop = "FNV-1a of the same bytes"
    static let dictionary = "insert and remove a 16-byte key"

    /// The nanoseconds of FNV-1a (Fowler, Noll, Vo) over `bytes`: a chain of dependent multiplications, four or five
    /// cycles a byte.
    static func byteLoopCost(over bytes: [UInt8], for seconds: Double) -> Double {
        let passes = 1 + 20_000 / (bytes.count + 1)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        let cost = Cost.measure(for: seconds) { cost in
            cost.add(passes) {
                for _ in 0..<passes { hash = bytes.withUnsafeBytes { fnv1a(hash, $0) } }
            }
        }
        // Uses the hash, so that the compiler cannot remove the loop. FNV-1a is not 0 for the inputs here.
        precondition(hash != 0, "the hash of these bytes is not 0")
        return cost.nanosecondsEach
    }

    @inline(never)
    static func fnv1a(_ start: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = start
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }

    /// The nanoseconds to insert and remove one of 1,024 keys in an empty dictionary with enough capacity.
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
        precondition(table.isEmpty && sum.isMultiple(of: 1023 * 512), "each key returns its own value")
        return cost.nanosecondsEach
    }
}
