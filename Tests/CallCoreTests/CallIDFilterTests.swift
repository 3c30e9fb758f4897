import CallVocabulary
import Determinism
import Testing

@testable import CallCore

@Suite struct CallIDFilterTests {
    @Test("what was inserted is found, and of strangers about one in a hundred")
    func rates() {
        var random = SeededGenerator(seed: 7)
        // As many as the smallest filter is made for.
        let count = (1 << 23) / 10
        var filter = CallIDFilter(expecting: count)
        var known: [CallID] = []
        for index in 0..<count {
            let id = CallID(random: &random)
            filter.insert(id)
            if index % 100 == 0 { known.append(id) }
        }
        #expect(known.allSatisfy(filter.mayContain))
        let strangers = (0..<20_000).count { _ in filter.mayContain(CallID(random: &random)) }
        #expect((40...400).contains(strangers), "\(strangers) of 20,000")
    }

    @Test("ids that are counted up spread like random ones")
    func sequence() {
        var filter = CallIDFilter(expecting: 100_000)
        for low in 0..<100_000 as Range<UInt64> { filter.insert(CallID(high: 0x4000, low: low)) }
        let strangers = (100_000..<200_000 as Range<UInt64>).count { filter.mayContain(CallID(high: 0x4000, low: $0)) }
        #expect(strangers < 200, "\(strangers) of 100,000 in a filter an eighth full")
    }

    @Test("a process that takes in more calls than it was started for still tells strangers")
    func growth() {
        var known = KnownCalls()
        known.merge(CallIDFilter(expecting: 0))
        var random = SeededGenerator(seed: 9)
        let first = CallID(random: &random)
        known.insert(first)
        // Three times what the smallest filter is made for would fill it by nine tenths.
        for _ in 0..<(3 * CallIDFilter(expecting: 0).capacity) { known.insert(CallID(random: &random)) }
        #expect(known.mayContain(first))
        let strangers = (0..<20_000).count { _ in known.mayContain(CallID(random: &random)) }
        #expect(strangers < 800, "\(strangers) of 20,000")
    }
}
