import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Whose fault a refused token is")
struct TopicEvidenceTests {
    private static func token(_ number: Int, _ topic: String = "a.voip") -> PushToken {
        let digits = String(number, radix: 16)
        return PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: topic,
            token: String(repeating: "0", count: 64 - digits.count) + digits)
    }

    private static func answer(_ reason: String) -> PushAnswer {
        if let known = APNSReason(rawValue: reason) {
            return PushAnswer.apns(status: known.status, body: Array("{\"reason\":\"\(reason)\"}".utf8))
        }
        let detail = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(reason)"}"#
        let violation =
            #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token"}]}"#
        let details = reason == "INVALID_ARGUMENT" ? "\(detail),\(violation)" : detail
        return PushAnswer.fcm(status: 404, body: Array(#"{"error":{"details":[\#(details)]}}"#.utf8))
    }

    /// Sends a push to the token, and has it answered.
    /// - Returns: whether the token is dead.
    private func send(
        _ bench: inout MachineBench, _ token: PushToken, _ reason: String?, of user: String? = nil
    ) throws -> Bool {
        let id = PushID.random()
        let place = try bench.send(id, to: token, of: user.flatMap { Handle($0) })
        guard let reason else {
            bench.answer(place, 200)
            return false
        }
        bench.answer(place, Self.answer(reason))
        guard case .rejected(_, let isDead)? = bench.outcomes[id]?.last else {
            Issue.record("\(reason): \(bench.outcomes[id] ?? [])")
            return false
        }
        return isDead
    }

    /// A call that changes the bench stands in no macro.
    private func expect(_ isDead: Bool, _ expected: Bool, _ location: SourceLocation = #_sourceLocation) {
        #expect(isDead == expected, sourceLocation: location)
    }

    static let mismatches = ["BadDeviceToken", "DeviceTokenNotForTopic", "INVALID_ARGUMENT", "UNREGISTERED"]

    @Test(
        "while nothing has been accepted no token is forgotten, and the topic is suspect after three",
        arguments: mismatches)
    func unproven(_ reason: String) throws {
        var bench = MachineBench.ready()
        for number in 1...20 {
            expect(try send(&bench, Self.token(number), reason), false)
            #expect(bench.machine.suspectTopics.isEmpty == (number < 3))
        }
        #expect(bench.machine.suspectTopics == [SuspectTopic(topic: "a.voip", reason: reason, refusals: 20)])
        #expect(bench.alarms.contains { $0.kind == .configurationSuspected })
        // The configuration was right after all, or the next one is.
        expect(try send(&bench, Self.token(21), nil), false)
        #expect(bench.machine.suspectTopics.isEmpty)
        expect(try send(&bench, Self.token(1), reason), true)
    }

    @Test("one phone alone keeps its token, and after three refusals says what is wrong", arguments: mismatches)
    func onePhone(_ reason: String) throws {
        var bench = MachineBench.ready()
        for _ in 1...5 {
            expect(try send(&bench, Self.token(1), reason), false)
        }
        #expect(bench.machine.suspectTopics.map(\.refusals) == [5])
        expect(try send(&bench, Self.token(1), nil), false)
        #expect(bench.machine.suspectTopics.isEmpty)
    }

    @Test("in a configuration that works a token that is wrong is forgotten at once", arguments: mismatches)
    func proven(_ reason: String) throws {
        var bench = MachineBench.ready()
        for number in 1...10 {
            expect(try send(&bench, Self.token(100), nil), false)
            expect(try send(&bench, Self.token(number), reason), true)
            #expect(bench.machine.suspectTopics.isEmpty)
        }
    }

    @Test(
        "when all is refused that was accepted before, no token is forgotten", arguments: Array(mismatches.dropLast()))
    func suddenly(_ reason: String) throws {
        var bench = MachineBench.ready()
        for number in 1...50 { _ = try send(&bench, Self.token(number), nil) }
        for number in 1...50 {
            expect(try send(&bench, Self.token(number), reason), false)
        }
        #expect(bench.machine.suspectTopics.map(\.refusals) == [50])
        for number in 1...50 { _ = try send(&bench, Self.token(number), nil) }
        #expect(bench.machine.suspectTopics.isEmpty)
    }

    @Test("when all is refused out of the blue, at most one new token is forgotten, and of removed apps two")
    func suddenlyNew() throws {
        for (reason, most) in [("BadDeviceToken", 1), ("DeviceTokenNotForTopic", 1), ("UNREGISTERED", 2)] {
            var bench = MachineBench.ready()
            _ = try send(&bench, Self.token(100), nil)
            let dead = try (1...30).count { try send(&bench, Self.token($0), reason) }
            #expect(dead == most, "\(reason)")
        }
    }

    @Test("of different topics one says nothing of the other")
    func topics() throws {
        var bench = MachineBench.ready()
        _ = try send(&bench, Self.token(1, "a.voip"), nil)
        expect(try send(&bench, Self.token(2, "b.voip"), "BadDeviceToken"), false)
        expect(try send(&bench, Self.token(3, "a.voip"), "BadDeviceToken"), true)
    }

    @Test(
        "a 410 of APNs is about the device, whatever else is refused or accepted",
        arguments: ["Unregistered", "ExpiredToken"])
    func gone(_ reason: String) throws {
        var bench = MachineBench.ready()
        for number in 1...10 {
            expect(try send(&bench, Self.token(number), reason), true)
        }
        #expect(bench.machine.suspectTopics.isEmpty)
    }

    @Test("another credential is judged by what it does itself, and answers to the old one count for nothing")
    func reloaded() throws {
        var bench = MachineBench.ready { $0.connectStagger = .zero }
        _ = try send(&bench, Self.token(1), nil)
        let late = try (11...14).map { try bench.send(push(UInt64($0)), to: Self.token($0)) }
        bench.give(.credentialReplaced(.signedToken))
        for (number, place) in zip(11...14 as ClosedRange<UInt64>, late) {
            bench.answer(place, Self.answer("BadDeviceToken"))
            #expect(bench.outcomes[push(number)] == [.rejected(reason: "BadDeviceToken", isTokenDead: false)])
        }
        #expect(bench.machine.suspectTopics.isEmpty)
        bench.queue(push(20), to: Self.token(20))
        bench.letConnect()
        try bench.answer(bench.retransmit(push(20)), Self.answer("BadDeviceToken"))
        #expect(bench.outcomes[push(20)] == [.rejected(reason: "BadDeviceToken", isTokenDead: false)])
    }

    @Test("an FCM token that stands for one of APNs is had anew, and says nothing of the project's tokens")
    func mapped() throws {
        var bench = MachineBench { $0.credential = .fetchedToken }
        bench.queue(push(1), to: Self.token(1))
        bench.letConnect()
        try bench.answer(bench.retransmit(push(1)), Self.answer("UNREGISTERED"))
        #expect(bench.outcomes[push(1)] == [.rejected(reason: "UNREGISTERED", isTokenDead: true)])
        #expect(bench.machine.suspectTopics.isEmpty)
    }

    @Test("what one user makes up says nothing of all; of three it does at first, then of twenty with accepted tokens")
    func allRefused() throws {
        var bench = MachineBench.ready()
        for number in 1...50 {
            expect(try send(&bench, Self.token(number, "made.up\(number % 4)"), "BadDeviceToken", of: "eve"), false)
        }
        #expect(!bench.machine.suspectTopics.isEmpty && bench.machine.allRefusedAt == nil)
        for user in ["bob", "carol"] { expect(try send(&bench, Self.token(60), "BadDeviceToken", of: user), false) }
        #expect(bench.machine.allRefusedAt == bench.now)
        // Of another topic.
        expect(try send(&bench, Self.token(70, "b.voip"), nil), false)
        #expect(bench.machine.allRefusedAt == nil)
        for number in 1...20 { _ = try send(&bench, Self.token(100 + number), nil, of: "user\(number)") }
        for number in 1...100 {
            _ = try send(&bench, Self.token(1000 + number), "BadDeviceToken", of: "mallory\(number)")
        }
        for number in 1...20 {
            #expect(bench.machine.allRefusedAt == nil)
            _ = try send(&bench, Self.token(100 + number), "DeviceTokenNotForTopic", of: "user\(number)")
        }
        #expect(bench.machine.allRefusedAt == bench.now)
        expect(try send(&bench, Self.token(70, "b.voip"), nil), false)
        #expect(bench.machine.allRefusedAt == nil)
    }

    @Test(
        "a topic or a request that is refused as such costs no token, and makes the topic suspect",
        arguments: ["TopicDisallowed", "BadTopic", "MissingTopic", "SENDER_ID_MISMATCH", "BadPath", "BadPriority"])
    func refusedAsSuch(_ reason: String) throws {
        var bench = MachineBench.ready()
        for number in 1...3 { expect(try send(&bench, Self.token(number), reason), false) }
        #expect(bench.machine.suspectTopics.map(\.reason) == [reason])
        expect(try send(&bench, Self.token(4), nil), false)
        #expect(bench.machine.suspectTopics.isEmpty)
    }

    @Test("topics that one user makes up take no place of a topic that accepts pushes")
    func madeUp() {
        var evidence = TopicEvidence()
        let now = Instant(milliseconds: 0)
        for number in 0..<1000 {
            let token = Self.token(number, "t\(number).voip")
            _ = evidence.refused(token, of: Handle("mallory"), Self.answer("BadDeviceToken"), now: now)
        }
        evidence.accepted(Self.token(1))
        let isDead = evidence.refused(Self.token(2), of: Handle("bob"), Self.answer("BadDeviceToken"), now: now)
        #expect(isDead, "the topic is known")
    }

    @Test("topics that devices make up are bounded, and their tokens kept")
    func bounded() throws {
        var evidence = TopicEvidence()
        for number in 0..<1000 { evidence.accepted(Self.token(number, "t\(number).voip")) }
        expect(
            evidence.refused(
                Self.token(5000, "t10.voip"), of: nil, Self.answer("BadDeviceToken"), now: Instant(milliseconds: 0)),
            true)
        expect(
            evidence.refused(
                Self.token(5000, "t900.voip"), of: nil, Self.answer("BadDeviceToken"), now: Instant(milliseconds: 0)),
            false)
    }
}
