import CallVocabulary
import SignalProtocol
import Testing

@testable import Benchmarks

@Suite struct RelayTests {
    /// A message, and how often passing it on asks for memory in a build without optimisation: a little, for closures, and
    /// for types that are not worked out beforehand, with Swift 6.3. An optimised build asks for none.
    struct Case: Sendable {
        let message: ClientMessage
        let unoptimised: Double

        /// How often it may ask for memory in this build.
        var most: Double {
            #if DEBUG
                unoptimised
            #else
                0
            #endif
        }
    }

    static let candidate = Case(message: .notification(.candidates(CallFrames.batch)), unoptimised: 7)
    static let update = Case(message: .request(.number(1), .update(CallFrames.update)), unoptimised: 19)

    private static let all: [Case] = {
        let candidates = (0..<3).flatMap { _ in Array(CallFrames.batch.candidates) }
        var both = CallFrames.update
        both.custom = RawJSON(bytes: Array("[\"\(String(repeating: "m", count: 300))\"]".utf8))
        return [
            candidate, update,
            Case(
                message: .notification(.candidates(CallCandidates(call: CallFrames.call, candidates: candidates))),
                unoptimised: 9),
            Case(message: .request(.number(1), .update(both)), unoptimised: 22),
        ]
    }()

    @Test("what is relayed takes no memory from the heap, however many parts it has", arguments: all)
    func allocations(of item: Case) throws {
        let frame = CodecBenchmark.frame(item.message)
        var relay = try Relay(ready: frame)
        var cost = Cost()
        // More than are kept at a time.
        try cost.add(1_000) { for _ in 0..<1_000 { try relay.pass(frame) } }
        #expect(cost.allocationsEach <= item.most)
        // All of them but the single candidate carry so much.
        #expect(cost.largeAllocations == 0)
    }

    @Test("what is relayed arrives as it was")
    func content() throws {
        for item in Self.all {
            let relay = try Relay(ready: CodecBenchmark.frame(item.message))
            let told = try SignalDecoder.decode(serverFrame: relay.written).get()
            #expect(told == .message(.event(seq: 1, try Relay.event(for: item.message))))
        }
        #expect(try Relay.event(for: Self.candidate.message) == .candidates(CallFrames.batch))
        #expect(try Relay.event(for: Self.update.message) == .update(CallFrames.update))
        #expect(throws: BenchmarkError.self) { try Relay.event(for: .notification(.ack(seq: 1))) }
    }
}
