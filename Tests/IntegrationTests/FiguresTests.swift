import CallServer
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import Testing

@Suite("The statistics of a running server", .world, .timeLimit(.minutes(2)))
struct FiguresTests {
    /// One call is hung up, one declined, and one wakes a phone and continues.
    private static func makeCalls(at address: String) async throws -> CallID {
        let bob = try await world.sleepingPhone("bob", at: address)
        let alice = try await world.phone("alice", at: address)
        let carol = try await world.phone("carol", at: address)
        let hungUp = try await alice.connects(to: carol)
        try await alice.hangUp(hungUp, seenBy: carol)
        let declined = try await alice.softphone.call(.user("carol"))
        try await carol.rings(declined)
        _ = try await alice.state(.ringing, of: declined)
        try await carol.softphone.decline(declined)
        #expect(try await alice.ended(declined).reason == .declined)
        let live = try await alice.softphone.call(.user("bob"))
        try await alice.isAnswered(by: bob, live)
        return live
    }

    @Test("stats and top show calls by state and reason, stages, pushes, sessions, rows")
    func figures() async throws {
        _ = try await world.startSimulator()
        let (server, address) = try await world.serve("--push-sim")
        // The providers are listed before the first push.
        let providers = try #require(try await world.json("stats")["push_pools"] as? [[String: Any]])
        #expect(Set(providers.compactMap { $0["provider"] as? String }) == ["apns", "fcm", "webpush"])
        let live = try await Self.makeCalls(at: address)
        // The live calls are as of the last commit, and the push statistics as of the last second.
        let stats = try await eventually("the figures are those of the last step") { () -> JSONObject? in
            let stats = try await world.json("stats")
            let calls = stats["calls"] as? [String: Any]
            let pushes = stats["pushes"] as? [String: Any]
            let isThere =
                (calls?["connected"] as? Int) == 2
                && (pushes?["report"] as? [String: Int])?["reported"] == 1
                && (pushes?["provider"] as? [String: Int])?["accepted"] == 1
            return isThere ? stats : nil
        }
        let calls = try #require(stats["calls"] as? [String: Any])
        #expect(calls["invited"] as? Int == 3)
        #expect(calls["answered"] as? Int == 2)
        let states = try #require(calls["live"] as? [String: Int])
        #expect(states.filter { $0.value > 0 } == ["connected": 1])
        let reasons = try #require(calls["ended"] as? [String: Int])
        #expect(reasons.filter { $0.value > 0 } == ["hangup": 1, "declined": 1])
        #expect((stats["sessions"] as? [String: Any])?["online"] as? Int == 3)
        var counts: [String: Int] = [:]
        for stage in stats["stages"] as? [[String: Any]] ?? [] {
            counts[stage["stage"] as? String ?? ""] = stage["count"] as? Int
        }
        #expect(
            counts == [
                "invite_to_ringing": 3, "ringing_to_answer": 2, "answer_to_connected": 2,
                "push_intended_to_sent": 1, "push_sent_to_answered": 1, "push_sent_to_woken": 1,
                "push_sent_to_reported": 1,
            ])
        #expect((stats["pushes"] as? [String: Any])?["intended"] as? Int == 1)
        let accepted = (stats["push_pools"] as? [[String: Any]] ?? []).compactMap { $0["accepted"] as? Int }
        #expect(accepted.reduce(0, +) == 1)
        #expect((stats["problems"] as? [Any])?.isEmpty == true)

        try await Self.textsAgree(live)
        #expect(try await server.end(by: SIGTERM) == .exit(0))
    }

    private static func textsAgree(_ live: CallID) async throws {
        let table = try await world.output("stats")
        #expect(table.contains("  live 1: connected 1\n"))
        #expect(table.contains("  since the start: invited 3, answered 2, connected 2\n"))
        let top = try await world.output("top --once")
        #expect(top.contains("1 live: 1 connected"))
        #expect(top.contains("health   ready"))
        #expect(top.contains("apns production"))
        #expect(!top.contains("\u{1B}"))
        let json = try await world.json("top --once")
        #expect((json["calls"] as? [String: Any])?["invited"] as? Int == 3)
        let watch = try await world.json("calls watch --once").objects("calls")
        #expect(watch.map { $0["call_id"] as? String } == ["\(live)"])
        #expect(watch.map { $0["to"] as? String } == ["bob"])
        #expect(try await world.output("check").hasPrefix("REVEILLE OK - 1 live call, 3 sessions | "))
        let sessions = try await world.json("sessions list").objects("sessions")
        #expect(Set(sessions.compactMap { $0["user"] as? String }) == ["alice", "bob", "carol"])
    }
}
