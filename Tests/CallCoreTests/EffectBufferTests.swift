import CallVocabulary
import Testing

@testable import CallCore

@Suite("Effects") struct EffectBufferTests {
    private static let call = CallID(high: 1, low: 2)
    private static let effects: [CoreEffect] = [
        .persist(.descriptionsDropped(call)), .persist(.groupDeleted("a")), .lookUp(1, Wanted(call: call)),
        .disconnect(ConnectionID(shard: 0, serial: 1), .normal), .persist(.candidatesDropped(call)),
        .lookUp(1, Wanted(call: call)),
        .persist(.groupDeleted("b")),
    ]

    private static func fill(_ buffer: inout EffectBuffer) {
        for effect in effects {
            if case .persist(let record) = effect { buffer.persist(record) } else { buffer.append(effect) }
        }
    }

    @Test("effects come out one by one in their order, whatever they are, and only once")
    func order() {
        var buffer = EffectBuffer()
        for _ in 0..<2 {
            Self.fill(&buffer)
            #expect(buffer.drain() == Self.effects)
        }
        #expect(buffer.drain().isEmpty)
    }

    @Test("records and all else can be had by themselves, each in their order")
    func apart() {
        var buffer = EffectBuffer()
        Self.fill(&buffer)
        let (records, outputs) = buffer.take()
        #expect(
            records.map { CoreEffect.persist($0) } + outputs.release(CommitReceipt())
                == [0, 1, 4, 6, 2, 3, 5].map { Self.effects[$0] })
        #expect(buffer.drain().isEmpty)
    }

    @Test func `a record takes the place of the one before of its owner, until they are handed over`() {
        final class Owner {}
        let owners = [Owner(), Owner()].map(ObjectIdentifier.init)
        var places = [Int?](repeating: nil, count: owners.count)
        var buffer = EffectBuffer()
        func persist(_ name: String, of owner: Int) {
            places[owner] = buffer.persist(.groupDeleted(name), of: owners[owner], at: places[owner])
        }
        func records() -> [String] {
            buffer.take().records.map { if case .groupDeleted(let name) = $0 { name } else { "\($0)" } }
        }
        persist("a1", of: 0)
        buffer.persist(.groupDeleted("-"))
        persist("b1", of: 1)
        persist("a2", of: 0)
        persist("a3", of: 0)
        #expect(records() == ["a3", "-", "b1"])
        // Where the first owner's was, the second's is now, and the second's is beyond the end.
        persist("b2", of: 1)
        persist("a4", of: 0)
        persist("b3", of: 1)
        #expect(records() == ["b3", "a4"])
        buffer.persist(.groupDeleted("-"))
        persist("b4", of: 1)
        #expect(records() == ["-", "b4"])
    }
}
