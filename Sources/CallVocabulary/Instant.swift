/// A point in time on the server's clock, in whole milliseconds since the Unix epoch.
///
/// Either on the server's monotonic timeline, or in wall time, as sent, stored and signed: `ServerClock` of
/// `CallServer` converts between them.
@frozen public struct Instant: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    @inlinable public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    @inlinable public static func < (a: Self, b: Self) -> Bool {
        a.milliseconds < b.milliseconds
    }

    /// The end of the year 9999: the latest time that is taken from others.
    public static let latest = Instant(milliseconds: 253_402_300_799_999)

    /// Saturates: a time of others may be any number.
    @inlinable public static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflow) = instant.milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
        return Self(milliseconds: overflow ? (sum < 0 ? .max : .min) : sum)
    }

    /// Saturates, as `+` does.
    @inlinable public static func - (a: Self, b: Self) -> Duration {
        let (difference, overflow) = a.milliseconds.subtractingReportingOverflow(b.milliseconds)
        let milliseconds: Int64 = overflow ? (difference < 0 ? .max : .min) : difference
        // One multiplication: `Duration.milliseconds` takes five times as long. `Int128` is missing on older phones.
        let attoseconds = milliseconds.multipliedFullWidth(by: Duration.attosecondsPerMillisecond)
        return Duration(_high: attoseconds.high, low: attoseconds.low)
    }

    /// Whole seconds since the epoch, rounded down.
    public var wholeSeconds: Int64 {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        return rest < 0 ? seconds - 1 : seconds
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded down.
    @inlinable public var wholeMilliseconds: Int64 {
        // One division: `components` takes several.
        guard _high < 0 else {
            return Int64(UInt64(Self.attosecondsPerMillisecond).dividingFullWidth((UInt64(_high), _low)).quotient)
        }
        let (quotient, rest) = Self.attosecondsPerMillisecond.dividingFullWidth((_high, _low))
        return rest < 0 ? quotient - 1 : quotient
    }

    @inlinable static var attosecondsPerMillisecond: Int64 { 1_000_000_000_000_000 }
}
