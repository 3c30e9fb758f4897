/// A point in time on the server's clock, in whole milliseconds since the Unix epoch.
///
/// Wall time, because deadlines outlive the process; the shell advances it monotonically between two starts,
/// so a stepped system clock moves no deadline.
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
        // Two multiplications; `Duration.milliseconds` takes five times as long.
        Duration(attoseconds: Int128(a.milliseconds - b.milliseconds) * Duration.attosecondsPerMillisecond)
    }

    /// Whole seconds since the epoch, rounded down.
    public var wholeSeconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : -((-milliseconds + 999) / 1000)
    }
}

extension Duration {
    /// The duration in milliseconds, rounded down.
    @inlinable public var wholeMilliseconds: Int64 {
        // One division; `components` takes several.
        Int64(attoseconds / Self.attosecondsPerMillisecond)
    }

    @inlinable static var attosecondsPerMillisecond: Int128 { 1_000_000_000_000_000 }
}
