import Testing

@testable import LibWebSockets

@Suite("Frames of a client")
struct MaskedFramesTests {
    private func message(_ length: Int) -> [UInt8] { (0..<length).map { UInt8(0x20 + $0 % 90) } }

    /// Reads one frame by the book (RFC 6455, 5.2 and 5.3).
    private func read(_ bytes: inout ArraySlice<UInt8>) -> (payload: [UInt8], key: [UInt8], header: [UInt8]) {
        func take(_ count: Int) -> [UInt8] {
            let taken = Array(bytes.prefix(count))
            bytes = bytes.dropFirst(count)
            return taken
        }
        var header = take(2)
        var length = Int(header[1] & 0x7F)
        if length >= 126 {
            let digits = take(length == 126 ? 2 : 8)
            header += digits
            length = digits.reduce(0) { $0 << 8 | Int($1) }
        }
        let key = take(4)
        let payload = take(length).enumerated().map { $1 ^ key[$0 % 4] }
        return (payload, key, header)
    }

    @Test(
        "each is a whole text frame, masked, with the header for its length, wherever it stands",
        arguments: [0, 1, 3, 4, 7, 8, 9, 125, 126, 127, 65535, 65536, 70001])
    func headers(length: Int) {
        var frames = MaskedFrames()
        let messages = [message(5), message(length), message(300)]
        for message in messages { frames.append(message) }
        var rest = frames.bytes[...]
        let found = messages.map { _ in read(&rest) }
        #expect(found.map(\.payload) == messages)
        #expect(rest.isEmpty)
        let expected: [UInt8] =
            if length < 126 {
                [0x81, 0x80 | UInt8(length)]
            } else if length < 65536 {
                [0x81, 0xFE, UInt8(length / 256), UInt8(length % 256)]
            } else {
                [0x81, 0xFF, 0, 0, 0, 0, 0, UInt8(length / 65536), UInt8(length / 256 % 256), UInt8(length % 256)]
            }
        #expect(found[1].header == expected)
    }

    @Test("no two frames are masked by one key, also after the memory was used again")
    func keys() {
        var frames = MaskedFrames()
        var keys: Set<[UInt8]> = []
        for _ in 0..<10 {
            for _ in 0..<20 { frames.append(message(3)) }
            var rest = frames.bytes[...]
            while !rest.isEmpty { keys.insert(read(&rest).key) }
            frames.removeAll()
            #expect(frames.bytes.isEmpty)
        }
        // Two of 200 are alike once in 200,000 runs.
        #expect(keys.count == 200)
    }
}
