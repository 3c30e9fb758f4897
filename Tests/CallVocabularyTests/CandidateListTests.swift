import CallVocabulary
import Testing

struct CandidateListTests {
    private func raw(_ text: String) -> RawJSON { RawJSON(bytes: Array(text.utf8)) }

    /// One of 1,000 bytes, which are longer than a byte can say, and one of none.
    private var values: [RawJSON] { ["1", "{\"a\": [1, 2]}", "", String(repeating: "x", count: 1_000)].map(raw) }

    @Test("a list holds the values it was made of, in their order")
    func content() {
        let list = CandidateList(values)
        #expect(Array(list) == values && list.count == 4 && !list.isEmpty)
        var seen: [[UInt8]] = []
        list.forEachValue { seen.append(Array($0)) }
        #expect(seen == values.map(\.bytes))
        let empty = CandidateList()
        #expect(empty.isEmpty && empty.count == 0 && Array(empty) == [] && empty == [])
    }

    @Test("lists are the same when their values are, wherever one ends and the next begins")
    func equality() {
        #expect(CandidateList([raw("1"), raw("2")]) == [raw("1"), raw("2")])
        #expect(CandidateList([raw("1"), raw("2")]) != [raw("12")])
        #expect(CandidateList([raw("1")]) != [raw("1"), raw("")])
        var list = CandidateList([raw("1")])
        let before = list
        list.append(raw("2"))
        #expect(list == [raw("1"), raw("2")] && before == [raw("1")])
        #expect(Set([list, before, list]).count == 2)
    }

    @Test("what does not fit one frame goes in several, in order, and the last says that it is the end")
    func frames() {
        let call = CallID(high: 1, low: 2)
        func batches(_ sizes: [Int], upTo limit: Int, isFinal: Bool = true) -> [CallCandidates] {
            let values = sizes.map { raw(String(repeating: "x", count: $0)) }
            var batches: [CallCandidates] = []
            CallCandidates(call: call, candidates: values, isFinal: isFinal)
                .forEachFrame(upTo: limit) { batches.append($0) }
            #expect(batches.flatMap { Array($0.candidates) } == values && batches.allSatisfy { $0.call == call })
            #expect(batches.map(\.isFinal) == batches.indices.map { isFinal && $0 == batches.count - 1 })
            return batches
        }
        func sizes(_ batches: [CallCandidates]) -> [[Int]] { batches.map { $0.candidates.map(\.bytes.count) } }
        #expect(sizes(batches([], upTo: 10)) == [[]])
        // With a comma each, exactly as much as there is room for, and one byte more.
        #expect(sizes(batches([4, 4], upTo: 10)) == [[4, 4]])
        #expect(sizes(batches([4, 5], upTo: 10)) == [[4], [5]])
        #expect(sizes(batches([4, 4, 1, 7, 9, 1], upTo: 10, isFinal: false)) == [[4, 4], [1, 7], [9], [1]])
        #expect(sizes(batches([1, 50, 1], upTo: 10)) == [[1], [50], [1]], "one that fits no frame is alone")
    }

    @Test("a list tells how many values it has, and nothing of them")
    func redacted() {
        let list = CandidateList([raw("\"secret\""), raw("\"secret\"")])
        #expect("\(list)" == "‹2 in 24 bytes›" && String(reflecting: list) == "‹2 in 24 bytes›")
        var dumped = ""
        dump(list, to: &dumped)
        #expect(!dumped.contains("115"), "the first byte of the text")
    }
}
