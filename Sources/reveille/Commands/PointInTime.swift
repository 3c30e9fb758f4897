import ArgumentParser
import CallVocabulary
import Foundation

/// A time as people give it: `2026-09-18`, `2026-09-18 14:00`, `2026-09-18T12:00:00Z`, or so long ago: `90s`, `15m`,
/// `2h`, `3d`, `1w`.
enum PointInTime {
    static let help = "a date, a time (RFC 3339, or local) or how long ago: 15m, 2h, 3d"

    static func parse(_ text: String) throws -> Instant {
        if let ago = TimeSpan.duration(text) { return Moment.now + (.zero - ago) }
        if let date = rfc3339(text) ?? local(text) {
            return Instant(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
        }
        throw ValidationError(
            "'\(text)' is no time: give one as 2026-09-18, 2026-09-18T14:00, 2026-09-18T12:00:00Z, or how long ago as "
                + "15m, 2h or 3d.")
    }

    private static func rfc3339(_ text: String) -> Date? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime]
        if let date = formatter.date(from: text) { return date }
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return formatter.date(from: text)
    }

    private static func local(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = Console.current.timeZone
        formatter.isLenient = false
        let text = text.replacing("T", with: " ")
        for format in ["yyyy-MM-dd", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss"] {
            formatter.dateFormat = format
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }
}

/// A length of time as people give it: `500ms`, `90s`, `15m`, `2h`, `3d`, `1w`, or seconds.
enum TimeSpan {
    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    /// About 30 years: more is a slip.
    private static let longest: Int64 = 1_000_000_000

    /// With a unit; nil for anything else.
    static func duration(_ text: String) -> Duration? {
        if text.hasSuffix("ms") { return count(text.dropLast(2), longest * 1000).map { .milliseconds($0) } }
        guard let last = text.last, let unit = units[last] else { return nil }
        return seconds(text.dropLast(), unit)
    }

    /// With a unit, or in seconds.
    static func parse(_ text: String) throws -> Duration {
        guard let duration = duration(text) ?? seconds(text[...], 1) else {
            throw ValidationError("'\(text)' is no length of time: give seconds, or one as 500ms, 90s, 15m, 2h or 3d.")
        }
        return duration
    }

    private static func seconds(_ digits: Substring, _ unit: Int64) -> Duration? {
        count(digits, longest / unit).map { .seconds($0 * unit) }
    }

    private static func count(_ digits: Substring, _ most: Int64) -> Int64? {
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int64(digits), count <= most else {
            return nil
        }
        return count
    }
}
