import ByteMutation
import CallVocabulary
import Determinism
import SignalProtocol
import Testing

/// Frames broken a little are refused or read, and never fatal.
struct FrameFuzzTests {
    @Test("10,000 broken client frames are refused with a reason, or mean what is written again")
    func clientFrames() {
        let seed: UInt64 = 0x5EED_0002
        var generator = SeededGenerator(seed: seed)
        let corpus =
            (Samples.requests.map { ClientMessage.request(.number(1), $0) }
            + Samples.notifications.map { ClientMessage.notification($0) }).map(frame)
        var accepted = 0
        for number in 0..<10_000 {
            let bytes = Mutation.mutate(corpus, using: &generator)
            switch SignalDecoder.decode(frame: bytes) {
            case .success(let message):
                accepted += 1
                let again = SignalDecoder.decode(frame: frame(message))
                if again != .success(message) {
                    Issue.record("seed \(seed), case \(number): \(message) reads as \(again)")
                    return
                }
            case .failure(let failure):
                let isExpected =
                    (-32700 ... -32600).contains(failure.error.code.number) || failure.error.code.number == -32008
                if !isExpected || failure.error.message.isEmpty {
                    Issue.record("seed \(seed), case \(number): \(failure)")
                    return
                }
            }
        }
        #expect((200...9500).contains(accepted))
    }

    @Test("10,000 broken server frames are refused with a reason, or mean what is written again")
    func serverFrames() {
        let seed: UInt64 = 0x5EED_0003
        var generator = SeededGenerator(seed: seed)
        let corpus =
            (Samples.replies.map { ServerMessage.reply(.number(1), $0) }
            + Samples.events.map { ServerMessage.event(seq: 1, $0) }
            + Samples.errors.map { ServerMessage.error(.string("x"), SignalError($0, "m")) }).map(frame)
        var accepted = 0
        for number in 0..<10_000 {
            let bytes = Mutation.mutate(corpus, using: &generator)
            guard case .success(.message(let message)) = SignalDecoder.decode(serverFrame: bytes) else { continue }
            accepted += 1
            let again = SignalDecoder.decode(serverFrame: frame(message))
            if again != .success(.message(message)) {
                Issue.record("seed \(seed), case \(number): \(message) reads as \(again)")
                return
            }
        }
        #expect((500...9500).contains(accepted))
    }

    private func frame(_ message: ClientMessage) -> [UInt8] {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, into: &frame)
        return frame
    }

    private func frame(_ message: ServerMessage) -> [UInt8] {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, now: Samples.now, into: &frame)
        return frame
    }
}
