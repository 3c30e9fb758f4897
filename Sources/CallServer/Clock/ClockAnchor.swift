import EventLoop
import Foundation
import RecordTables

/// The state of a server's clock for the next process of the same boot: `clock.json` in the data folder.
///
/// Stored deadlines are wall times computed with ``offset``. Without the file, or after a reboot, the timeline restarts
/// at the wall time of the start: a change of the clock in between then counts as elapsed time.
public struct ClockAnchor: Codable, Equatable, Sendable {
    static let file = "clock.json"

    /// See ``ClockSources/boot``.
    var boot: String?
    /// The timeline at boot, in milliseconds.
    var origin: Int64
    /// Wall time minus the timeline, in milliseconds.
    var offset: Int64

    /// The most that the timeline of this boot may differ from the system clock, and that the wall time may: the clock of
    /// a machine without a battery begins in 1970.
    private static let longest = (timeline: year * 100, wall: year * 10)
    private static let year: Int64 = 365 * 86_400_000

    /// nil when the file is missing, damaged or cannot be read: then the clock starts anew.
    /// - Parameters:
    ///   - sources: the clocks to compare with.
    ///   - onDamage: gets what is wrong with the file, and what to do.
    init?(in folder: DataFolder, of sources: ClockSources = .system, onDamage: (String) -> Void = { _ in }) {
        let path = "\(folder.path)/\(Self.file)"
        let found: [UInt8]?
        do { found = try PrivateFile.read(path) } catch { found = [] }
        guard let contents = found else { return nil }
        // Sums of larger numbers could overflow.
        guard let anchor = try? JSONDecoder().decode(Self.self, from: Data(contents)),
            StoredTime.isPossible(anchor.origin), StoredTime.isPossible(anchor.offset), anchor.isPlausible(by: sources)
        else {
            onDamage(
                "\(path) is damaged and is replaced: if the system clock was set since the last stop, deadlines of "
                    + "open calls are off by as much; check them with reveille calls list")
            return nil
        }
        self = anchor
    }

    /// Whether the times of this boot are near those of the system clock. The next start would refuse rows with others.
    private func isPlausible(by sources: ClockSources) -> Bool {
        // Another boot's are not used.
        guard boot != nil, boot == sources.boot else { return true }
        let (timeline, wall) = (origin + sources.elapsed(), sources.wall())
        return (timeline - wall).magnitude <= Self.longest.timeline
            && (timeline + offset - wall).magnitude <= Self.longest.wall
    }

    init(boot: String?, origin: Int64, offset: Int64) {
        self.boot = boot
        self.origin = origin
        self.offset = offset
    }

    /// Writes the file, replacing an earlier one.
    func save(in folder: DataFolder) throws {
        try folder.replace(Self.file, with: try JSONEncoder().encode(self))
    }
}
