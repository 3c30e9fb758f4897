import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import Testing

@testable import reveille

@Suite("The sentences that tell what happened to a call")
struct StoryTests {
    private func tell(_ draft: Scenarios.Draft, _ change: (inout Scenarios.Draft) -> Void = { _ in }) -> [String] {
        var draft = draft
        change(&draft)
        let detail = CallDetail(StoredCall(call: draft.call, legs: draft.legs, pushes: draft.pushes))
        return CommandRun.atItsTime { CallStory(detail).lines }
    }

    @Test("a call whose one device never reported its push tells both in one breath, and where to look")
    func unreported() {
        #expect(
            tell(Scenarios.unreported, { $0.legs[0].wokenAt = $0.at(2100) }) == [
                "bob's device was woken but never reported the push; the call rang out after 45 s.",
                "A device that leaves pushes unreported gets VoIP pushes only rarely: reveille devices show bob b0b00001.",
            ])
        let asleep = tell(Scenarios.unreported)
        #expect(
            asleep.first
                == "The provider took the push to bob's device, which never woke up and never reported it; "
                + "the call rang out after 45 s.")
    }

    /// What `bob`'s device did after an accepted push: the delivery, the report with its time, and whether it woke.
    static let reports: [(PushKind, PushProvider, ReportStatus, at: Int64?, isWoken: Bool, words: String)] = [
        (.alert, .apns, .notRequired, nil, false, "was sent an alert, and nobody opened it"),
        (.alert, .fcm, .notRequired, nil, false, "was sent an alert, and nobody opened it"),
        (.alert, .apns, .notRequired, nil, true, "came online after an alert and never said that it rings"),
        (.voip, .apns, .notRequired, 2000, false, "reported that it did not have to show the call"),
        (.data, .fcm, .notRequired, 2000, true, "reported that it did not have to show the call"),
        (
            .data, .fcm, .notRequired, 60_000, false,
            "reported the push after the end of the call, and did not have to show it"
        ),
        (.voip, .apns, .reported, 2000, false, "reported the push and never rang"),
        (.voip, .apns, .reportedLate, 20_000, false, "reported the push too late and never rang"),
        (
            .data, .fcm, .reportedLate, 20_000, true,
            "was woken and reported the push too late and never said that it rings"
        ),
        (.data, .fcm, .acted, 2000, false, "acted after the push, did not report it and never rang"),
        (.data, .fcm, .filtered, 2000, true, "took the push and showed nothing: Do Not Disturb, or a blocked caller"),
        (.data, .fcm, .reportFailed, 2000, false, "was woken and could not show the call"),
    ]

    @Test("a device that did not ring did what its kind of push and its report say", arguments: reports)
    func reported(
        kind: PushKind, provider: PushProvider, report: ReportStatus, at: Int64?, isWoken: Bool, words: String
    ) {
        let lines = tell(Scenarios.unreported) { draft in
            draft.legs[0].wokenAt = isWoken ? draft.at(1500) : nil
            draft.pushes[0].token = PushToken(
                provider: provider, kind: kind, environment: .production, topic: "org.example.phone", token: "77")
            draft.pushes[0].report = report
            draft.pushes[0].reportedAt = at.map(draft.at)
        }
        #expect(lines == ["bob's device \(words); the call rang out after 45 s."])
    }

    @Test("a rejected push names the provider's reason and what it means")
    func rejected() {
        let lines = tell(Scenarios.rejected)
        #expect(
            lines.first == "The provider refused the push to bob's device (BadDeviceToken); "
                + "there is no other device, and the call ended after 0.066 s.")
        #expect(
            lines.dropFirst() == [
                "Apple does not know this token in this environment. What to do: reveille pushes show 5a6b7c8d."
            ])
    }

    @Test("of several devices each has a line of its own, up to a bound")
    func several() {
        let lines = tell(Scenarios.unreported) { draft in
            draft.legs[0].wokenAt = draft.at(2100)
            for number in 2...12 {
                draft.leg(DeviceKey(user: Scenarios.handle("bob"), device: Scenarios.id(UInt64(number))), offered: 4)
            }
        }
        #expect(lines[0] == "No device rang; the call was given up after 45 s.")
        #expect(lines[1] == "- bob's device b0b00001 was woken but never reported the push.")
        #expect(lines[2] == "- bob's device 00000002 was told over its socket and never said that it rings.")
        #expect(lines.contains("- and 4 more devices."))
        #expect(lines.count == 11)
    }

    @Test("whoever acted is named, and what did not happen is said", arguments: EndReason.allCases)
    func reasons(reason: EndReason) {
        let alice = Scenarios.alice
        for isAnswered in [true, false] {
            let lines = tell(isAnswered ? Scenarios.answeredOnline : Scenarios.declined) {
                $0.call.endReason = reason
                $0.call.endedBy = alice
            }
            #expect(!lines.isEmpty)
            for line in lines {
                #expect(line.hasSuffix("."))
                #expect(!line.contains("  "))
            }
            if isAnswered { #expect(lines[0].hasPrefix("bob answered after 5.2 s. ")) }
        }
    }

    @Test("a live call that rings nowhere says so", arguments: [CallState.routing, .ringing])
    func liveWithoutRinging(state: CallState) {
        let lines = tell(Scenarios.ringing) {
            $0.call.state = state
            $0.legs[0].state = state == .routing ? .offered : .ended
        }
        #expect(
            lines.first
                == (state == .routing
                    ? "1 device of bob has been told, and none rings yet."
                    : "No device rings at present; the ring time ends in 33 s."))
    }

    @Test(
        "of a forwarded call the target is named that did not take it",
        arguments: [
            (EndReason.busy, "carol was busy in another call."), (.unknownCallee, "Nobody is known as carol."),
            (.declined, "carol takes no calls from alice at present (do not disturb, or a block list)."),
            (.noDevices, "bob's device rang for 3 s; there is no other device, and the call ended after 3.1 s."),
            (.ringTimeout, "bob's device rang for 3 s; the call rang out after 3.1 s."),
        ])
    func forwarded(reason: EndReason, words: String) {
        let lines = tell(Scenarios.declined) {
            ($0.call.endReason, $0.call.endedBy) = (reason, nil)
            $0.call.forwards = [
                CallRecord.Forward(
                    reason: .ringTimeout, to: .user(Scenarios.handle("carol")), at: $0.at(3000), firstMember: 1)
            ]
        }
        #expect(lines == [words + " The call was forwarded to carol."])
    }

    @Test("a live call tells where it stands", arguments: CallState.allCases.filter(\.isLive))
    func live(state: CallState) {
        let lines = tell(Scenarios.ringing) {
            $0.call.state = state
            $0.call.answeredAt = state == .answered || state == .connected ? $0.at(4000) : nil
            $0.call.connectedAt = state == .connected ? $0.at(5000) : nil
        }
        let expected: String
        switch state {
        case .routing: expected = "The call is on disk, and nobody has been told yet."
        case .waking: expected = "A push is on its way to bob, and no device rings yet."
        case .ringing: expected = "It rings on 1 device; the ring time ends in 33 s."
        case .answered: expected = "bob answered after 4 s, and media does not flow on both sides yet."
        case .connected: expected = "bob answered after 4 s, and they have been talking for 7 s."
        case .ended: expected = ""
        }
        #expect(lines.first == expected)
    }

    @Test("a push that waits is no push on its way, and what the server knows is named")
    func waiting() {
        var draft = Scenarios.ringing
        draft.call.state = .waking
        draft.pushes[0].status = .intended
        draft.pushes[0].token = Self.token(.apns, "org.example.phone.voip")
        let detail = CallDetail(StoredCall(call: draft.call, legs: draft.legs, pushes: draft.pushes))
        func told(_ problems: [ServerProblem]) -> String? {
            CommandRun.atItsTime { CallStory(detail, problems).lines.first }
        }
        #expect(told([]) == "The push to bob is still queued, and no device rings yet.")
        let gone = ServerProblem(.pushDisconnected, of: "APNs production", isUnready: true, "push: 1 waiting")
        #expect(
            told([ServerProblem(.pushDisconnected, of: "FCM project", isUnready: true, ""), gone])
                == "The push to bob is still queued (no connection to APNs production), and no device rings yet.")
    }

    private static func token(_ provider: PushProvider, _ topic: String, _ token: String = "77") -> PushToken {
        PushToken(
            provider: provider, kind: provider == .apns ? .voip : .data, environment: .production, topic: topic,
            token: token)
    }

    private static let subscription =
        "https://push.example.org/1#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SR"
        + "pkNtoIAiw4&auth=BTBZMqHH6r4Tts7J_aSIgg"

    @Test(
        "a problem of another environment, app, project or push service is no reason why a push waits",
        arguments: [
            (token(.apns, "org.example.phone.voip"), "APNs production", ["org.example.phone.voip"], true),
            (token(.apns, "org.example.phone.voip"), "APNs production", nil, true),
            (token(.apns, "org.example.phone.voip"), "APNs sandbox", nil, false),
            (token(.apns, "org.example.phone.voip"), "APNs production", ["org.example.other.voip"], false),
            (token(.fcm, "project"), "FCM project", ["project"], true),
            (token(.fcm, "project"), "FCM project-2", ["project-2"], false),
            (token(.webpush, "key", subscription), "Web Push push.example.org", ["key"], true),
            (token(.webpush, "key", subscription), "Web Push *.example.org", nil, true),
            (token(.webpush, "key", subscription), "Web Push push.example.com", ["key"], false),
        ] as [(PushToken, String, [String]?, Bool)])
    func otherProblem(token: PushToken, subject: String, topics: [String]?, isReason: Bool) {
        var draft = Scenarios.ringing
        draft.call.state = .waking
        draft.pushes[0].status = .intended
        draft.pushes[0].token = token
        let detail = CallDetail(StoredCall(call: draft.call, legs: draft.legs, pushes: draft.pushes))
        let problem = ServerProblem(.credentialRefused, of: subject, isUnready: true, topics: topics, "")
        let line = CommandRun.atItsTime { CallStory(detail, [problem]).lines.first }
        #expect(line?.contains(" refuses the credential)") == isReason, "\(line ?? "")")
    }

    @Test("lengths are said as people say them")
    func lengths() {
        for (milliseconds, text) in [
            (0, "0.000 s"), (412, "0.412 s"), (1000, "1 s"), (8240, "8.2 s"), (45_000, "45 s"), (59_999, "59.9 s"),
            (185_000, "3 min 05 s"), (3_720_000, "1 h 02 min"),
        ] {
            #expect(Moment.length(.milliseconds(milliseconds)) == text)
        }
    }
}
