import LibWebSockets
import Testing

@Suite("Messages framed together")
struct FrameBatchTests {
    private func message(_ length: Int) -> [UInt8] { (0..<length).map { UInt8(0x20 + $0 % 90) } }

    /// A text frame by the book (RFC 6455, 5.2), with the shortest form of its length.
    private func frame(_ payload: [UInt8]) -> [UInt8] {
        let length = payload.count
        let header: [UInt8] =
            if length < 126 {
                [0x81, UInt8(length)]
            } else if length < 65536 {
                [0x81, 126, UInt8(length / 256), UInt8(length % 256)]
            } else {
                [0x81, 127, 0, 0, 0, 0, 0, UInt8(length / 65536), UInt8(length / 256 % 256), UInt8(length % 256)]
            }
        return header + payload
    }

    @Test(
        "each has the header for its length, wherever it stands", arguments: [0, 1, 125, 126, 127, 65535, 65536, 70000])
    func headers(length: Int) {
        var batch = FrameBatch()
        let messages = [message(3), message(length), message(300)]
        for message in messages {
            // In two pieces, as an encoder writes.
            batch.append { buffer in
                buffer += message.prefix(1)
                buffer += message.dropFirst()
            }
        }
        #expect(batch.bytes == messages.flatMap { frame($0) })
        #expect(batch.count == 3)
        #expect(batch.messageBytes == 303 + length)
    }

    @Test(
        "a close frame behind them is no message, and takes as much of its reason as fits",
        arguments: [
            ("", 0), ("as you wish", 11), (String(repeating: "r", count: 123), 123),
            (String(repeating: "r", count: 124), 123),
            // Cut before a character, and within one.
            (String(repeating: "r", count: 121) + "éé", 123), (String(repeating: "r", count: 122) + "é", 122),
            (String(repeating: "r", count: 120) + "😀", 120),
        ])
    func close(reason: String, length: Int) {
        var batch = FrameBatch()
        batch.append { $0 += message(3) }
        batch.appendClose(code: 3001, reason: reason)
        #expect(
            batch.bytes == frame(message(3)) + [0x88, UInt8(2 + length), 11, 185] + Array(reason.utf8.prefix(length)))
        #expect(batch.count == 1 && batch.messageBytes == 3)
    }

    @Test("they are given back as they were, and the batch can be used again")
    func messages() {
        var batch = FrameBatch()
        #expect(batch.isEmpty)
        for round in 1...2 {
            let messages = [message(5), message(130 * round), message(70_000)]
            for message in messages { batch.append { $0 += message } }
            var seen: [[UInt8]] = []
            batch.forEachMessage { seen.append(Array($0)) }
            #expect(seen == messages)
            #expect(!batch.isEmpty)
            batch.removeAll()
            #expect(batch.isEmpty && batch.bytes.isEmpty && batch.messageBytes == 0)
        }
    }
}
