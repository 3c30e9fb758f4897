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
