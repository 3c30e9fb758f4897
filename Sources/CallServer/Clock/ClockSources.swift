import CLinux
import Foundation

/// The clocks of the machine, in milliseconds; tests substitute their own.
public struct ClockSources: Sendable {
    /// `CLOCK_REALTIME`: since the epoch; can be set.
    public var wall: @Sendable () -> Int64
    /// `CLOCK_BOOTTIME`: since boot, including suspension.
    public var elapsed: @Sendable () -> Int64
    /// `CLOCK_MONOTONIC`: since boot, excluding suspension.
    public var awake: @Sendable () -> Int64
    /// Identifies the boot; nil when times of two processes cannot be compared.
    public var boot: String?

    public init(
        wall: @escaping @Sendable () -> Int64, elapsed: @escaping @Sendable () -> Int64,
        awake: @escaping @Sendable () -> Int64, boot: String?
    ) {
        self.wall = wall
        self.elapsed = elapsed
        self.awake = awake
        self.boot = boot
    }

    public static var system: ClockSources {
        ClockSources(
            wall: { read(CLOCK_REALTIME) }, elapsed: { read(CLOCK_BOOTTIME) }, awake: { read(CLOCK_MONOTONIC) },
            boot: bootOfThisMachine)
    }

    /// The same clocks with the wall clock of another machine, which setting this machine's clock does not change.
    /// - Parameter origin: that clock when ``elapsed`` was 0.
    func following(_ origin: @escaping @Sendable () -> Int64) -> ClockSources {
        var clocks = self
        clocks.wall = { [elapsed] in origin() + elapsed() }
        return clocks
    }

    /// Cannot fail: Linux has these clocks since 2.6.39.
    private static func read(_ clock: clockid_t) -> Int64 { reveille_clock_milliseconds(clock) }

    /// The kernel's boot id, with the time namespace, which may shift `CLOCK_BOOTTIME` in a container.
    private static var bootOfThisMachine: String? {
        guard let contents = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") else { return nil }
        let id = String(decoding: contents, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        let namespace = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/time")
        return id.isEmpty ? nil : "\(id) \(namespace ?? "")"
    }
}
