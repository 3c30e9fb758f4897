import CallVocabulary
import Testing

@Suite struct EndReasonTests {
    @Test(
        "every reason has the documented CallKit reason, SIP status and Q.850 cause",
        arguments: [
            (EndReason.hangup, "remoteEnded", 200, 16), (.declined, "remoteEnded", 603, 21),
            (.cancelled, "remoteEnded", 487, 16),
            (.busy, "remoteEnded", 486, 17), (.ringTimeout, "unanswered", 408, 19),
            (.connectTimeout, "failed", 504, 102),
            (.answeredElsewhere, "answeredElsewhere", 200, 26), (.declinedElsewhere, "declinedElsewhere", 603, 21),
            (.noDevices, "unanswered", 480, 20), (.unknownCallee, "unanswered", 404, 1),
            (.glare, "remoteEnded", 491, 25),
            (.iceFailed, "failed", 488, 47), (.mediaFailed, "failed", 488, 47), (.connectionLost, "failed", 500, 27),
            (.forbidden, "failed", 403, 57), (.admin, "remoteEnded", 487, 16),
            (.maxDuration, "remoteEnded", 487, 31),

        ])
    func table(reason: EndReason, callKit: String, sip: Int, q850: Int) {
        #expect(reason.callKitReason == callKit)
        #expect(reason.sipStatus == sip)
        #expect(reason.q850Cause == q850)
    }

    @Test("the list is closed, and its names on the wire are those of the protocol")
    func names() {
        #expect(
            EndReason.allCases.map(\.rawValue) == [
                "hangup", "declined", "cancelled", "busy", "ring_timeout", "connect_timeout", "answered_elsewhere",
                "declined_elsewhere", "no_devices", "unknown_callee", "glare", "ice_failed", "media_failed",
                "connection_lost", "forbidden", "admin", "max_duration",
            ])
        // The names of CallKit's CXCallEndedReason.
        let callKit: Set = ["failed", "remoteEnded", "unanswered", "answeredElsewhere", "declinedElsewhere"]
        for reason in EndReason.allCases {
            #expect(callKit.contains(reason.callKitReason))
            #expect((200..<700).contains(reason.sipStatus) && (1...127).contains(reason.q850Cause))
        }
    }

    @Test("do-not-disturb shows as a plain decline, and a hang-up keeps its reason")
    func mappings() {
        #expect(DeclineReason.allCases.map(\.endReason) == [.declined, .busy, .declined])
        #expect(HangupReason.allCases.map(\.endReason) == [.hangup, .iceFailed, .mediaFailed])
    }

    @Test("a client comes back after 3000 to 3004 and stays away otherwise")
    func closeCodes() {
        #expect(
            CloseCode.allCases.filter(\.allowsReconnect)
                == [.shutdown, .slowConsumer, .pingTimeout, .overloaded, .dropped])
    }
}
