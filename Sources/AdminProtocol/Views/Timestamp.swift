import CallVocabulary

/// A point in time, for programs and for people: `{"ms": 1789689600123, "rfc3339": "2026-09-18T00:00:00.123Z"}`.
public struct Timestamp: Codable, Hashable, Comparable, Sendable {
    public let instant: Instant

    public init(_ instant: Instant) { self.instant = instant }

    public init?(_ instant: Instant?) {
        guard let instant else { return nil }
        self.instant = instant
    }

    public static func < (a: Self, b: Self) -> Bool { a.instant < b.instant }

    private enum CodingKeys: String, CodingKey { case ms, rfc3339 }

    /// Decodes `ms` and ignores `rfc3339`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        instant = Instant(milliseconds: try container.decode(Int64.self, forKey: .ms))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(instant.milliseconds, forKey: .ms)
        try container.encode(rfc3339, forKey: .rfc3339)
    }

    /// In UTC, with milliseconds (RFC 3339).
    public var rfc3339: String {
        let (days, time) = instant.milliseconds.quotientAndRemainder(flooringDividingBy: 86_400_000)
        let date = Self.date(daysSinceEpoch: days)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let fraction = String(time % 1000 + 1000).dropFirst()
        let clock = "\(two(time / 3_600_000)):\(two(time / 60_000 % 60)):\(two(time / 1000 % 60)).\(fraction)Z"
        let year = String(date.year)
        return String(repeating: "0", count: max(0, 4 - year.count))
            + "\(year)-\(two(date.month))-\(two(date.day))T\(clock)"
    }

    /// Reads a time of RFC 3339, also with another fraction or an offset such as `+02:00`.
    /// - Returns: nil for everything else, such as the 30th of February, a leap second, or text behind the time.
    public init?(rfc3339 text: String) {
        // Long enough for any fraction. One byte more tells a text that goes on.
        let longest = 64
        let bytes = Array(text.utf8.prefix(longest + 1))
        func number(_ place: Range<Int>, in range: ClosedRange<Int64>) -> Int64? {
            Int64(digits: bytes[place], in: range)
        }
        let marks = [4: "-", 7: "-", 10: "T", 13: ":", 16: ":"] as [Int: Unicode.Scalar]
        guard (20...longest).contains(bytes.count), marks.allSatisfy({ bytes[$0.key] == UInt8(ascii: $0.value) }),
            let year = number(0..<4, in: 0...9999), let month = number(5..<7, in: 1...12),
            let day = number(8..<10, in: 1...31), let hour = number(11..<13, in: 0...23),
            let minute = number(14..<16, in: 0...59), let second = number(17..<19, in: 0...59)
        else { return nil }
        var zone = bytes.dropFirst(19)
        var milliseconds: Int64 = 0
        if zone.first == UInt8(ascii: ".") {
            let digits = zone.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            let padded = Array(digits.prefix(3)) + Array(repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count))
            guard !digits.isEmpty, let fraction = Int64(digits: padded, in: 0...999) else { return nil }
            milliseconds = fraction
            zone = zone.dropFirst(1 + digits.count)
        }
        guard let offset = Self.minutes(ofZone: Array(zone)) else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        guard Self.date(daysSinceEpoch: days) == (year, month, day) else { return nil }
        let minutes = (days * 24 + hour) * 60 + minute - offset
        instant = Instant(milliseconds: (minutes * 60 + second) * 1000 + milliseconds)
    }

    /// How far the clocks of a zone are ahead of UTC, in minutes: of `Z`, `+02:00`, `-09:30`.
    private static func minutes(ofZone zone: [UInt8]) -> Int64? {
        if zone == [UInt8(ascii: "Z")] { return 0 }
        guard zone.count == 6, zone[3] == UInt8(ascii: ":"), let hours = Int64(digits: zone[1..<3], in: 0...23),
            let minutes = Int64(digits: zone[4..<6], in: 0...59)
        else { return nil }
        switch zone[0] {
        case UInt8(ascii: "+"): return hours * 60 + minutes
        case UInt8(ascii: "-"): return -(hours * 60 + minutes)
        default: return nil
        }
    }

    /// The inverse of ``date(daysSinceEpoch:)``.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).quotientAndRemainder(flooringDividingBy: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The proleptic Gregorian calendar, counted in eras of 400 years that begin on the first of March.
    private static func date(daysSinceEpoch days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(flooringDividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

extension Int64 {
    /// The remainder is never negative.
    fileprivate func quotientAndRemainder(flooringDividingBy divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
