import Glibc
import Logging

/// One line before it has a form.
struct LogEntry: Sendable {
    var time: LogTime
    var level: Logger.Level
    var label: String
    var message: String
    var metadata: Logger.Metadata

    /// The longest text of a message or a value, in bytes; what is beyond is left out. journald cuts lines at 48 KiB.
    static let longestText = 4096
}

/// When a line was logged.
struct LogTime: Equatable, Sendable {
    /// Since the Unix epoch.
    var milliseconds: Int64

    static func now() -> LogTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// `2026-03-01T09:30:00.125Z` (RFC 3339).
    var universal: String { text(separator: "T", end: "Z") { gmtime_r(&$0, &$1) } }

    /// `2026-03-01 09:30:00.125` where this machine is.
    var local: String { text(separator: " ", end: "") { localtime_r(&$0, &$1) } }

    private func text(
        separator: String, end: String, _ convert: (inout time_t, inout tm) -> UnsafeMutablePointer<tm>?
    ) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        _ = convert(&seconds, &parts)
        let fields: [(number: Int, width: Int, end: String)] = [
            (Int(parts.tm_year) + 1900, 4, "-"), (Int(parts.tm_mon) + 1, 2, "-"), (Int(parts.tm_mday), 2, separator),
            (Int(parts.tm_hour), 2, ":"), (Int(parts.tm_min), 2, ":"), (Int(parts.tm_sec), 2, "."),
            (Int(max(0, milliseconds % 1000)), 3, end),
        ]
        return String(unsafeUninitializedCapacity: Self.length) { buffer in
            var count = 0
            for field in fields {
                var number = field.number
                for place in (0..<field.width).reversed() {
                    buffer[count + place] = UInt8(ascii: "0") + UInt8(number % 10)
                    number /= 10
                }
                count += field.width
                for byte in field.end.utf8 {
                    buffer[count] = byte
                    count += 1
                }
            }
            return count
        }
    }

    /// Of the longer form, in bytes.
    private static let length = 24
}
