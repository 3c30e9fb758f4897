import CallCore
import CallVocabulary
import Testing

@testable import CallStore

@Suite struct CallIDTests {
    /// Reads slice by slice, and does `between` after each.
    private func filter(
        _ reader: StoreReader, limit: Int, between: () throws -> Void = {}
    ) throws -> (filter: CallIDFilter, slices: Int) {
        var filter = CallIDFilter(expecting: try reader.callCount())
        var (slice, slices): ([CallID], Int) = ([], 0)
        repeat {
            slice = try reader.callIDs(after: slice.last, limit: limit)
            for id in slice { filter.insert(id) }
            slices += 1
            try between()
        } while slice.count == limit && slices < 1000
        return (filter, slices)
    }

    @Test func `every call comes into the filter, whatever the slices`() throws {
        var calls = (0..<100).map { CallRecord.ended(createdAt: at($0)) }
        calls += [CallRecord.live(CallID(high: 0, low: 0)), .live(CallID(high: .max, low: .max))]
        try withStore(calls.map { .call($0) }) { _, reader, _ throws in
            #expect(try reader.callCount() == 102)
            for limit in [1, 7, 102, 103, 5000] {
                let (filter, slices) = try filter(reader, limit: limit)
                #expect(calls.allSatisfy { filter.mayContain($0.id) }, "limit \(limit)")
                #expect(slices == 102 / limit + 1, "the last slice is short")
                let strangers = (0..<1000).count { _ in filter.mayContain(.random()) }
                #expect(strangers < 100, "the filter is not simply full")
            }
        }
    }

    @Test func `calls made between slices neither hide older ones nor keep it going for ever`() throws {
        let calls = (0..<50).map { CallRecord.ended(createdAt: at($0)) }
        try withStore(calls.map { .call($0) }) { store, reader, _ throws in
            let (filter, slices) = try filter(reader, limit: 10) { try store.commit([.call(.live())]) }
            #expect(calls.allSatisfy { filter.mayContain($0.id) })
            #expect(slices < 60)
        }
    }

    @Test func `an empty store fills nothing`() throws {
        try withStore { _, reader, _ throws in
            #expect(try reader.callCount() == 0)
            let (filter, slices) = try filter(reader, limit: 10)
            #expect(slices == 1)
            #expect(filter == CallIDFilter(expecting: 0))
        }
    }
}
