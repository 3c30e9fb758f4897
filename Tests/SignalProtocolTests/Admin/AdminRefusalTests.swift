import CallVocabulary
import SignalProtocol
import Testing

@Suite("What an administrator's client gets wrong")
struct AdminRefusalTests {
    private func failure(_ frame: String) -> DecodingFailure? {
        switch Array(frame.utf8).withUnsafeBytes({ AdminDecoder.decode(frame: $0) }) {
        case .success: nil
        case .failure(let failure): failure
        }
    }

    private static let anAlias = #""alias":"+81","user":"alice""#
    private static let aGroup = #""name":"s","strategy":"all""#
    private static let handle = "a handle: 1 to 128 bytes without spaces and control characters"
    private static let strategies = #"one of "all", "hunt""#

    static let missing =
        ["group.get", "group.set", "group.delete"].map { Refusal($0, "{}", "params.name: missing; expected \(handle)") }
        + ["user.get", "user.set"].map { Refusal($0, "{}", "params.user: missing; expected \(handle)") }
        + ["alias.set", "alias.delete"].map { Refusal($0, "{}", "params.alias: missing; expected \(handle)") }
        + [
            Refusal("group.set", #"{"name":"s","members":[]}"#, "params.strategy: missing; expected \(strategies)"),
            Refusal("group.set", "{\(aGroup)}", "params.members: missing; expected a list; each element \(handle)"),
            Refusal("group.set", #"{\#(aGroup),"members":null}"#, "params.members: missing"),
            Refusal("alias.set", #"{"alias":"+81"}"#, "params.user: missing; expected \(handle)"),
            Refusal(
                "user.set", #"{"user":"alice"}"#,
                "params.call_waiting: missing; expected at least one of "
                    + "call_waiting, decline_policy, do_not_disturb, missed_calls"),
        ]

    static let mistyped =
        ["group.get", "group.set", "group.delete"].flatMap { method in
            ["7", #""""#, #""a b""#, #""a\n""#, "[]", Refusal.string(129)].map {
                Refusal(method, #"{"name":\#($0)}"#, "params.name: expected \(handle)")
            }
        }
        + ["user.get", "user.set"].flatMap { method in
            ["7", #""""#, #""a b""#, Refusal.string(129)].map {
                Refusal(method, #"{"user":\#($0)}"#, "params.user: expected \(handle)")
            }
        }
        + [
            Refusal("group.list", #"{"after":7}"#, "params.after: expected \(handle)"),
            Refusal("alias.list", #"{"after":""}"#, "params.after: expected \(handle)"),
            Refusal("group.set", #"{"name":"s","strategy":"any"}"#, "params.strategy: expected \(strategies)"),
            Refusal("group.set", #"{\#(aGroup),"members":"bob"}"#, "params.members: expected a list"),
            Refusal("group.set", #"{\#(aGroup),"members":["bob",7]}"#, "params.members[1]: expected \(handle)"),
            Refusal("group.set", #"{\#(aGroup),"members":["a b"]}"#, "params.members[0]: expected \(handle)"),
            Refusal("user.set", #"{"user":"a","call_waiting":"on"}"#, "params.call_waiting: expected true or false"),
            Refusal("user.set", #"{"user":"a","do_not_disturb":1}"#, "params.do_not_disturb: expected true or false"),
            Refusal(
                "user.set", #"{"user":"a","decline_policy":"none"}"#,
                #"params.decline_policy: expected one of "all", "device""#),
            Refusal(
                "user.set", #"{"user":"a","missed_calls":true}"#,
                #"params.missed_calls: expected one of "off", "alert", "background""#),
            Refusal("alias.set", #"{"alias":"+81","user":7}"#, "params.user: expected \(handle)"),
            Refusal("alias.set", #"{"alias":" ","user":"a"}"#, "params.alias: expected \(handle)"),
            Refusal("alias.delete", #"{"alias":{}}"#, "params.alias: expected \(handle)"),
        ]

    static let oversized = [
        Refusal(
            "group.set", #"{\#(aGroup),"members":\#(Refusal.list(#""bob""#, CallGroup.mostMembers + 1))}"#,
            "params.members: too large; at most 1000 elements are taken",
            code: .tooLarge(limit: CallGroup.mostMembers))
    ]

    @Test("missing, mistyped and oversized params are refused by name", arguments: missing + mistyped + oversized)
    func params(refusal: Refusal) {
        let frame = #"{"jsonrpc":"2.0","id":"r1","method":"\#(refusal.method)","params":\#(refusal.params)}"#
        let failure = failure(frame)
        #expect(failure?.id == .string("r1"))
        #expect(failure?.error.code == refusal.code)
        #expect(failure?.error.message.hasPrefix(refusal.message) == true, "\(failure?.error.message ?? "accepted")")
    }

    @Test("a broken envelope is refused with what is wrong, and with the id if it can be read")
    func envelope() {
        let cases: [(String, RequestID?, SignalError.Code)] = [
            ("", nil, .parseError), ("{", nil, .parseError), ("[]", nil, .invalidRequest), ("1", nil, .invalidRequest),
            ("{}", nil, .invalidRequest), (#"{"jsonrpc":"2.0","id":2}"#, .number(2), .invalidRequest),
            (#"{"jsonrpc":"1.0","id":2,"method":"group.list"}"#, .number(2), .invalidRequest),
            (#"{"jsonrpc":"2.0","id":2,"method":"call.invite"}"#, .number(2), .methodNotFound),
            (#"{"jsonrpc":"2.0","method":"group.list"}"#, nil, .invalidRequest),
            (#"{"jsonrpc":"2.0","id":[],"method":"group.list"}"#, nil, .invalidRequest),
            (#"{"jsonrpc":"2.0","id":2,"method":"group.list","params":[]}"#, .number(2), .invalidParams),
        ]
        for (frame, id, code) in cases {
            let failure = failure(frame)
            #expect(failure?.id == id, "\(frame)")
            #expect(failure?.error.code == code, "\(frame)")
        }
        #expect(failure(#"{"jsonrpc":"2.0","id":2,"method":"group.list"}"#) == nil)
    }

    @Test("a frame over 512 KiB is too large, one of 512 KiB is not")
    func frameLimit() {
        let head = #"{"jsonrpc":"2.0","id":1,"method":"group.list","x":""#
        let full = head + String(repeating: "x", count: AdminLimits.frame - head.utf8.count - 2) + "\"}"
        #expect(failure(full) == nil)
        #expect(failure(full + " ")?.error.code == .tooLarge(limit: 524_288))
    }
}
