import AdminProtocol
import CallVocabulary
import TerminalScreen

@testable import reveille

/// Calls and moments to try the screens with.
enum Samples {
    /// 2026-09-18T00:00:00Z.
    static let start: Int64 = 1_789_689_600_000

    static func id(_ number: Int) -> CallID { CallID(high: 0x1111_0000_0000_4000, low: UInt64(number) | 1 << 63) }

    static func time(_ seconds: Double) -> ScreenTime {
        ScreenTime(
            uptime: .seconds(1000) + .milliseconds(Int64(seconds * 1000)),
            wallMilliseconds: start + Int64(seconds * 1000))
    }

    static func stamp(_ seconds: Double) -> Timestamp {
        Timestamp(Instant(milliseconds: start + Int64(seconds * 1000)))
    }

    /// The names are handles.
    static func call(
        _ number: Int, _ state: CallState = .ringing, from: String = "alice", to: String = "bob",
        created: Double = -10, reason: EndReason? = nil, devices: Int = 1
    ) -> CallView {
        var call = CallView(
            callID: id(number), state: state, from: Handle(known: from)!, to: TargetView(.user(Handle(known: to)!)),
            video: false,
            createdAt: stamp(created), ringsUntil: stamp(created + 45))
        call.reason = reason
        if state == .ended { call.endedAt = stamp(created + 5) }
        call.counts = CallCounts(devices: devices, ringing: 1, waking: 0, pushes: 2, pushesOpen: 1)
        return call
    }

    static func change(
        _ calls: [CallView], gone: [CallID] = [], complete: Bool = true, reset: Bool = false
    ) -> CallsChanged {
        CallsChanged(subscription: 1, calls: calls, gone: gone, isComplete: complete, isReset: reset)
    }

    static func server(started: Double = -3600, version: String = "0.9.0", draining: Bool = false) -> ServerInfo {
        ServerInfo(
            version: version, node: "node-1", startedAt: stamp(started), address: "127.0.0.1:7350", data: "/data",
            isDraining: draining, drainsUntil: nil, liveCalls: 0, sessions: 0, processID: 1)
    }

    static func detail(_ call: CallView, steps: [String] = ["invited", "push_sent", "ringing"]) -> CallDetail {
        CallDetail(
            call: call, legs: [], pushes: [],
            timeline: steps.enumerated().map { index, step in
                var entry = TimelineEntryView(
                    at: call.createdAt, offsetMilliseconds: Int64(index) * 120, step: step)
                entry.user = Handle("bob")
                return entry
            })
    }

    static func stats() -> StatsView {
        StatsView(
            at: stamp(0), server: server(),
            calls: .init(
                live: [.ringing: 12, .connected: 340, .waking: 5], invited: 5000, answered: 4000, connected: 3900,
                ended: [.hangup: 4000], invitedPerSecond: 12.34, endedPerSecond: 11.9,
                endedLastMinute: [.hangup: 600, .ringTimeout: 40, .declined: 22, .connectionLost: 1]),
            sessions: .init(online: 812, away: 31, connections: 900, resumed: 12_345),
            stages: CallStage.allCases.map {
                .init(
                    stage: $0, count: 700, p50Milliseconds: 1.4, p95Milliseconds: 180, p99Milliseconds: 950,
                    maxMilliseconds: 4000)
            },
            pushes: .init(
                provider: [.accepted: 40, .sent: 2], report: [.reported: 38, .awaited: 4], violations: [],
                intended: 60_000, devicesSuspended: 2),
            pushPools: [
                .init(
                    provider: .apns, environment: .production, credential: "ABCDE12345", queued: 3,
                    oldestQueuedMilliseconds: 120, inFlight: 2, connections: 1, isCircuitOpen: false, accepted: 59_000,
                    rejected: 12, unknown: 3, goAways: 1),
                .init(
                    provider: .fcm, environment: .production, credential: "my-project", queued: 900,
                    oldestQueuedMilliseconds: 45_000, inFlight: 0, connections: 0, isCircuitOpen: true, accepted: 100,
                    rejected: 0, unknown: 7, goAways: 0),
            ],
            store: .init(
                commits: 123_456, rows: 987_654, waiting: 2, failures: 0, p50Milliseconds: 1.2, p99Milliseconds: 8.4),
            queues: [
                .init(name: "core", depth: 3, capacity: 65_536), .init(name: "feed", depth: 60_000, capacity: 65_536),
                .init(name: "history", depth: 0, capacity: 64),
            ],
            limits: [.init(name: "calls_per_user", hits: 17)],
            process: .init(
                uptimeSeconds: 93_784, cpuSeconds: 100, residentBytes: 123 << 20, openFiles: 950, maxFiles: 1024),
            problems: [ServerProblem(.pushQueueOld, of: "fcm", isUnready: true, "no answer of fcm for 45 s")])
    }

    /// What a program shows.
    static func screen<Program: ScreenProgram>(
        _ program: inout Program, at seconds: Double = 0, width: Int = 80, height: Int = 24, isUnicode: Bool = true
    ) -> ScreenBuffer {
        var buffer = ScreenBuffer(width: width, height: height, isUnicode: isUnicode)
        program.draw(into: &buffer, at: time(seconds))
        return buffer
    }
}

extension ScreenBuffer {
    var text: String { lines.joined(separator: "\n") }

    /// The row with the call that is selected.
    var selectedRow: String? {
        (2..<height - 2).first { self[$0, 0].style.isReversed }.map { text(row: $0) }
    }
}
