/// A possibly abbreviated id, as typed: the whole id, its beginning, or its end.
///
/// Ids that begin with a time (UUID version 7) share their beginning with other ids of the same minute, so they are
/// abbreviated to their end.
public struct IDPart<Subject>: Hashable, Sendable {
    /// Fewer hexadecimal digits are taken for a typing error.
    public static var fewestDigits: Int { 4 }
    private static var digits: Int { 32 }

    /// The input, in lower case.
    public let text: String
    /// The digits without dashes.
    public let hex: String
    /// The ids that begin with the digits.
    public let range: ClosedRange<Identifier<Subject>>
    /// The digits at the end of an id, after zeros.
    private let end: Identifier<Subject>
    /// The bits of an id covered by `end`.
    private let mask: Identifier<Subject>

    /// - Returns: nil unless the text has 4 to 32 hexadecimal digits, with dashes anywhere between them.
    public init?(_ text: some StringProtocol) {
        let text = text.lowercased()
        let hex = text.filter { $0 != "-" }
        guard (Self.fewestDigits...Self.digits).contains(hex.utf8.count),
            hex.allSatisfy({ $0.isASCII && $0.isHexDigit })
        else { return nil }
        let rest = Self.digits - hex.utf8.count
        func identifier(_ digits: String) -> Identifier<Subject>? {
            guard let high = UInt64(digits: digits.prefix(16), radix: 16, in: 0...UInt64.max),
                let low = UInt64(digits: digits.suffix(16), radix: 16, in: 0...UInt64.max)
            else { return nil }
            return Identifier(high: high, low: low)
        }
        func filled(_ digit: Character) -> String { String(repeating: digit, count: rest) }
        guard let lowest = identifier(hex + filled("0")), let highest = identifier(hex + filled("f")),
            let end = identifier(filled("0") + hex),
            let mask = identifier(filled("0") + String(repeating: "f", count: hex.utf8.count))
        else { return nil }
        self.text = text
        self.hex = hex
        range = lowest...highest
        self.end = end
        self.mask = mask
    }

    /// The id, if all digits were given.
    public var exact: Identifier<Subject>? { range.lowerBound == range.upperBound ? range.lowerBound : nil }

    /// Whether `id` begins or ends with the digits.
    public func names(_ id: Identifier<Subject>) -> Bool {
        range.contains(id) || (id.high & mask.high == end.high && id.low & mask.low == end.low)
    }
}

extension IDPart: CustomStringConvertible {
    public var description: String { text }
}

/// Abbreviates a set of ids so that each stays unique within the set, for narrow output.
///
/// An id that begins with a time is abbreviated to its end, any other to its beginning. The abbreviation has eight
/// digits, or as many as it takes to be unique.
public struct ShortIDs: Sendable {
    private static let fewest = 8
    private static let digits = 32

    private let short: [String: String]

    /// - Parameter ids: in the 36-character form; other strings are left unchanged.
    public init(_ ids: some Sequence<String>) {
        var open: [String: String] = [:]
        for id in ids where open[id] == nil {
            let hex = id.filter { $0 != "-" }
            if id.utf8.count == 36, hex.utf8.count == Self.digits { open[id] = hex }
        }
        let all = Array(open.values)
        var short: [String: String] = [:]
        var length = Self.fewest
        while !open.isEmpty, length < Self.digits {
            var uses: [Substring: Int] = [:]
            for hex in all {
                for part in Set([hex.prefix(length), hex.suffix(length)]) { uses[part, default: 0] += 1 }
            }
            for (id, hex) in open {
                let ends = [Self.beginsWithTime(hex), !Self.beginsWithTime(hex)]
                guard let isEnd = ends.first(where: { uses[$0 ? hex.suffix(length) : hex.prefix(length)] == 1 }) else {
                    continue
                }
                short[id] = Self.text(hex, length, isEnd: isEnd)
                open[id] = nil
            }
            length += 1
        }
        self.short = short
    }

    public init<Subject>(_ ids: some Sequence<Identifier<Subject>>) { self.init(ids.map(\.description)) }

    public subscript(id: String) -> String { short[id] ?? id }

    public subscript<Subject>(id: Identifier<Subject>) -> String { self[id.description] }

    /// Abbreviates a single id to eight digits.
    public static func text<Subject>(_ id: Identifier<Subject>) -> String { ShortIDs(CollectionOfOne(id))[id] }

    /// UUID versions 6 and 7 (RFC 9562).
    private static func beginsWithTime(_ hex: String) -> Bool {
        let version = hex.dropFirst(12).first
        return version == "7" || version == "6"
    }

    /// Formats the digits with the dashes that the whole id has between them.
    private static func text(_ hex: String, _ length: Int, isEnd: Bool) -> String {
        var text = ""
        for (index, digit) in hex.enumerated() {
            guard isEnd ? index >= digits - length : index < length else { continue }
            if [8, 12, 16, 20].contains(index), !text.isEmpty { text.append("-") }
            text.append(digit)
        }
        return text
    }
}
