/// An optional duration in 4 bytes, where `Duration?` takes 24: invites and records of calls are copied often.
///
/// Whole milliseconds, from 0 to 49 days. A duration outside is stored as the nearer of these two.
package struct CompactDuration: Equatable, Sendable {
    /// `UInt32.max` stands for nil.
    private let milliseconds: UInt32

    package init(_ duration: Duration?) {
        // First the bounds: the milliseconds of a long duration fit no integer.
        milliseconds = duration.map { UInt32(min(max($0, .zero), Self.longest).wholeMilliseconds) } ?? .max
    }

    private static let longest = Duration.milliseconds(UInt32.max - 1)

    package var duration: Duration? { milliseconds == .max ? nil : .milliseconds(milliseconds) }
}
