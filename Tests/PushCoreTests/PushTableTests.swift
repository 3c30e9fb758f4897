import CallVocabulary
import Determinism
import PushCore
import Testing

@Suite struct PushTableTests {
    @Test(
        "after any additions and removals it holds what a dictionary would, each value in the slot it was given",
        arguments: 1...8 as ClosedRange<UInt64>)
    func likeADictionary(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var table = PushTable<Int>(vacant: -1)
        var model: [PushID: (slot: Int, value: Int)] = [:]
        // Few ids, so that many are removed and come back; in half of the runs their bits are as alike as can be.
        let ids = (0..<200 as Range<UInt64>).map { number in
            seed.isMultiple(of: 2) ? PushID(random: &random) : PushID(high: 0x4000, low: 0x8000 << 48 | number << 20)
        }
        for step in 0..<5000 {
            let id = try #require(ids.randomElement(using: &random))
            if let known = model.removeValue(forKey: id) {
                #expect(table.slot(of: id) == known.slot && table[known.slot] == known.value)
                table.remove(known.slot)
            } else {
                model[id] = (table.insert(step, for: id), step)
            }
            #expect(table.slot(of: id) == model[id]?.slot)
            #expect(table.count == model.count)
        }
        for id in ids { #expect(table.slot(of: id) == model[id]?.slot) }
        for (id, known) in model { #expect(table.id(at: known.slot) == id && table[known.slot] == known.value) }
    }

    @Test("a value is changed in place, and a slot that is free holds nothing of it")
    func values() throws {
        var table = PushTable<[Int]>(vacant: [])
        let id = PushID(high: 1, low: 2)
        let slot = table.insert([1], for: id)
        table[slot].append(2)
        #expect(table[slot] == [1, 2])
        table.remove(slot)
        #expect(table[slot] == [] && table.slot(of: id) == nil)
        #expect(table.insert([3], for: id) == slot, "the slot is used again")
    }
}
