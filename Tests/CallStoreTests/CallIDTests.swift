import CallCore
import CallVocabulary
import Determinism
import RecordTables
import Testing

@testable import CallStore

@Suite struct CallIDTests {
    /// Reads slice by slice, and does `between` after each.
    private func filter(
        _ reader: any TableReader, limit: Int, between: () throws -> Void = {}
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

    @Test(arguments: StoreKind.allCases)
    func `every call comes into the filter, whatever the slices`(_ kind: StoreKind) async throws {
        var calls = (0..<100).map { CallRecord.ended(createdAt: at($0)) }
        calls += [CallRecord.live(CallID(high: 0, low: 0)), .live(CallID(high: .max, low: .max))]
        try await withStore(kind, calls.map { .call($0) }) { _, reader throws in
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

    @Test(arguments: StoreKind.allCases)
    func `calls made between slices neither hide older ones nor keep it going for ever`(_ kind: StoreKind) async throws
    {
        let calls = (0..<50).map { CallRecord.ended(createdAt: at($0)) }
        try await withStore(kind, calls.map { .call($0) }) { store, reader throws in
            let (filter, slices) = try filter(reader, limit: 10) { try store.commit([.call(.live())]) }
            #expect(calls.allSatisfy { filter.mayContain($0.id) })
            #expect(slices < 60)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a part names the calls and pushes that begin or end so, whatever its number of digits`(_ kind: StoreKind)
        async throws
    {
        var generator = SeededGenerator(seed: 1)
        let calls = (0..<200).map { CallRecord.ended(CallID(at: at($0), random: &generator), createdAt: at($0)) }
        let pushes = calls.map { call in
            PushRecord(
                id: PushID(at: call.createdAt, random: &generator), call: call.id,
                device: DeviceKey(user: handle("bob"), device: .random()), token: .sample(),
                intendedAt: call.createdAt, expiresAt: call.ringsUntil)
        }
        try await withStore(kind, calls.map { .call($0) } + pushes.map { .push($0) }) { _, reader throws in
            for (call, push) in zip(calls, pushes) {
                for length in [4, 7, 12, 31, 32] {
                    for (digits, isEnd) in [(call.id.description, true), (push.id.description, false)] {
                        let hex = digits.filter { $0 != "-" }
                        let text = isEnd ? hex.suffix(length) : hex.prefix(length)
                        let part = try #require(IDPart<CallSubject>(text))
                        #expect(
                            try reader.callIDs(part, limit: 1000) == calls.map(\.id).filter { part.names($0) }.sorted())
                        let pushPart = try #require(IDPart<PushSubject>(text))
                        #expect(
                            try reader.pushes(pushPart, limit: 1000).map(\.id)
                                == pushes.map(\.id).filter { pushPart.names($0) }.sorted())
                    }
                }
            }
            let shared = try #require(IDPart<CallSubject>(calls[0].id.description.prefix(8)))
            #expect(try reader.callIDs(shared, limit: 11).count == 11)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an empty store fills nothing`(_ kind: StoreKind) async throws {
        try await withStore(kind) { _, reader throws in
            #expect(try reader.callCount() == 0)
            let (filter, slices) = try filter(reader, limit: 10)
            #expect(slices == 1)
            #expect(filter == CallIDFilter(expecting: 0))
        }
    }
}
