import Determinism

/// Texts broken a little, by a seeded generator.
public enum Mutation {
    private static let interesting =
        Array("{}[]\",:\\u0e-+.tfn /\n\t".utf8) + [0, 0x1F, 0x7F, 0x80, 0xC0, 0xC3, 0xED, 0xA0, 0xF4, 0xFF]

    /// - Parameter corpus: not empty.
    public static func mutate(_ corpus: [[UInt8]], using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = corpus[Int.random(in: 0..<corpus.count, using: &generator)]
        for _ in 0..<Int.random(in: 1...2, using: &generator) {
            let at = Int.random(in: 0...bytes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0 where at < bytes.count: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1 where at < bytes.count: bytes.remove(at: at)
            case 2 where at < bytes.count: bytes[at] = pick(interesting, &generator)
            case 3: bytes.insert(pick(interesting, &generator), at: at)
            case 4: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...6, using: &generator)))
            default:
                let other = corpus[Int.random(in: 0..<corpus.count, using: &generator)]
                bytes.insert(contentsOf: other, at: at)
            }
        }
        return bytes
    }

    private static func pick(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> UInt8 {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)]
    }
}
