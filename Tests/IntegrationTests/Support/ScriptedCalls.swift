import AdminProtocol
import CallVocabulary
import Foundation

enum ScriptedCalls {
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    static func id(_ number: Int) -> CallID { CallID(high: 0x2222_0000_0000_4000, low: UInt64(number) | 1 << 63) }

    /// - Parameter age: in seconds.
    static func call(
        _ number: Int, _ state: CallState = .ringing, from: Handle = "alice", to: Handle = "bob", age: Int64 = 5,
        reason: EndReason? = nil
    ) -> CallView {
        let created = now - age * 1000
        var call = CallView(
            callID: id(number), state: state, from: from, to: TargetView(.user(to)), video: false,
            createdAt: Timestamp(Instant(milliseconds: created)),
            ringsUntil: Timestamp(Instant(milliseconds: created + 45_000)))
        call.reason = reason
        if state == .ended { call.endedAt = Timestamp(Instant(milliseconds: now)) }
        call.counts = CallCounts(devices: 2, ringing: 1, waking: 1, pushes: 1, pushesOpen: 1)
        return call
    }

    static func picture(_ calls: [CallView] = [], version: String = "0.9.0") -> ScriptedServer.Picture {
        let info = ServerInfo(
            version: version, node: "node-1", startedAt: Timestamp(Instant(milliseconds: now)),
            address: "127.0.0.1:7350", data: "/data", isDraining: false, drainsUntil: nil, liveCalls: calls.count,
            sessions: 0, processID: 1)
        var picture = ScriptedServer.Picture(info: info)
        picture.calls = Dictionary(uniqueKeysWithValues: calls.map { ($0.callID, $0) })
        picture.stats = stats(info)
        return picture
    }

    static func stats(_ info: ServerInfo, live: Int = 12, problems: [ServerProblem] = []) -> StatsView {
        StatsView(
            at: Timestamp(Instant(milliseconds: now)), server: info,
            calls: .init(
                live: [.ringing: live], invited: 100, answered: 80, connected: 80, ended: [:], invitedPerSecond: 2.5,
                endedPerSecond: 2, endedLastMinute: [.hangup: 60, .ringTimeout: 3]),
            sessions: .init(online: 30, away: 1, connections: 31, resumed: 4),
            stages: [
                .init(
                    stage: .inviteToRinging, count: 100, p50Milliseconds: 2.1, p95Milliseconds: 30,
                    p99Milliseconds: 222, maxMilliseconds: 900)
            ],
            pushes: .init(
                provider: [.accepted: 9], report: [.reported: 8], violations: [], intended: 90, devicesSuspended: 0),
            pushPools: [
                .init(
                    provider: .apns, environment: .sandbox, credential: "KEY", queued: 0, oldestQueuedMilliseconds: 0,
                    inFlight: 1, connections: 1, isCircuitOpen: false, accepted: 89, rejected: 1, unknown: 0,
                    goAways: 0)
            ],
            store: .init(
                commits: 500, rows: 2000, waiting: 0, failures: 0, p50Milliseconds: 0.8, p99Milliseconds: 4.2),
            queues: [.init(name: "core", depth: 0, capacity: 65_536)], limits: [],
            process: .init(
                uptimeSeconds: 3700, cpuSeconds: 12, residentBytes: 50 << 20, openFiles: 40, maxFiles: 1024),
            problems: problems)
    }
}
