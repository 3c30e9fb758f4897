import CallVocabulary

/// Candidates that carry a number, as the port: small, and of a form that browsers send.
struct CandidateNumbers {
    private static let head = Array(#"{"candidate":"candidate:1 1 udp 2122260223 192.0.2.1 "#.utf8)
    private static let tail = Array(#" typ host","sdpMid":"0"}"#.utf8)
    private static let firstPort = 50_000
    private static let portDigits = 5

    private let made: [RawJSON]

    /// - Parameter count: up to 10,000.
    init(count: Int) {
        precondition((1...10_000).contains(count), "the number does not fit a port of five digits")
        made = (0..<count).map { RawJSON(bytes: Self.head + Array("\(Self.firstPort + $0)".utf8) + Self.tail) }
    }

    subscript(number: Int) -> RawJSON { made[number] }

    /// The number that `candidate` carries; nil for what was not made here.
    func number(of candidate: RawJSON) -> Int? {
        guard candidate.bytes.count == Self.head.count + Self.portDigits + Self.tail.count else { return nil }
        var port = 0
        for digit in candidate.bytes[Self.head.count..<Self.head.count + Self.portDigits] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            port = port * 10 + Int(digit - UInt8(ascii: "0"))
        }
        let number = port - Self.firstPort
        return made.indices.contains(number) ? number : nil
    }
}
