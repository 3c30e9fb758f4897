import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct CandidateTests {
    private static func json(_ text: String) -> RawJSON { RawJSON(bytes: Array(text.utf8)) }

    @Test(arguments: [
        [], ["1"], ["{}", "[]", "null", "true", "-1.5e3"], [#"{"candidate":"a,b]}","sdpMid":"\\"}"#, #""],[\"{""#],
        [#""\\\\""#, #"{ "a" : [1, 2 ,[ ]] }"#], [#"{"b":"\u00e9é📞"}"#, #"{"\"":{"\\\"":[",",{}]}}"#],
        [#""""#, #""""#],
    ])
    func `an array gives back its values byte for byte, in order`(texts: [String]) throws {
        let values = texts.map(Self.json)
        let array = JSONText.array(values)
        #expect(try JSONSerialization.jsonObject(with: Data(array.bytes)) is [Any], "the column holds JSON")
        #expect(JSONText.elements(array) == values)
    }

    @Test(arguments: ["", "[", "]", "{}", "null", "[[]", "[\"]", "[{]", "[\"a\\\"]"])
    func `what is no array is not read as one`(text: String) {
        #expect(JSONText.elements(Self.json(text)) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `batches come back in the order they came, with their bytes, of live calls only`(_ kind: StoreKind)
        async throws
    {
        let (call, other, over) = (CallRecord.live(), CallRecord.live(), CallRecord.ended())
        let device = DeviceKey(user: handle("bob"), device: .random())
        let first = CandidateRecord.sample([#"{"candidate": "udp 1"}"#, #"{"candidate":"\u0075dp 2"}"#], of: call)
        let second = CandidateRecord.sample([], of: call, from: device, isFinal: true)
        let third = CandidateRecord.sample(["3"], of: call)
        let others = CandidateRecord.sample(["4"], of: other, isFinal: true)
        try await withStore(
            kind,
            [
                .call(call), .call(other), .call(over), .candidates(first), .candidates(others), .candidates(second),
                .candidates(.sample(["5"], of: over)),
            ]
        ) { store, _ throws in
            // The same once more: there is no key that it could take the place of.
            #expect(try store.commit([.candidates(third), .candidates(third)]) == 2)
            #expect(try store.whole().candidates == [first, second, third, third, others])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `dropping covers the batches before it, of its call, and not those after it`(_ kind: StoreKind) async throws {
        let (call, other) = (CallRecord.live(), CallRecord.live())
        let others = CandidateRecord.sample(["0"], of: other)
        func batch(_ text: String) -> CandidateRecord { .sample([text], of: call) }
        try await withStore(kind, [.call(call), .call(other), .candidates(others), .candidates(batch("1"))]) {
            store, _ throws in
            try store.commit([.candidates(batch("2")), .candidatesDropped(call.id), .candidates(batch("3"))])
            #expect(try store.whole().candidates == [batch("3"), others])
            try store.commit([.candidatesDropped(call.id)])
            #expect(try store.whole().candidates == [others])
            try store.commit([.candidatesDropped(call.id), .candidates(batch("4"))])
            #expect(try store.whole().candidates == [batch("4"), others])
        }
    }

    @Test func `a crash before the drop leaves the candidates to the next server, one after it leaves none`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let call = CallRecord.live()
        let batches = [CandidateRecord.sample(["1", "2"], of: call), .sample(["3"], of: call, isFinal: true)]
        try store.commit([.call(call), .candidates(batches[0])])
        try store.commit([.candidates(batches[1])])
        let before = try TemporaryFolder(copying: folder)
        try store.commit([.candidatesDropped(call.id)])
        let after = try TemporaryFolder(copying: folder)
        store.close()
        for (left, expected) in [(before, batches), (after, [])] {
            let successor = try CallStore.open(folder: left.path)
            let state = try successor.whole()
            #expect(state.calls == [call])
            #expect(state.candidates == expected)
            // It drops what it has handed on, and takes new ones behind it.
            try successor.commit([.candidatesDropped(call.id), .candidates(batches[1])])
            #expect(try successor.whole().candidates == [batches[1]])
            successor.close()
        }
    }

    @Test func `a batch that fails leaves no candidates behind for the next one`() throws {
        let call = CallRecord.live()
        try withStore([.call(call)]) { store, _, _ throws in
            let disk = StoreDisk(of: store)
            try disk.fill()
            let large = CandidateRecord.sample(["\"\(String(repeating: "x", count: 100_000))\""], of: call)
            let group = CallGroup(name: "sales", strategy: .all, members: [])
            let thrown = failure { () throws(StoreFailure) in
                try store.commit([.candidates(large), .group(group), .user(.full()), .aliasDeleted(handle("desk"))])
            }
            #expect(thrown?.reason == .diskFull)
            try disk.free()
            let small = CandidateRecord.sample(["1"], of: call)
            #expect(try store.commit([.candidates(small)]) == 1)
            let state = try store.whole()
            #expect(state.candidates == [small])
            #expect(state.groups.isEmpty && state.users.isEmpty)
        }
    }
}
