import LibWebSockets
import Testing

@Suite("Putting messages together")
struct MessageAssemblyTests {
    private struct Piece {
        var bytes: [UInt8]
        var isFirst = false
        var isFinal = false
        var isBinary = false
        var remaining = 0
    }

    /// What was delivered, and what went wrong.
    private func feed(_ pieces: [Piece], limit: Int = 10) -> ([[UInt8]], MessageFault?) {
        var assembly = MessageAssembly()
        var messages: [[UInt8]] = []
        for piece in pieces {
            let fault = piece.bytes.withUnsafeBytes { bytes in
                assembly.take(
                    MessageChunk(
                        bytes: bytes, isFirst: piece.isFirst, isFinal: piece.isFinal, isBinary: piece.isBinary,
                        remaining: piece.remaining),
                    limit: limit
                ) { messages.append(Array($0)) }
            }
            if let fault { return (messages, fault) }
        }
        return (messages, nil)
    }

    @Test("whole messages and pieces come out in order, an empty one too")
    func order() {
        let (messages, fault) = feed([
            Piece(bytes: [0x61], isFirst: true, isFinal: true), Piece(bytes: [0x62], isFirst: true, remaining: 1),
            Piece(bytes: [0x63]), Piece(bytes: [], isFinal: true), Piece(bytes: [], isFirst: true, isFinal: true),
        ])
        #expect(messages == [[0x61], [0x62, 0x63], []])
        #expect(fault == nil)
    }

    @Test("the bound counts what has come and what is announced")
    func bound() {
        let ten = [UInt8](repeating: 0x61, count: 10)
        #expect(feed([Piece(bytes: ten, isFirst: true, isFinal: true)]).1 == nil)
        #expect(feed([Piece(bytes: ten + [0x61], isFirst: true, isFinal: true)]).1 == .tooLarge)
        #expect(feed([Piece(bytes: [0x61], isFirst: true, remaining: 10)]).1 == .tooLarge)
        #expect(feed([Piece(bytes: ten, isFirst: true), Piece(bytes: [0x61], isFinal: true)]).1 == .tooLarge)
        #expect(feed([Piece(bytes: [0x61], isFirst: true, remaining: 9)]).1 == nil)
        for announced in [Int.max, .max - 1, .min, -1] {
            #expect(feed([Piece(bytes: [0x61], isFirst: true, remaining: announced)]).1 == .tooLarge)
            let second = [Piece(bytes: [0x61], isFirst: true), Piece(bytes: [0x62], remaining: announced)]
            #expect(feed(second).1 == .tooLarge)
            #expect(feed(second, limit: .max).1 == .tooLarge)
        }
    }

    @Test("binary and invalid text are told apart")
    func faults() {
        #expect(feed([Piece(bytes: [0x61], isFirst: true, isFinal: true, isBinary: true)]).1 == .binary)
        #expect(feed([Piece(bytes: [0xFF], isFirst: true, isFinal: true)]).1 == .invalidText)
        #expect(feed([Piece(bytes: [0xE2], isFirst: true), Piece(bytes: [0x82], isFinal: true)]).1 == .invalidText)
        let (messages, fault) = feed([Piece(bytes: [0xE2, 0x82], isFirst: true), Piece(bytes: [0xAC], isFinal: true)])
        #expect(messages == [[0xE2, 0x82, 0xAC]])
        #expect(fault == nil)
    }

    @Test("a message whose end got lost does not run into the next one")
    func lostEnd() {
        let (messages, fault) = feed([
            Piece(bytes: [0x61], isFirst: true), Piece(bytes: [0x62], isFirst: true, isFinal: true),
            Piece(bytes: [0x63], isFirst: true), Piece(bytes: [0x64], isFinal: true),
        ])
        #expect(messages == [[0x62], [0x63, 0x64]])
        #expect(fault == nil)
    }
}

@Suite("The send queue")
struct SendQueueTests {
    @Test("gives back in order and counts its bytes, but for late ones, over any mix of putting in and taking out")
    func order() {
        var queue = SendQueue()
        var (next, expected) = (0, 0)
        var late: Set<Int> = []
        var written = 0
        var generator = SystemRandomNumberGenerator()
        func message(_ number: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 7)
        }
        for _ in 0..<5000 {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                queue.append(message(next))
                next += 1
            case 1:
                let number = next
                late.insert(number)
                queue.append { text in
                    written += 1
                    text += message(number)
                }
                next += 1
            default:
                guard let taken = queue.removeFirst() else { continue }
                #expect(taken == message(expected))
                expected += 1
            }
            #expect(queue.isEmpty == (next == expected))
            #expect(queue.byteCount == (expected..<next).reduce(0) { late.contains($1) ? $0 : $0 + $1 % 7 })
            #expect(written == late.count { $0 < expected }, "each is written when it is taken out")
        }
        queue.removeAll()
        #expect(queue.isEmpty)
        #expect(queue.byteCount == 0)
    }
}
