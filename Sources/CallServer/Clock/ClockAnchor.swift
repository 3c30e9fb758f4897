import Foundation

/// Where a server's clock stands, for the next process of the same boot: `clock.json` in the data folder.
///
/// The stored deadlines are wall times of ``offset``. Without the file, or after a boot, the timeline begins anew at the
/// wall time of the start: then a clock that was set in between counts as time that has passed.
public struct ClockAnchor: Codable, Equatable, Sendable {
    static let file = "clock.json"

    /// See ``ClockSources/boot``.
    var boot: String?
    /// The timeline's time at the boot, in milliseconds.
    var origin: Int64
    /// What wall time was ahead of the timeline, in milliseconds.
    var offset: Int64

    /// nil when there is none, or none that can be read: then the clock begins anew.
    init?(in folder: DataFolder) {
        guard let contents = FileManager.default.contents(atPath: "\(folder.path)/\(Self.file)"),
            let anchor = try? JSONDecoder().decode(Self.self, from: contents)
        else { return nil }
        self = anchor
    }

    init(boot: String?, origin: Int64, offset: Int64) {
        self.boot = boot
        self.origin = origin
        self.offset = offset
    }

    /// Takes the place of the file that is there.
    func save(in folder: DataFolder) throws {
        let contents = try JSONEncoder().encode(self)
        try contents.write(to: URL(fileURLWithPath: "\(folder.path)/\(Self.file)"), options: .atomic)
    }
}
