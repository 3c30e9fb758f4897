import CallVocabulary
import Testing

@testable import PushCore

@Suite struct PushTableTests {
    @Test("a value is changed in place, and a slot that is free holds nothing of it")
    func values() throws {
        var table = PushTable<[Int]>(vacant: [])
        let ids = (1...3 as ClosedRange<UInt64>).map { PushID(high: 1, low: $0) }
        let slots = [table.insert([1], for: ids[0]), table.insert([7], for: ids[1])]
        table[slots[0]].append(2)
        #expect(table[slots[0]] == [1, 2])
        table.remove(slots[0])
        #expect(table[slots[0]] == [] && table.slot(of: ids[0]) == nil)
        let again = table.insert([3], for: ids[2])
        #expect(again == slots[0], "the slot is used again")
        #expect(table.slot(of: ids[2]) == again && table.id(at: again) == ids[2] && table[again] == [3])
        #expect(table.slot(of: ids[1]) == slots[1] && table[slots[1]] == [7], "the others stay where they are")
    }
}
