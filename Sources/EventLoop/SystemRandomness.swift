import Glibc

/// The operating system's random numbers, as from `SystemRandomNumberGenerator`, with many numbers for each system
/// call.
package struct SystemRandomness: RandomNumberGenerator {
    /// The most numbers of one call (getentropy(3): at most 256 bytes).
    private static let atOnce = 256 / MemoryLayout<UInt64>.size

    private var numbers = [UInt64](repeating: 0, count: atOnce)
    private var left = 0

    package init() {}

    package mutating func next() -> UInt64 {
        if left == 0 { refill() }
        left -= 1
        let number = numbers[left]
        // Ids and tokens are made of the number, so no copy stays in memory.
        numbers[left] = 0
        return number
    }

    private mutating func refill() {
        // Fails only for a count that is too large, and on kernels without the call (before Linux 3.17).
        let result = numbers.withUnsafeMutableBytes { getentropy($0.baseAddress!, $0.count) }
        precondition(result == 0, "the system gives random numbers")
        left = Self.atOnce
    }
}
