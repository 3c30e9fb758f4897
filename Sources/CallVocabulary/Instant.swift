/// A point in time on the server's clock, in whole milliseconds since the Unix epoch.
///
/// Wall time, because deadlines outlive the process; the shell advances it monotonically between two starts,
/// so a stepped system clock moves no deadline.
public struct Instant: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (a: Self, b: Self) -> Bool {
        a.milliseconds < b.milliseconds
    }

    public static func + (instant: Self, duration: Duration) -> Self {
        Self(milliseconds: instant.milliseconds + duration.wholeMilliseconds)
    }

    public static func - (a: Self, b: Self) -> Duration {
        .milliseconds(a.milliseconds - b.milliseconds)
    }

    /// Whole seconds since the epoch, rounded down.
    public var wholeSeconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : -((-milliseconds + 999) / 1000)
    }
}

extension Duration {
    /// The duration in milliseconds, rounded down.
    public var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
