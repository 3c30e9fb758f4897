import AdminProtocol
import CallVocabulary
import Foundation
import TerminalScreen
import Testing

@testable import reveille

/// Whole screens as people see them, on a small and on a large terminal: in `Screens`, written anew with
/// `RECORD_OUTPUT` set.
@Suite("Whole screens")
struct ScreenTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Screens")

    private static func expect(_ screen: ScreenBuffer, as name: String) throws {
        let rows = (0..<screen.height).map { row in
            String(screen.text(row: row).reversed().drop { $0 == " " }.reversed())
        }
        let text = rows.joined(separator: "\n") + "\n"
        let file = folder.appending(path: name)
        if ProcessInfo.processInfo.environment["RECORD_OUTPUT"] != nil { try Data(text.utf8).write(to: file) }
        #expect(text == String(decoding: try Data(contentsOf: file), as: UTF8.self), "\(name)")
    }

    @Test("calls watch: trouble first, names cut in the middle", arguments: [(80, 24), (120, 40)])
    func calls(width: Int, height: Int) throws {
        var stuck = Samples.call(
            4, .answered, from: "sip:gudrun.ackermann@branch-17.example.org", to: "ivan", created: -30)
        stuck.answeredAt = Samples.stamp(-21)
        var fresh = Samples.call(5, .answered, from: "judy", to: "mallory", created: -4)
        fresh.answeredAt = Samples.stamp(-1)
        let calls = [
            Samples.call(1, .ringing, from: "alice", to: "bob", created: -3),
            Samples.call(2, .waking, from: "carol", to: "sip:dave.longname@headquarters.example.org", created: -12),
            Samples.call(3, .connected, from: "erin", to: "frank", created: -4000), stuck, fresh,
            Samples.call(6, .waking, from: "niaj", to: "olivia", created: -1),
        ]
        var program = WatchProgram()
        _ = program.received(.link(.joined(Samples.server())), at: Samples.time(0))
        _ = program.received(.link(.notification(Samples.change(calls))), at: Samples.time(0))
        try Self.expect(Samples.screen(&program, width: width, height: height), as: "calls-\(width)x\(height).txt")
    }

    @Test("top: graphs where the terminal is tall", arguments: [(80, 24), (120, 40), (120, 60)])
    func top(width: Int, height: Int) throws {
        var program = TopProgram(intervalMilliseconds: 1000)
        var stats = Samples.stats()
        _ = program.received(.link(.joined(stats.server)), at: Samples.time(0))
        for second in 0..<150 {
            let wave = abs(Double(second % 40) - 20)
            stats.at = Samples.stamp(Double(second))
            stats.process.cpuSeconds += 0.2 + wave / 40
            stats.calls.invitedPerSecond = 10 + wave
            stats.calls.endedLastMinute[.mediaFailed] = second > 100 ? second - 100 : 0
            if let index = stats.stages.firstIndex(where: { $0.stage == .inviteToRinging }) {
                stats.stages[index].p99Milliseconds = 20 + wave * 4
                stats.stages[index].p95Milliseconds = 10 + wave
            }
            _ = program.received(
                .link(.notification(StatsChanged(subscription: 1, stats: stats))), at: Samples.time(Double(second)))
        }
        try Self.expect(Samples.screen(&program, width: width, height: height), as: "top-\(width)x\(height).txt")
    }
}
