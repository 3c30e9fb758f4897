import CallVocabulary
import Foundation

/// Times as text: local, and relative to now.
enum Moment {
    static var now: Instant { Console.current.now() }

    static func text(_ instant: Instant) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = Console.current.timeZone
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        return formatter.string(from: Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000))
    }

    /// `12 s ago`, `in 3 min`.
    static func relative(_ instant: Instant) -> String {
        let passed = now - instant
        if abs(passed.wholeMilliseconds) < 1000 { return "now" }
        return passed > .zero ? "\(coarse(passed)) ago" : "in \(coarse(.zero - passed))"
    }

    /// Absolute and relative time.
    static func full(_ instant: Instant) -> String { "\(text(instant)) (\(relative(instant)))" }

    /// A time of a call or a push. Of an open one whose server does not run there is no relative time: nobody knows
    /// whether it goes on.
    static func full(_ instant: Instant, isOpen: Bool) -> String {
        isOpen && Console.current.isServerDown ? text(instant) : full(instant)
    }

    /// The time since then, for a column; `-` likewise.
    static func age(_ instant: Instant, isOpen: Bool) -> String {
        isOpen && Console.current.isServerDown ? "-" : coarse(now - instant)
    }

    /// In the largest unit: `12 s`, `3 min`, `5 h`, `4 d`.
    static func coarse(_ duration: Duration) -> String {
        let seconds = duration.wholeMilliseconds / 1000
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) d"
        }
    }

    /// Rounded for reading: `0.412 s`, `8.2 s`, `45 s`, `3 min 05 s`, `1 h 02 min`.
    static func length(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        switch milliseconds {
        case ..<1000: return "0." + String(1000 + max(0, milliseconds)).dropFirst() + " s"
        case ..<60_000:
            let tenths = milliseconds / 100
            return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
        case ..<3_600_000: return "\(milliseconds / 60_000) min \(two(milliseconds / 1000 % 60)) s"
        default: return "\(milliseconds / 3_600_000) h \(two(milliseconds / 60_000 % 60)) min"
        }
    }

    /// With milliseconds, for columns: `0.412 s`.
    static func exact(milliseconds: Int64) -> String {
        let fraction = String(1000 + abs(milliseconds) % 1000).dropFirst()
        return "\(milliseconds < 0 ? "-" : "")\(abs(milliseconds) / 1000).\(fraction) s"
    }
}
