import CallVocabulary

/// The value of a `Retry-After` field (RFC 9110 §10.2.3): whole seconds, or a date.
public enum RetryAfter {
    /// Longer values are cut to this: a provider's mistake must not stop pushes for days.
    public static let longest = Duration.seconds(3600)

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Returns: the time from `now`; nil when the text is neither.
    public static func duration(_ text: String, now: Instant) -> Duration? {
        if let seconds = Int64(digits: text, atMost: longest.components.seconds) { return .seconds(seconds) }
        guard let date = wholeSeconds(ofDate: text) else { return nil }
        return min(longest, .seconds(max(0, date - now.wholeSeconds)))
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT` to seconds since the epoch. No provider sends the two obsolete formats.
    private static func wholeSeconds(ofDate text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int64(digits: words[1], in: 1...31),
            let index = months.firstIndex(of: String(words[2])), let year = Int64(digits: words[3], in: 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":")
        guard clock.count == 3, let hour = Int64(digits: clock[0], in: 0...23),
            let minute = Int64(digits: clock[1], in: 0...59), let second = Int64(digits: clock[2], in: 0...60)
        else { return nil }
        return days(year, Int64(index) + 1, day) * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Days from the epoch to a Gregorian date. The year starts in March, so that the leap day is its last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        // 719,468 days lie between 1 March of the year 0 and the epoch.
        return 365 * year + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
