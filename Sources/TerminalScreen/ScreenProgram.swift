/// A moment as a program on the screen sees it.
public struct ScreenTime: Equatable, Sendable {
    /// On a clock that only goes forward.
    public var uptime: Duration
    /// Since the epoch.
    public var wallMilliseconds: Int64

    public init(uptime: Duration, wallMilliseconds: Int64) {
        self.uptime = uptime
        self.wallMilliseconds = wallMilliseconds
    }
}

/// What runs on the whole screen: no I/O and no clock of its own. All calls come on the thread of its ``ScreenLoop``.
public protocol ScreenProgram {
    /// What comes from elsewhere, through a ``ScreenInbox``.
    associatedtype Event: Sendable
    /// What it wants done, which is then told it by events.
    associatedtype Effect

    mutating func pressed(_ key: Key, at time: ScreenTime) -> [Effect]
    mutating func received(_ event: Event, at time: ScreenTime) -> [Effect]
    /// Comes about once a second, for what changes with time.
    mutating func passed(at time: ScreenTime) -> [Effect]
    /// Draws all of it into an empty buffer. At most once a frame, and only when something has come.
    mutating func draw(into buffer: inout ScreenBuffer, at time: ScreenTime)
    /// It wants to end.
    var isOver: Bool { get }
}
