import ByteMutation
import CallVocabulary
import Determinism
import Dispatch
import Synchronization
import Testing

@testable import SignalProtocol

struct PayloadMemoryTests {
    private struct Spoilt: Error {}

    private func address(_ bytes: [UInt8]) -> UInt {
        bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }

    @Test("what somebody holds stays as it is, for however long and among however many others")
    func held() {
        var generator = SeededGenerator(seed: 0x5EED_0004)
        let memory = PayloadMemory(shelfBytes: 8 * 1024)
        var held: [(bytes: [UInt8], byte: UInt8, count: Int)] = []
        for number in 0..<4_000 {
            let byte = UInt8(truncatingIfNeeded: number)
            let count = Int.random(in: 0...Int.random(in: 1...2_000, using: &generator), using: &generator)
            // Now and then it is more than was thought.
            let thought = number.isMultiple(of: 5) ? count / 3 : count
            held.append(
                (memory.fill(upTo: thought) { $0.append(contentsOf: repeatElement(byte, count: count)) }, byte, count))
            while held.count > 50 || !held.isEmpty && Int.random(in: 0..<40, using: &generator) == 0 {
                let piece = held.remove(at: Int.random(in: 0..<held.count, using: &generator))
                guard piece.bytes == Array(repeating: piece.byte, count: piece.count) else {
                    Issue.record("what was written as number \(number) or before has changed")
                    return
                }
            }
        }
        #expect(held.allSatisfy { piece in piece.bytes == Array(repeating: piece.byte, count: piece.count) })
    }

    @Test("once there is a piece for each that is in use at a time, no others are needed")
    func steady() {
        var shelf = PayloadShelf(size: 256, most: 100)
        var inUse: [[UInt8]] = []
        var addresses: Set<UInt> = []
        for number in 0..<1_000 {
            inUse.append(shelf.fill { $0.append(UInt8(truncatingIfNeeded: number)) })
            if inUse.count > 20 { inUse.removeFirst() }
            if number >= 200 { addresses.insert(address(inUse[inUse.count - 1])) }
        }
        #expect((21...42).contains(shelf.pieces.count))
        #expect(addresses == Set(shelf.pieces.map(address)), "one after the other, each of them and no others")
    }

    @Test("one at a time needs one piece, and the next size is not touched")
    func one() {
        var shelf = PayloadShelf(size: 256, most: 100)
        let first = address(shelf.fill { $0.append(1) })
        for _ in 0..<10 {
            #expect(address(shelf.fill { $0.append(contentsOf: repeatElement(2, count: 256)) }) == first)
        }
        #expect(shelf.pieces.count == 1)
    }

    @Test("there are no more pieces than the bound says, and what is beyond it has memory of its own")
    func bound() {
        var shelf = PayloadShelf(size: 256, most: 10)
        var inUse: [[UInt8]] = []
        for number in 0..<100 { inUse.append(shelf.fill { $0.append(UInt8(number)) }) }
        #expect(shelf.pieces.count == 10)
        #expect(Set(inUse.map(address)).count == 100)
        #expect(inUse.map { $0[0] } == (0..<100).map { UInt8($0) })
    }

    @Test("a piece that has grown is not kept, and what could not be written leaves nothing behind")
    func outgrown() throws {
        var shelf = PayloadShelf(size: 256, most: 10)
        let large = shelf.fill { $0.append(contentsOf: repeatElement(1, count: 5_000)) }
        #expect(large.count == 5_000 && shelf.pieces == [[]])
        #expect(throws: Spoilt.self) {
            _ = try shelf.fill { (bytes) throws(Spoilt) in
                bytes.append(1)
                throw Spoilt()
            }
        }
        #expect(shelf.fill { $0.append(2) } == [2])
        #expect(large == Array(repeating: 1, count: 5_000))
    }

    @Test("white space between candidates takes no memory for as long as they are held", arguments: [true, false])
    func whiteSpace(_ isUsedAgain: Bool) throws {
        let call = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
        let blanks = String(repeating: " ", count: 60_000)
        let frame =
            #"{"jsonrpc":"2.0","method":"call.candidates","params":{"call_id":"\#(call)","candidates":[1,\#(blanks)2]}}"#
        let decoded = SignalDecoder.decode(frame: Array(frame.utf8), in: isUsedAgain ? PayloadMemory() : nil)
        guard case .success(.notification(.candidates(let candidates))) = decoded else {
            Issue.record("\(decoded)")
            return
        }
        #expect(candidates.candidates.map(\.bytes) == [Array("1".utf8), Array("2".utf8)])
        #expect(candidates.candidates.bytes.capacity <= 512)
    }

    @Test("frames mean the same with memory that was used before as without, refused ones among them")
    func decoding() {
        var generator = SeededGenerator(seed: 0x5EED_0005)
        let memory = PayloadMemory(shelfBytes: 4_096)
        let messages =
            Samples.requests.map { ClientMessage.request(.number(1), $0) }
            + Samples.notifications.map { ClientMessage.notification($0) }
        let corpus = messages.map { message in
            var frame: [UInt8] = []
            SignalEncoder.encode(message, into: &frame)
            return frame
        }
        for (message, frame) in zip(messages, corpus) {
            #expect(SignalDecoder.decode(frame: frame, in: memory) == .success(message))
        }
        var accepted = 0
        for number in 0..<5_000 {
            let frame = Mutation.mutate(corpus, using: &generator)
            let (with, without) = (SignalDecoder.decode(frame: frame, in: memory), SignalDecoder.decode(frame: frame))
            if case .success = with { accepted += 1 }
            guard with == without else {
                Issue.record("case \(number): \(with), and \(without)")
                return
            }
        }
        #expect((100...4_900).contains(accepted))
    }

    @Test("memory is used again while another thread reads and drops what it held", .timeLimit(.minutes(5)))
    func threads() {
        let memory = PayloadMemory(shelfBytes: 64 * 1024)
        let reader = DispatchQueue(label: "reader")
        let changed = Atomic(0)
        for round in 0..<500 {
            let pieces = (0..<40).map { number in
                let bytes = Array(repeating: UInt8(truncatingIfNeeded: round + number), count: 100)
                return (expected: bytes, bytes: memory.fill(upTo: 100) { $0.append(contentsOf: bytes) })
            }
            reader.async {
                for piece in pieces where piece.bytes != piece.expected { changed.add(1, ordering: .relaxed) }
            }
        }
        reader.sync {}
        #expect(changed.load(ordering: .relaxed) == 0)
    }
}
