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

    @inlinable public static func + (instant: Self, duration: Duration) -> Self {
        Self(milliseconds: instant.milliseconds + duration.wholeMilliseconds)
    }

    @inlinable public static func - (a: Self, b: Self) -> Duration {
        // One multiplication: `Duration.milliseconds` takes five times as long. `Int128` is missing on older phones.
        let attoseconds = (a.milliseconds - b.milliseconds).multipliedFullWidth(by: Duration.attosecondsPerMillisecond)
        return Duration(_high: attoseconds.high, low: attoseconds.low)
    }

    /// Whole seconds since the epoch, rounded down.
    public var wholeSeconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : -((-milliseconds + 999) / 1000)
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
