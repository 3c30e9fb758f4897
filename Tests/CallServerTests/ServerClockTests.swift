import CallVocabulary
import Foundation
import Synchronization
import TestCleanup
import Testing

@testable import CallServer

@Suite("The server's clock", .cleanup) struct ServerClockTests {
    private let clocks = FakeClocks()
    private let clock: ServerClock

    init() { clock = ServerClock(clocks.sources) }

    @Test("begins with the system's time, and continues from there")
    func plain() {
        #expect(clock.now() == Instant(milliseconds: 1_800_000_000_000))
        clocks.pass(.seconds(5))
        #expect(clock.check() == [])
        #expect(clock.now() == Instant(milliseconds: 1_800_000_005_000))
        #expect(clock.wallTime() == clock.now() && clock.time() == clock.now() && clock.offset == .zero)
    }

    @Test(
        "ignores steps; the reported offset follows", arguments: [7200, -7200, 1, -1, 86_400 * 365, -86_400 * 3650])
    func steps(seconds: Int64) {
        let step = Duration.seconds(seconds)
        let before = clock.now()
        clocks.set(by: step)
        #expect(clock.now() == before && clock.time() == before)
        #expect(clock.wallTime() == before + step)
        #expect(clock.check() == [.stepped(by: step)])
        #expect(clock.now() == before && clock.time() == before + step && clock.offset == step)
        clocks.pass(.seconds(3))
        #expect(clock.check() == [])
        #expect(clock.now() == before + .seconds(3) && clock.time() == before + step + .seconds(3))
        clocks.set(by: .zero - step)
        #expect(clock.check() == [.stepped(by: .zero - step)])
        #expect(clock.time() == clock.now() && clock.offset == .zero)
        #expect(clock.figures.stepsForward == 1 && clock.figures.stepsBackward == 1)
    }

    @Test("treats less than half a second as noise, and an accumulation of it as a step")
    func noise() {
        clocks.set(by: .milliseconds(499))
        #expect(clock.check() == [] && clock.offset == .zero)
        clocks.set(by: .milliseconds(-998))
        #expect(clock.check() == [] && clock.offset == .zero)
        clocks.set(by: .milliseconds(-1))
        #expect(clock.check() == [.stepped(by: .milliseconds(-500))])
    }

    @Test("continues while the machine is suspended, which is not a step")
    func suspension() {
        let before = clock.now()
        clocks.suspend(for: .seconds(3600))
        #expect(clock.now() == before + .seconds(3600))
        #expect(clock.check() == [.suspended(for: .seconds(3600))])
        #expect(clock.check() == [])
        clocks.suspend(for: .milliseconds(999))
        #expect(clock.check() == [])
        clocks.set(by: .seconds(60))
        clocks.suspend(for: .seconds(10))
        // Including steps that were too short to report.
        #expect(clock.check() == [.suspended(for: .milliseconds(10_999)), .stepped(by: .seconds(60))])
        #expect(clock.figures.suspensions == 2 && clock.figures.suspended == .milliseconds(3_610_999))
    }

    @Test("continues in the next process of the same boot, and detects steps in between")
    func nextProcess() throws {
        clocks.set(by: .seconds(7200))
        _ = clock.check()
        let folder = try DataFolder.temporary()
        try clock.anchor.save(in: folder)
        clocks.pass(.seconds(10))
        clocks.set(by: .seconds(-60))
        let next = ServerClock(clocks.sources, anchor: ClockAnchor(in: folder))
        #expect(next.now() == clock.now() && next.offset == .seconds(7200))
        #expect(next.check() == [.stepped(by: .seconds(-60))])
        #expect(next.offset == .seconds(7140))
    }

    @Test("takes no anchor of this boot that is years off, whichever number of it is damaged")
    func implausible() throws {
        let sources = clocks.sources
        let folder = try DataFolder.temporary()
        let (origin, most) = (clock.anchor.origin, (Int64(1) << 53) - 1)
        for (wrong, offset) in [
            (most, 0), (-most, 0), (origin, most), (origin, -most), (most, -most), (origin + 8_000_000_000_000, 0),
            (origin, 11 * 365 * 86_400_000), (origin, -11 * 365 * 86_400_000),
        ] as [(Int64, Int64)] {
            try ClockAnchor(boot: sources.boot, origin: wrong, offset: offset).save(in: folder)
            var said: [String] = []
            let anchor = ClockAnchor(in: folder, of: sources) { said.append($0) }
            #expect(anchor == nil && said.count == 1, "\(wrong) \(offset)")
        }
        // A machine whose clock began in 1970, and was set.
        let began = ClockAnchor(boot: sources.boot, origin: -sources.elapsed(), offset: sources.wall())
        try began.save(in: folder)
        #expect(ClockAnchor(in: folder, of: sources) == began)
    }

    @Test("in a realm goes on with the database's clock, whenever this machine's is set")
    func databaseClock() {
        // The database is an hour behind.
        let origin = Mutex(clocks.sources.wall() - 3_600_000 - clocks.sources.elapsed())
        // Between the take-over and the start.
        clocks.set(by: .seconds(7200))
        let clock = ServerClock(clocks.sources.following { origin.withLock { $0 } })
        #expect(clock.time() == Instant(milliseconds: 1_800_000_000_000 - 3_600_000))
        for step in [Duration.seconds(3600), .seconds(-86_400), .milliseconds(600)] {
            clocks.set(by: step)
            clocks.pass(.seconds(5))
            #expect(clock.check() == [] && clock.offset == .zero)
        }
        clocks.suspend(for: .seconds(60))
        #expect(clock.check() == [.suspended(for: .seconds(60))])
        #expect(clock.time() == Instant(milliseconds: 1_800_000_000_000 - 3_600_000 + 75_000))
        #expect(clock.wallTime() == clock.time())
        // The database's clock is set.
        origin.withLock { $0 += 3_600_000 }
        #expect(clock.check() == [.stepped(by: .seconds(3600))])
        #expect(clock.time() == Instant(milliseconds: 1_800_000_000_000 + 75_000))
    }

    @Test("starts again after a boot, without an anchor, and with an unreadable one")
    func anew() throws {
        clocks.set(by: .seconds(7200))
        let anchor = clock.anchor
        let rebooted = FakeClocks(boot: "another")
        let unknown = FakeClocks(boot: nil)
        let unanchored = ClockAnchor(boot: nil, origin: 5, offset: 5)
        for (sources, anchor) in [(rebooted.sources, anchor), (unknown.sources, anchor), (unknown.sources, unanchored)]
        {
            let next = ServerClock(sources, anchor: anchor)
            #expect(next.now() == next.wallTime() && next.offset == .zero)
        }
        let folder = try DataFolder.temporary()
        #expect(ClockAnchor(in: folder) == nil)
        try Data("{}".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/clock.json"))
        #expect(ClockAnchor(in: folder) == nil)
    }

    @Test("reads three consistent clocks of the machine, and the boot id")
    func system() {
        let sources = ClockSources.system
        #expect(sources.boot != nil && sources.boot == ClockSources.system.boot)
        #expect(sources.elapsed() >= sources.awake() - 1000)
        let clock = ServerClock()
        #expect(abs((clock.now() - clock.wallTime()).wholeMilliseconds) < 100)
        #expect(clock.check() == [])
    }
}
