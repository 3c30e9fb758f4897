import CallVocabulary
import Testing

/// A request that must be refused, and how.
struct Refusal: Sendable, CustomTestStringConvertible {
    let method: String
    let params: String
    let code: SignalError.Code
    /// How the message starts: the member at fault, and what is wrong with it.
    let message: String

    init(_ method: String, _ params: String, _ message: String, code: SignalError.Code = .invalidParams) {
        self.method = method
        self.params = params
        self.code = code
        self.message = message
    }

    var testDescription: String { "\(method) \(params.prefix(80))" }
}

/// The building stones of the tables.
extension Refusal {
    static let call = #""call_id":"\#(Samples.callText)""#
    static let device = #""device":{"id":"\#(Samples.device)","platform":"ios"}"#
    static let token =
        #"{"provider":"apns","kind":"voip","environment":"sandbox","topic":"a.voip","token":"0123456789abcdef"}"#

    static func string(_ count: Int) -> String { "\"\(String(repeating: "x", count: count))\"" }
    static func list(_ element: String, _ count: Int) -> String {
        "[\(Array(repeating: element, count: count).joined(separator: ","))]"
    }
}

/// The tables.
extension Refusal {
    static let brokenEnvelopes: [(frame: String, id: RequestID?, code: SignalError.Code, message: String)] = [
        ("", nil, .parseError, "not valid JSON: it ends in the middle of a value at byte 0"),
        (#"{"jsonrpc":"2.0","id":1"#, nil, .parseError, "not valid JSON: it ends in the middle"),
        (#"{"jsonrpc":"2.0","id":1,}"#, nil, .parseError, "not valid JSON: unexpected character at byte 24"),
        (#"{"jsonrpc":"2.0","id":1} x"#, nil, .parseError, "not valid JSON: something follows the value at byte 25"),
        (#"{"id":1,"params":{"a":01},"method":"x"}"#, nil, .parseError, "not valid JSON: malformed number"),
        ("[]", nil, .invalidRequest, "batches are not taken"),
        (#"[{"jsonrpc":"2.0","id":1,"method":"session.close"}]"#, nil, .invalidRequest, "batches are not taken"),
        ("[1", nil, .parseError, "not valid JSON"),
        ("1", nil, .invalidRequest, "expected a JSON object"),
        (#""session.close""#, nil, .invalidRequest, "expected a JSON object"),
        ("{}", nil, .invalidRequest, "jsonrpc: expected \"2.0\""),
        (#"{"jsonrpc":2.0,"id":1,"method":"session.close"}"#, .number(1), .invalidRequest, "jsonrpc: expected"),
        (#"{"jsonrpc":"1.0","id":"a","method":"session.close"}"#, .string("a"), .invalidRequest, "jsonrpc: expected"),
        (#"{"jsonrpc":"2.0","id":2}"#, .number(2), .invalidRequest, "method: missing"),
        (#"{"jsonrpc":"2.0","id":2,"method":null}"#, .number(2), .invalidRequest, "method: expected a string"),
        (#"{"jsonrpc":"2.0","id":2,"method":7}"#, .number(2), .invalidRequest, "method: expected a string"),
        (
            #"{"jsonrpc":"2.0","id":2,"method":"call.fly"}"#, .number(2), .methodNotFound,
            "method: there is no \"call.fly\""
        ),
        (#"{"jsonrpc":"2.0","method":"welcome"}"#, nil, .methodNotFound, "method: there is no \"welcome\""),
        (
            #"{"jsonrpc":"2.0","method":"session.close"}"#, nil, .invalidRequest,
            "id: missing; session.close is answered"
        ),
        (#"{"jsonrpc":"2.0","id":null,"method":"session.close"}"#, nil, .invalidRequest, "id: expected a string"),
        (#"{"jsonrpc":"2.0","id":1.5,"method":"session.close"}"#, nil, .invalidRequest, "id: expected a string"),
        (
            #"{"jsonrpc":"2.0","id":[1],"method":"session.ack","params":{"seq":1}}"#, nil, .invalidRequest,
            "id: expected"
        ),
        (
            #"{"jsonrpc":"2.0","id":99999999999999999999,"method":"session.close"}"#, nil, .invalidRequest,
            "id: expected"
        ),
        (
            #"{"jsonrpc":"2.0","id":3,"method":"call.get","params":["x"]}"#, .number(3), .invalidParams,
            "params: expected an object"
        ),
        (
            #"{"jsonrpc":"2.0","id":3,"method":"call.get","params":"x"}"#, .number(3), .invalidParams,
            "params: expected an object"
        ),
        (
            #"{"jsonrpc":"2.0","id":3,"method":"call.get","params":null}"#, .number(3), .invalidParams,
            "params.call_id: missing"
        ),
        (#"{"jsonrpc":"2.0","id":3,"method":"call.get"}"#, .number(3), .invalidParams, "params.call_id: missing"),
    ]

    static let missing: [Refusal] =
        [
            Refusal("session.open", "{\(device)}", "params.token: missing"),
            Refusal("session.open", #"{"token":"t"}"#, "params.device: missing"),
            Refusal("session.open", #"{"token":"t","device":{"platform":"ios"}}"#, "params.device.id: missing"),
            Refusal(
                "session.open", #"{"token":"t","device":{"id":"\#(Samples.device)"}}"#,
                "params.device.platform: missing"),
            Refusal("session.open", #"{"token":"t",\#(device),"resume":{}}"#, "params.resume.session_id: missing"),
            Refusal("session.open", #"{"token":"t",\#(device),"push":[{}]}"#, "params.push[0].provider: missing"),
            Refusal("session.ack", "{}", "params.seq: missing"),
            Refusal("session.state", "{}", "params.app: missing; expected one of \"foreground\", \"background\""),
            Refusal("device.update", "{}", "params.push: missing"),
            Refusal("push.report", "{\(call)}", "params.push_id: missing"),
            Refusal("push.report", #"{"push_id":"\#(Samples.push)"}"#, "params.call_id: missing"),
            Refusal(
                "push.report", #"{"push_id":"\#(Samples.push)",\#(call)}"#, "params.result: missing; expected one of"),
            Refusal("call.invite", #"{"to":"bob"}"#, "params.call_id: missing"),
            Refusal(
                "call.invite", "{\(call)}",
                "params.to: missing; expected a handle, a list of handles or {\"group\": name}"),
            Refusal("call.candidates", "{\(call)}", "params.candidates: missing"),
            Refusal("call.update", "{\(call)}", "params.kind: missing; expected one of \"offer\""),
            Refusal("missed.clear", "{}", "params.up_to: missing"),
        ]
        + [
            "call.ringing", "call.answer", "call.decline", "call.connected", "call.hangup", "call.candidates",
            "call.update", "call.get",
        ].map { Refusal($0, "{}", "params.call_id: missing; expected a UUID") }

    static let mistyped: [Refusal] =
        [
            Refusal("session.open", #"{"token":1,\#(device)}"#, "params.token: expected a string"),
            Refusal("session.open", #"{"token":"",\#(device)}"#, "params.token: expected a string that is not empty"),
            Refusal("session.open", #"{"token":"t","device":[]}"#, "params.device: expected an object"),
            Refusal(
                "session.open", #"{"token":"t","device":{"id":"\#(Samples.device)","platform":"palm"}}"#,
                "params.device.platform: expected one of \"ios\", \"android\", \"web\", \"desktop\", \"cli\""),
            Refusal(
                "session.open",
                #"{"token":"t",\#(device),"resume":{"session_id":"\#(Samples.session)","token":"r","last_seq":-1}}"#,
                "params.resume.last_seq: expected a whole number, 0 or more"),
            Refusal("session.open", #"{"token":"t",\#(device),"push":{}}"#, "params.push: expected a list"),
            Refusal(
                "session.open", #"{"token":"t",\#(device),"push":[\#(token),7]}"#,
                "params.push[1]: expected a push token"),
            Refusal("session.ack", #"{"seq":1.0}"#, "params.seq: expected a whole number"),
            Refusal("session.ack", #"{"seq":18446744073709551616}"#, "params.seq: expected a whole number"),
            Refusal("session.state", #"{"app":"asleep"}"#, "params.app: expected one of"),
            Refusal("device.update", #"{"push":"x"}"#, "params.push: expected a list"),
            Refusal("push.report", #"{"push_id":"x",\#(call),"result":"reported"}"#, "params.push_id: expected a UUID"),
            Refusal(
                "push.report", #"{"push_id":"\#(Samples.push)",\#(call),"result":"seen"}"#,
                "params.result: expected one of"),
            Refusal(
                "push.report", #"{"push_id":"\#(Samples.push)",\#(call),"result":"failed","error":[]}"#,
                "params.error: expected a string"),
            Refusal("call.invite", #"{"call_id":7,"to":"bob"}"#, "params.call_id: expected a UUID"),
            Refusal(
                "call.invite", #"{\#(call),"to":7}"#,
                "params.to: expected a handle, a list of handles or {\"group\": name}"),
            Refusal("call.invite", #"{\#(call),"to":"a b"}"#, "params.to: expected a handle: 1 to 128 bytes"),
            Refusal("call.invite", #"{\#(call),"to":[]}"#, "params.to: expected at least one handle"),
            Refusal("call.invite", #"{\#(call),"to":["a",{}]}"#, "params.to[1]: expected a handle"),
            Refusal(
                "call.invite", #"{\#(call),"to":{"team":"x"}}"#, "params.to: expected a handle, a list of handles or"),
            Refusal(
                "call.invite", #"{\#(call),"to":{"group":""}}"#, "params.to: expected a handle, a list of handles or"),
            Refusal(
                "call.invite", #"{\#(call),"to":"b","ring_ms":4999}"#,
                "params.ring_ms: expected a whole number from 5000 to 600000"),
            Refusal(
                "call.invite", #"{\#(call),"to":"b","ring_ms":600001}"#,
                "params.ring_ms: expected a whole number from 5000 to 600000, or to the server's own maximum"),
            Refusal(
                "call.invite", #"{\#(call),"to":"b","ring_ms":10000.0}"#,
                "params.ring_ms: expected a whole number from 5000 to 600000, or to the server's own maximum"),
            Refusal("call.invite", #"{\#(call),"to":"b","ring_ms":"9000"}"#, "params.ring_ms: expected a whole number"),
            Refusal(
                "call.invite", #"{\#(call),"to":"b","max_duration_ms":999}"#,
                "params.max_duration_ms: expected a whole number from 1000 to 604800000"),
            Refusal("call.invite", #"{\#(call),"to":"b","video":1}"#, "params.video: expected true or false"),
            Refusal("call.invite", #"{\#(call),"to":"b","sdp":{}}"#, "params.sdp: expected a string"),
            Refusal("call.answer", #"{\#(call),"sdp":1}"#, "params.sdp: expected a string"),
            Refusal("call.decline", #"{\#(call),"reason":"hangup"}"#, "params.reason: expected one of"),
            Refusal(
                "call.hangup", #"{\#(call),"reason":"bored"}"#,
                "params.reason: expected one of \"hangup\", \"ice_failed\", \"media_failed\""),
            Refusal("call.candidates", #"{\#(call),"candidates":{}}"#, "params.candidates: expected a list"),
            Refusal(
                "call.candidates", #"{\#(call),"candidates":[],"final":0}"#, "params.final: expected true or false"),
            Refusal("call.update", #"{\#(call),"kind":"transfer"}"#, "params.kind: expected one of"),
            Refusal("call.update", #"{\#(call),"kind":"offer","sdp":false}"#, "params.sdp: expected a string"),
            Refusal("call.list", #"{"limit":0}"#, "params.limit: expected a whole number from 1 to 100"),
            Refusal("call.list", #"{"limit":101}"#, "params.limit: expected a whole number from 1 to 100"),
            Refusal(
                "call.list", #"{"before_call_id":"0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e"}"#,
                "params.before: missing"),
            Refusal("call.list", #"{"before":-1}"#, "params.before: expected a whole number from 0"),
            Refusal("missed.clear", #"{"up_to":"now"}"#, "params.up_to: expected a whole number from 0"),
            Refusal("missed.clear", #"{"up_to":9223372036854775807}"#, "params.up_to: expected a whole number from 0"),
        ]
        + ["call.ringing", "call.connected", "call.get", "call.hangup", "call.decline", "call.answer"].map {
            Refusal($0, #"{"call_id":"6ba7b8109dad41d180b400c04fd430c8"}"#, "params.call_id: expected a UUID")
        }

    static let oversized: [Refusal] = [
        Refusal(
            "session.open", "{\"token\":\(string(16_385)),\(device)}", "params.token: too large",
            code: .tooLarge(limit: 16_384)),
        Refusal(
            "session.open",
            #"{"token":"t","device":{"id":"\#(Samples.device)","platform":"ios","name":\#(string(257))}}"#,
            "params.device.name: expected a string of at most 256 bytes"),
        Refusal(
            "device.update",
            "{\"push\":[\(token.replacing("0123456789abcdef", with: String(repeating: "a", count: 513)))]}",
            "params.push[0].token: expected a string of at most 512 bytes"),
        Refusal(
            "device.update", "{\"push\":\(list(token, 9))}",
            "params.push: too large; at most 8 elements", code: .tooLarge(limit: 8)),
        Refusal(
            "push.report", #"{"push_id":"\#(Samples.push)",\#(call),"result":"failed","error":\#(string(1025))}"#,
            "params.error: expected a string of at most 1024 bytes"),
        Refusal(
            "call.invite", #"{\#(call),"to":"b","sdp":\#(string(32_769))}"#,
            "params.sdp: too large; at most 32768 bytes", code: .tooLarge(limit: 32_768)),
        Refusal(
            "call.answer", #"{\#(call),"sdp":\#(string(32_769))}"#, "params.sdp: too large",
            code: .tooLarge(limit: 32_768)),
        Refusal(
            "call.update", #"{\#(call),"kind":"info","custom":\#(string(16_383))}"#, "params.custom: too large",
            code: .tooLarge(limit: 16_384)),
        Refusal(
            "call.invite", #"{\#(call),"to":"b","custom":\#(string(16_383))}"#, "params.custom: too large",
            code: .tooLarge(limit: 16_384)),
        Refusal("call.invite", "{\(call),\"to\":\(string(129))}", "params.to: expected a handle"),
        Refusal(
            "call.invite", "{\(call),\"to\":\(list(#""b""#, 1001))}",
            "params.to: too large; at most 1000 elements", code: .tooLarge(limit: 1000)),
        Refusal(
            "call.invite", "{\(call),\"to\":\(list(string(100), 250))}",
            "params.to: too large; at most 24576 bytes", code: .tooLarge(limit: 24_576)),
        Refusal(
            "call.invite",
            "{\(call),\"to\":\(list(string(100), 230)),\"sdp\":\(string(32_000)),\"custom\":\(string(7000))}",
            "params.sdp: too large; at most 61440 bytes of to, sdp and custom together",
            code: .tooLarge(limit: FrameLimits.content)),
        Refusal(
            "call.candidates", "{\(call),\"candidates\":[\(string(30_000)),\(string(31_500))]}",
            "params.candidates[1]: too large", code: .tooLarge(limit: FrameLimits.content)),
    ]
}
