import Testing

@testable import EventLoop

@Suite("Random numbers of the system")
struct SystemRandomnessTests {
    @Test("no number comes twice, in one generator or in two, and every bit is as often set as not")
    func numbers() {
        var (one, other) = (SystemRandomness(), SystemRandomness())
        var seen: Set<UInt64> = []
        var set = [Int](repeating: 0, count: 64)
        let count = 4000
        for _ in 0..<count / 2 {
            for number in [one.next(), other.next()] {
                seen.insert(number)
                for bit in 0..<64 where number >> UInt64(bit) & 1 == 1 { set[bit] += 1 }
            }
        }
        #expect(seen.count == count)
        // Ten standard deviations.
        #expect(set.allSatisfy { abs($0 - count / 2) < 320 })
    }
}
