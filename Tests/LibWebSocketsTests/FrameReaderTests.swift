import ByteMutation
import Testing

@testable import LibWebSockets

@Suite("Frames of a client")
struct FrameReaderTests {
    /// What was delivered, as text.
    private final class Log {
        var lines: [String] = []
    }

    private static func frame(
        _ first: UInt8, _ payload: [UInt8], mask: [UInt8] = [0x11, 0x22, 0x33, 0x44], length: [UInt8]? = nil
    ) -> [UInt8] {
        let short: [UInt8] =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)] : [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return [first] + (length ?? short) + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    private static func frame(_ first: UInt8, _ text: String) -> [UInt8] { frame(first, Array(text.utf8)) }

    /// Feeds `bytes` in pieces, as ``ServerSocket`` does.
    private func read(_ bytes: [UInt8], piece: Int, limit: Int = 1000) -> [String] {
        var reader = FrameReader()
        let log = Log()
        var carried: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            carried += bytes[start..<min(bytes.count, start + piece)]
            guard carried.count >= reader.needed else { continue }
            let taken = carried.withUnsafeMutableBytes { bytes in
                reader.read(bytes, limit: limit) { frame in
                    switch frame {
                    case .text(let text): log.lines.append("text " + String(decoding: text, as: UTF8.self))
                    case .fragment: log.lines.append("fragment")
                    case .ping(let payload): log.lines.append("ping " + String(decoding: payload, as: UTF8.self))
                    case .pong: log.lines.append("pong")
                    case .close(let code): log.lines.append("close \(code.map { "\($0)" } ?? "")")
                    case .fault(let fault): log.lines.append("\(fault) \(fault.code)")
                    }
                    return true
                }
            }
            guard let taken else { break }
            carried.removeFirst(taken)
        }
        return log.lines
    }

    @Test("in fragments of one byte cost as much as they are long")
    func fragments() {
        func message(_ count: Int) -> [UInt8] {
            Self.frame(0x01, "a") + (0..<count).flatMap { _ in Self.frame(0x00, "a") } + Self.frame(0x80, "a")
        }
        func read(_ stream: [UInt8]) {
            var (reader, bytes) = (FrameReader(), stream)
            bytes.withUnsafeMutableBytes { _ = reader.read($0, limit: 1 << 16) { _ in true } }
        }
        let growth = WorstInput.growth(at: 4000, of: message) { read($0) }
        #expect(growth <= WorstInput.mostGrowth)
        // Of as many bytes as a frame.
        let stream = message(9000)
        #expect(WorstInput.isQuick { read(stream) })
    }

    @Test("come out the same however the stream is cut", arguments: [1, 2, 3, 7, 64, 100_000])
    func pieces(_ piece: Int) {
        let long = String(repeating: "l", count: 300)
        let stream =
            Self.frame(0x81, "hello") + Self.frame(0x81, "") + Self.frame(0x01, "one ") + Self.frame(0x89, "are you?")
            + Self.frame(0x00, "two ") + Self.frame(0x80, "grüße") + Self.frame(0x8A, "") + Self.frame(0x81, long)
            + Self.frame(0x88, [0x03, 0xE8] + Array("bye".utf8))
        #expect(
            read(stream, piece: piece) == [
                "text hello", "text ", "fragment", "ping are you?", "fragment", "text one two grüße", "pong",
                "text \(long)", "close 1000",
            ])
    }

    @Test("a character may be split over fragments, and not be left unfinished")
    func splitCharacters() {
        #expect(
            read(Self.frame(0x01, [0xE2]) + Self.frame(0x80, [0x82, 0xAC]), piece: 5) == ["fragment", "text €"])
        #expect(read(Self.frame(0x81, [0xE2, 0x82]), piece: 100) == ["invalidText 1007"])
        #expect(
            read(Self.frame(0x01, [0xE2]) + Self.frame(0x80, [0x82]), piece: 100) == ["fragment", "invalidText 1007"])
    }

    @Test(
        "that break the protocol are named, and nothing after them is read",
        arguments: [
            ([0x81, 0x01, 0x61], FrameFault.unmasked), (frame(0xC1, "x"), .reservedBits),
            (frame(0xA1, "x"), .reservedBits), (frame(0x91, "x"), .reservedBits), (frame(0x83, "x"), .reservedOpcode),
            (frame(0x87, "x"), .reservedOpcode), (frame(0x8B, "x"), .reservedOpcode),
            (frame(0x8F, "x"), .reservedOpcode), (frame(0x09, "x"), .fragmentedControl),
            (frame(0x08, []), .fragmentedControl), (frame(0x0A, ""), .fragmentedControl),
            ([0x89, 0xFE, 0x00, 0x7E], .longControl), ([0x88, 0xFF], .longControl),
            (frame(0x81, [0x61], length: [0xFE, 0, 1]), .length),
            (frame(0x81, [0x61], length: [0xFF, 0, 0, 0, 0, 0, 0, 0, 1]), .length),
            ([0x81, 0xFF] + [UInt8](repeating: 0xFF, count: 8) + [0, 0, 0, 0], .length),
            ([0x81, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + [0, 0, 0, 0], .tooLarge),
            (frame(0x80, "x"), .continuationOfNothing), (frame(0x00, "x"), .continuationOfNothing),
            (frame(0x82, "x"), .binary), (frame(0x02, "x"), .binary), (frame(0x88, [0x03]), .shortClose),
            (frame(0x88, [0x00, 0x00]), .closeCode), (frame(0x88, [0x03, 0xE7]), .closeCode),
            (frame(0x88, [0x03, 0xEC]), .closeCode), (frame(0x88, [0x03, 0xED]), .closeCode),
            (frame(0x88, [0x03, 0xEE]), .closeCode), (frame(0x88, [0x03, 0xF7]), .closeCode),
            (frame(0x88, [0x07, 0xD0]), .closeCode), (frame(0x88, [0x13, 0x88]), .closeCode),
            (frame(0x88, [0x03, 0xE8, 0xFF]), .closeReason), (frame(0x81, [0xFF]), .invalidText),
            (frame(0x81, [UInt8](repeating: 0x61, count: 1001)), .tooLarge),
        ] as [([UInt8], FrameFault)])
    func faults(_ bytes: [UInt8], _ fault: FrameFault) {
        for piece in [1, 1000] {
            let before = Self.frame(0x81, "before")
            #expect(
                read(before + bytes + Self.frame(0x81, "after"), piece: piece) == [
                    "text before", "\(fault) \(fault.code)",
                ])
        }
    }

    @Test("a message within a message, and fragments that are too long together, are faults")
    func faultsAcrossFrames() {
        for second in [Self.frame(0x81, "x"), Self.frame(0x01, "x"), Self.frame(0x82, "x")] {
            #expect(read(Self.frame(0x01, "x") + second, piece: 3) == ["fragment", "messageInMessage 1002"])
        }
        let half = Self.frame(0x01, [UInt8](repeating: 0x61, count: 600))
        let rest = Self.frame(0x80, [UInt8](repeating: 0x61, count: 401))
        #expect(read(half + rest, piece: 10) == ["fragment", "tooLarge 3502"])
    }

    @Test("are judged by their head, before what they announce is waited for")
    func judgedEarly() {
        #expect(read([0x81, 0x05], piece: 1) == ["unmasked 1002"])
        #expect(read([0x81, 0xFE, 0xFF, 0xFF, 0, 0, 0, 0], piece: 1) == ["tooLarge 3502"])
    }

    @Test("may close with every code that a client may send")
    func closeCodes() {
        for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1014, 3000, 3999, 4000, 4999] {
            let frame = Self.frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)])
            #expect(read(frame, piece: 100) == ["close \(code)"])
        }
        #expect(read(Self.frame(0x88, []), piece: 100) == ["close "])
    }

    @Test("every fault has words, short enough for a close frame")
    func reasons() {
        for fault in FrameFault.allCases { #expect((1...123).contains(fault.reason.utf8.count)) }
    }
}
