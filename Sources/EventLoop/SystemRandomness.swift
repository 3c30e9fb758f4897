import Glibc

/// Random numbers of the operating system, as `SystemRandomNumberGenerator` gives them, but many with one system call.
package struct SystemRandomness: RandomNumberGenerator {
    /// As many as one call gives at once (getentropy(3): 256 bytes at most).
    private static let atOnce = 256 / MemoryLayout<UInt64>.size

    private var numbers = [UInt64](repeating: 0, count: atOnce)
    private var left = 0

    package init() {}

    package mutating func next() -> UInt64 {
        if left == 0 { refill() }
        left -= 1
        let number = numbers[left]
        // Ids and tokens are made of it: it is given once, and not kept here.
        numbers[left] = 0
        return number
    }

    private mutating func refill() {
        // Fails for a count that is too large, and where the kernel has no such call (before Linux 3.17).
        let result = numbers.withUnsafeMutableBytes { getentropy($0.baseAddress!, $0.count) }
        precondition(result == 0, "the system gives random numbers")
        left = Self.atOnce
    }
}
