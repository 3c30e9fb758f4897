import AdminProtocol
import ArgumentParser
import CallVocabulary
import Foundation

/// A time on the command line: `2026-09-18`, `2026-09-18 14:00`, `2026-09-18T12:00:00Z`, or so long ago: `90s`, `15m`,
/// `1h30m`, `3d`, `1w`.
enum PointInTime {
    static let help = "a date, a time (RFC 3339, or local) or how long ago: 15m, 2h, 3d"

    static func parse(_ text: String) throws -> Instant {
        if let ago = TimeSpan.duration(text) { return Moment.now + (.zero - ago) }
        if let time = Timestamp(rfc3339: text) { return time.instant }
        if let date = local(text) {
            return Instant(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
        }
        throw ValidationError(
            "'\(text)' is no time: give one as 2026-09-18, 2026-09-18T14:00, 2026-09-18T12:00:00Z, or how long ago as "
                + "15m, 2h or 3d.")
    }

    private static func local(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = Console.current.timeZone
        formatter.isLenient = false
        let text = text.replacing("T", with: " ")
        // The formatter also takes one digit where the format has two, and a year of five digits.
        for format in ["yyyy-MM-dd", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss"] where format.count == text.count {
            formatter.dateFormat = format
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }
}
