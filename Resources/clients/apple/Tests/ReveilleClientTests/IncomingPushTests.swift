import CallVocabulary
import Foundation
import ReveilleClient
import SoftphoneSession
import Testing

@Suite("What a push handler reports")
struct IncomingPushTests {
    private static var payload: [AnyHashable: Any] {
        [
            "aps": [String: Any](), "uuid": "3554fbe6-9e3d-44fc-aaea-8955b60bb83f", "handle": "alice",
            "handle_type": "email", "name": "Alice", "has_video": NSNumber(value: true),
            "push_id": "05a35c92-42f0-4f0e-b3c1-0c4d8a2f7e11", "expires_at": NSNumber(value: 1_767_225_645_000),
            "expires_in": NSNumber(value: 45), "wake_token": "wake1.b5Yf", "custom": ["room": NSNumber(value: 7)],
        ]
    }

    @Test("is the push's call, with the caller, the wake token and the app's own data")
    func readable() throws {
        let incoming = IncomingPush(payload: Self.payload)
        let push = try #require(incoming.push)
        #expect(incoming.uuid == UUID(uuidString: "3554FBE6-9E3D-44FC-AAEA-8955B60BB83F"))
        #expect(incoming.handle == "alice")
        #expect(incoming.handleType == .email)
        #expect(incoming.name == "Alice")
        #expect(incoming.hasVideo)
        #expect(push.wakeToken == "wake1.b5Yf")
        #expect(push.expiresAt == Instant(milliseconds: 1_767_225_645_000))
        #expect(push.custom?.json == #"{"room":7}"#)
    }

    @Test("is a new call with a handle when the payload cannot be read", arguments: ["uuid", "handle", "push_id"])
    func unreadable(without key: String) {
        var payload = Self.payload
        payload[key] = nil
        for payload in [payload, [:], ["uuid": 1, 2: "handle", "expires_at": Date()]] {
            let incoming = IncomingPush(payload: payload)
            #expect(incoming.push == nil)
            #expect(incoming.uuid.uuidString.lowercased() != Self.payload["uuid"] as? String)
            #expect(incoming.handle == "Unknown")
        }
    }

    @Test("has an empty handle in no case")
    func emptyHandle() {
        var payload = Self.payload
        payload["handle"] = ""
        #expect(IncomingPush(payload: payload).push == nil)
        #expect(IncomingPush(payload: payload).handle == "Unknown")
    }
}

@Suite("CallKit's numbers")
struct CallKitCodesTests {
    @Test("name the same end as the reason's name does", arguments: EndReason.allCases)
    func ends(_ reason: EndReason) {
        let names = [1: "failed", 2: "remoteEnded", 3: "unanswered", 4: "answeredElsewhere", 5: "declinedElsewhere"]
        #expect(names[reason.callKitCode] == reason.callKitReason)
    }

    @Test("of errors make a report: a known call is shown, a filtered one is not, and others have failed")
    func errors() {
        let results = [nil, 0, 1, 2, 3, 4, 5, 6, 7].map { ReportResult(incomingCallError: $0) }
        #expect(
            results == [
                .reported, .failed, .failed, .reported, .filtered, .filtered, .filtered, .failed, .filtered,
            ])
        #expect(ReportResult(incomingCallError: 0, mustReport: false) == .notRequired)
        #expect(ReportResult(incomingCallError: nil, mustReport: false) == .reported)
    }
}

@Suite("A server's URL")
struct URLTests {
    @Test("is refused when it is none of a signaling server", arguments: ["", "http://host", "host:7350", "ws://"])
    func bad(_ url: String) {
        #expect(throws: SoftphoneError.badURL(url)) {
            try Softphone(
                configuration: Softphone.Configuration(
                    url: url, token: .fixed(""), device: DeviceDescription(id: .random(), platform: .ios)))
        }
    }
}
