import PushSimulator
import Testing

@Suite("Apps by the rules of their plugins")
struct PhoneAppTests {
    private static let uuid = "44d915e1-5ff4-4bed-bf13-c423048ec97a"

    private static func read(_ app: PhoneApp, _ payload: String, isAndroid: Bool = false) -> PhoneApp.Reading {
        app.read(Array(payload.replacing("UUID", with: uuid).utf8), isAndroid: isAndroid)
    }

    @Test(
        "the least payload that each plugin takes shows a call",
        arguments: [
            (
                PhoneApp.callkitIncoming, #"{"id":"UUID","nameCaller":"Ada","handle":"+49","isVideo":1}"#, "+49", "Ada",
                true
            ),
            (
                .callkeepReactNative, #"{"uuid":"UUID","callerName":"Ada","handle":"+49"}"#, "+49",
                "Ada (Connecting...)",
                false
            ),
            (
                .callkeepFlutter, #"{"uuid":"UUID","caller_id":"+49","caller_name":"Ada","has_video":"true"}"#, "+49",
                "Ada",
                true
            ),
            (
                .connectycube,
                #"{"signal_type":"startCall","session_id":"UUID","call_type":1,"caller_id":17,"caller_name":"Ada","call_opponents":"18"}"#,
                uuid, "Ada", true
            ),
            (.linphone, #"{"aps":{"call-id":"Xa1"}}"#, "Calling", "Calling", false),
        ])
    func least(app: PhoneApp, payload: String, handle: String, name: String, video: Bool) {
        guard case .shown(let call) = Self.read(app, payload) else {
            Issue.record("\(app.rawValue) shows nothing")
            return
        }
        #expect(call.handle == handle && call.name == name && call.video == video)
    }

    @Test(
        "flutter_callkit_incoming puts extra into the handle unless normalHandle is 1",
        arguments: [("", true), (#","normalHandle":0"#, true), (#","normalHandle":1"#, false)])
    func handle(member: String, isRemarked: Bool) {
        let reading = Self.read(.callkitIncoming, #"{"id":"UUID","nameCaller":"Ada","extra":{}\#(member)}"#)
        #expect(reading.words.contains("normalHandle is not 1") == isRemarked)
    }

    @Test(
        "a payload that lacks something, or has it in another type, ends as the plugin's language has it",
        arguments: [
            (PhoneApp.callkitIncoming, #"{"nameCaller":"Ada"}"#, false, true),
            (.callkitIncoming, #"{"id":"12"}"#, false, true),
            (.callkitIncoming, #"{"id":"UUID","nameCaller":""}"#, true, false),
            (.callkitIncoming, #"{"id":"UUID","nameCaller":"Ada","type":"audio"}"#, true, false),
            (.callkeepReactNative, #"{"handle":"+49"}"#, false, false),
            (.callkeepReactNative, #"{"uuid":"12212","handle":"+49"}"#, false, false),
            (.callkeepReactNative, #"{"uuid":"UUID"}"#, false, false),
            (.callkeepReactNative, #"{"uuid":"UUID"}"#, true, false),
            (.callkeepFlutter, #"{"aps":{},"uuid":"UUID","caller_id":"+49"}"#, false, true),
            (.callkeepFlutter, #"{"uuid":"UUID"}"#, false, false),
            (.callkeepFlutter, #"{"uuid":"1","caller_id":"+49"}"#, false, false),
            (.callkeepFlutter, #"{"uuid":"UUID","caller_id":"+49"}"#, true, false),
            (.connectycube, #"{"signal_type":"endCall","session_id":"UUID"}"#, false, true),
            (
                .connectycube,
                #"{"signal_type":"startCall","session_id":"UUID","call_type":"1","caller_id":17,"caller_name":"Ada","call_opponents":"18"}"#,
                false, false
            ),
            (
                .connectycube,
                #"{"signal_type":"startCall","session_id":"UUID","call_type":"1","caller_id":"2147483648","caller_name":"Ada","call_opponents":"18"}"#,
                true, false
            ),
            (
                .connectycube,
                #"{"signal_type":"startCall","session_id":"UUID","call_type":"1","caller_id":"17","caller_name":"Ada","call_opponents":"1, 2"}"#,
                true, false
            ),
            (.linphone, #"{"aps":[]}"#, false, false),
            (.linphone, #"{"uuid":"UUID"}"#, true, true),
            (.reveille, #"{"uuid":"UUID","handle":"+49"}"#, false, true),
            (.reveille, "[]", false, true),
            (.reveille, #"{"uuid":1}"#, true, true),
        ])
    func fails(app: PhoneApp, payload: String, isAndroid: Bool, goesOn: Bool) {
        switch Self.read(app, payload, isAndroid: isAndroid) {
        case .shown(let call): Issue.record("\(app.rawValue) shows \(call)")
        case .nothing: #expect(goesOn)
        case .crash: #expect(!goesOn)
        }
    }
}
