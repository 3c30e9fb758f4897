/// A point in time, on two clocks.
public struct ScreenTime: Equatable, Sendable {
    /// On a monotonic clock.
    public var uptime: Duration
    /// Since the epoch.
    public var wallMilliseconds: Int64

    public init(uptime: Duration, wallMilliseconds: Int64) {
        self.uptime = uptime
        self.wallMilliseconds = wallMilliseconds
    }
}

/// A full-screen program without I/O and clock. Called on the thread of its ``ScreenLoop``.
public protocol ScreenProgram {
    /// An event from another thread, through a ``ScreenInbox``.
    associatedtype Event: Sendable
    /// A requested action. Its result arrives as an event.
    associatedtype Effect

    mutating func pressed(_ key: Key, at time: ScreenTime) -> [Effect]
    mutating func received(_ event: Event, at time: ScreenTime) -> [Effect]
    /// Called about once a second.
    mutating func passed(at time: ScreenTime) -> [Effect]
    /// Draws the whole screen into an empty buffer. At most once a frame, and only after an event.
    mutating func draw(into buffer: inout ScreenBuffer, at time: ScreenTime)
    var isOver: Bool { get }
}
