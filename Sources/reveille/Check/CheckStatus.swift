/// What a probe says, in the order of the monitoring plugins' exit codes.
enum CheckStatus: Int32, Comparable, CaseIterable, Encodable {
    case ok = 0
    case warning = 1
    case critical = 2
    /// The server is there, and cannot be judged.
    case unknown = 3

    var word: String { "\(self)" }

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(word)
    }
}
