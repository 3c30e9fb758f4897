/// An id as people give it: whole, or so much of its beginning or of its end that it is clear which one is meant.
///
/// Ids that begin with a time (UUID version 7) share their beginning with all others of the same minute: their end
/// tells them apart.
public struct IDPart<Subject>: Hashable, Sendable {
    /// Fewer hexadecimal digits are a slip rather than an id.
    public static var fewestDigits: Int { 4 }
    private static var digits: Int { 32 }

    /// As it was given, in lower case.
    public let text: String
    /// The digits alone.
    public let hex: String
    /// The ids that begin so.
    public let range: ClosedRange<Identifier<Subject>>
    /// The digits at the end of an id, with zeros before them.
    private let end: Identifier<Subject>
    /// The bits of an id that those digits are.
    private let mask: Identifier<Subject>

    /// - Returns: nil for anything else than 4 to 32 hexadecimal digits, with dashes anywhere among them.
    public init?(_ text: some StringProtocol) {
        let text = text.lowercased()
        let hex = text.filter { $0 != "-" }
        guard (Self.fewestDigits...Self.digits).contains(hex.utf8.count),
            hex.allSatisfy({ $0.isASCII && $0.isHexDigit })
        else { return nil }
        let rest = Self.digits - hex.utf8.count
        func identifier(_ digits: String) -> Identifier<Subject>? {
            guard let high = UInt64(digits.prefix(16), radix: 16), let low = UInt64(digits.suffix(16), radix: 16) else {
                return nil
            }
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

    /// The id, where it was given whole.
    public var exact: Identifier<Subject>? { range.lowerBound == range.upperBound ? range.lowerBound : nil }

    /// Whether `id` begins or ends so.
    public func names(_ id: Identifier<Subject>) -> Bool {
        range.contains(id) || (id.high & mask.high == end.high && id.low & mask.low == end.low)
    }
}

extension IDPart: CustomStringConvertible {
    public var description: String { text }
}

/// Ids in few digits, so that each names one of them and no other: where the room is short, this is what is shown.
///
/// An id that begins with a time is shown by its end, any other by its beginning; where eight digits are not enough, by
/// as many as it takes.
public struct ShortIDs: Sendable {
    private static let fewest = 8
    private static let digits = 32

    private let short: [String: String]

    /// - Parameter ids: in the 36-character form; whatever is not one is left as it is.
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

    /// One id for itself, in eight digits.
    public static func text<Subject>(_ id: Identifier<Subject>) -> String { ShortIDs(CollectionOfOne(id))[id] }

    /// UUID versions 6 and 7 (RFC 9562).
    private static func beginsWithTime(_ hex: String) -> Bool {
        let version = hex.dropFirst(12).first
        return version == "7" || version == "6"
    }

    /// With the dashes that stand between the digits in the whole id.
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
