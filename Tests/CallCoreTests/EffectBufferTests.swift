import CallVocabulary
import Testing

@testable import CallCore

@Suite("Effects") struct EffectBufferTests {
    private static let call = CallID(high: 1, low: 2)
    private static let effects: [CoreEffect] = [
        .persist(.offerDropped(call)), .persist(.groupDeleted("a")), .findCall(call),
        .disconnect(ConnectionID(shard: 0, serial: 1), .normal), .persist(.candidatesDropped(call)), .findCall(call),
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
        #expect(records.map { CoreEffect.persist($0) } + outputs == [0, 1, 4, 6, 2, 3, 5].map { Self.effects[$0] })
        #expect(buffer.drain().isEmpty)
    }
}
