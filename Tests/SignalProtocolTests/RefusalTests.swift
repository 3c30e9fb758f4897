import CallVocabulary
import SignalProtocol
import Testing
import WireJSON

struct RefusalTests {
    private func failure(_ frame: String) -> DecodingFailure? {
        switch SignalDecoder.decode(frame: Array(frame.utf8)) {
        case .success: nil
        case .failure(let failure): failure
        }
    }

    // MARK: Envelope

    @Test("a broken envelope is refused with what is wrong, and with the id if it can be read")
    func envelope() {
        for broken in Refusal.brokenEnvelopes {
            let failure = failure(broken.frame)
            #expect(failure?.id == broken.id, "\(broken.frame)")
            #expect(failure?.error.code == broken.code, "\(broken.frame)")
            #expect(
                failure?.error.message.hasPrefix(broken.message) == true,
                "\(broken.frame): \(String(describing: failure))")
        }
    }

    @Test("invalid UTF-8 is not JSON, wherever it stands")
    func invalidUTF8() {
        for bad: [UInt8] in [
            [0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8], [0xE2, 0x82],
        ] {
            var frame = Array(#"{"jsonrpc":"2.0","id":1,"method":"session.close","ignored":"a"#.utf8)
            let offset = frame.count
            frame += bad + Array(#""}"#.utf8)
            let expected = SignalError(.parseError, "not valid JSON: invalid UTF-8 at byte \(offset)")
            #expect(SignalDecoder.decode(frame: frame) == .failure(DecodingFailure(expected)))
        }
    }

    @Test("a long unknown method is named in short, a long id is not given back")
    func boundedAnswers() {
        let method = String(repeating: "ä", count: 5000)
        let unknown = failure(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)"}"#)
        #expect(unknown?.error.code == .methodNotFound)
        #expect((unknown?.error.message.utf8.count ?? .max) < 100)
        let fitting = String(repeating: "i", count: FrameLimits.requestID)
        #expect(failure(#"{"jsonrpc":"2.0","id":"\#(fitting)","method":"x"}"#)?.id == .string(fitting))
        let long = failure(#"{"jsonrpc":"2.0","id":"\#(fitting)i","method":"session.close"}"#)
        #expect(long?.id == nil)
        #expect(long?.error.code == .invalidRequest)
    }

    @Test("a backend's name for a caller has no control characters, and blanks are none")
    func backendNames() throws {
        for (name, shown) in [(#"Front\u0007 desk"#, "Front desk"), (#"\u202e\u2003"#, nil), ("", nil)] {
            let body = #"{"from":"+49301234","to":"bob","from_name":"\#(name)"}"#
            #expect(try SignalDecoder.decode(backendInvite: Array(body.utf8), or: Samples.call).name == shown)
        }
    }

    @Test("a frame over 64 KiB is too large")
    func frameLimit() {
        let head = #"{"jsonrpc":"2.0","id":1,"method":"session.close","x":""#
        let room = FrameLimits.frame - head.utf8.count - 2
        let full = head + String(repeating: "x", count: room) + "\"}"
        #expect(SignalDecoder.decode(frame: Array(full.utf8)) == .success(.request(.number(1), .close)))
        #expect(failure(full + " ")?.error.code == .tooLarge(limit: FrameLimits.frame))
    }

    @Test("a frame that is nested too deep is refused as that, with its id and the member, wherever both stand")
    func tooDeep() {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":["#, count: depth / 2) + (depth % 2 == 1 ? "[]" : "1")
                + String(repeating: "]}", count: depth / 2)
        }
        let limit = SignalError.Code.tooLarge(limit: JSONScanner.maximumDepth)
        let call = Refusal.call
        // The frame and its params are two levels.
        let fitting = #"{\#(call),"to":"b","custom":\#(nested(62))}"#
        #expect(failure(#"{"jsonrpc":"2.0","id":1,"method":"call.invite","params":\#(fitting)}"#) == nil)
        for deep in [
            nested(63), nested(64), nested(1000), String(repeating: "[", count: 63) + String(repeating: "]", count: 63),
        ] {
            let params = #"{\#(call),"x":"}]\"{[","to":"b" , "custom" :  \#(deep) ,"video":false}"#
            for frame in [
                #"{"jsonrpc":"2.0","id":"r\u0031","method":"call.invite","params":\#(params)}"#,
                #"{"params":\#(params),"method":"call.invite","jsonrpc":"2.0","id" : "r1" }"#,
                #"{"id":7,"params":\#(params),"id":"r1","jsonrpc":"2.0","method":"call.invite"}"#,
            ] {
                let failure = failure(frame)
                #expect(failure?.id == .string("r1"), "\(frame.prefix(80))")
                #expect(failure?.error.code == limit)
                #expect(failure?.error.message.hasPrefix("params.custom: nested too deep; at most 64") == true)
            }
        }
        for (frame, id, path) in [
            (#"{"id":1,"x":\#(nested(64)),"method":"m"}"#, RequestID.number(1), "x"),
            (#"{"id":1,"params":\#(nested(65))}"#, .number(1), "params.a"),
            (#"{"id":1,"params":[\#(nested(64))]}"#, .number(1), "params"),
            (#"{"id":[\#(nested(64))],"method":"m"}"#, nil, "id"),
            (#"{"id":null,"method":"m","x":\#(nested(70))}"#, nil, "x"),
            (nested(66), nil, "a"), ("[\(nested(66))]", nil, "frame"),
            // What comes behind is not looked at: whatever it is, the frame goes too deep.
            (#"{"id":1,"x":\#(String(repeating: "[", count: 70))"#, .number(1), "x"),
            (String(repeating: #"{"a":"#, count: 70), nil, "a"),
        ] {
            let failure = failure(frame)
            #expect(failure?.error.code == limit, "\(frame.prefix(80))")
            #expect(failure?.id == id, "\(frame.prefix(80))")
            #expect(
                failure?.error.message.hasPrefix("\(path): nested too deep") == true, "\(failure?.error.message ?? "")")
        }
        let body = Array(#"{\#(call),"result":"failed","x":\#(nested(70))}"#.utf8)
        let error = #expect(throws: SignalError.self) {
            try SignalDecoder.decode(reportBody: body, of: Samples.push)
        }
        #expect(error?.code == limit && error?.message.hasPrefix("body: nested too deep") == true)
    }

    // MARK: Params

    @Test(
        "missing, mistyped and oversized params are refused by name",
        arguments: Refusal.missing + Refusal.mistyped + Refusal.oversized)
    func params(refusal: Refusal) {
        let frame = #"{"jsonrpc":"2.0","id":"r1","method":"\#(refusal.method)","params":\#(refusal.params)}"#
        let failure = failure(frame)
        #expect(failure?.id == .string("r1"))
        #expect(failure?.error.code == refusal.code)
        #expect(failure?.error.message.hasPrefix(refusal.message) == true, "\(failure?.error.message ?? "accepted")")
    }

    @Test("refused candidates are told by their call, and no other refusal names a call")
    func refusedCandidates() {
        let (deep, large) = ("\(String(repeating: "[", count: 70))\(String(repeating: "]", count: 70))", 61_440)
        let call = Refusal.call
        for params in [
            "{\(call)}", "{\(call),\"candidates\":5}", "{\(call),\"candidates\":[],\"final\":5}",
            "{\(call),\"candidates\":[\(Refusal.string(large))]}", "{\"candidates\":[\(deep)],\(call)}",
            "{\(call),\"candidates\":[],\"x\":\(deep)}", "{\"call_id\":1,\"candidates\":\(deep), \(call) }",
        ] {
            for id in ["", #""id":1,"#] {
                let told = failure(#"{"jsonrpc":"2.0",\#(id)"method":"call.candidates","params":\#(params)}"#)
                #expect(told?.error.call == Samples.call, "\(params.prefix(80))")
            }
            let other = failure(#"{"jsonrpc":"2.0","id":1,"method":"call.update","params":\#(params)}"#)
            #expect(other != nil && other?.error.call == nil, "\(params.prefix(80))")
        }
        for params in [
            "{}", "[]", #"{"call_id":"x","candidates":[]}"#, #"{"call_id":[],"candidates":\#(deep)}"#, deep,
        ] {
            let told = failure(#"{"jsonrpc":"2.0","method":"call.candidates","params":\#(params)}"#)
            #expect(told != nil && told?.error.call == nil, "\(params.prefix(80))")
        }
    }

    @Test(
        "a registration that cannot be pushed to is refused with the member at fault, in both methods",
        arguments: [
            (
                #""token":"0123456789abcdef""#, #""token":"<abcd 1234 abcd 1234>""#,
                "token: expected the device token in hex"
            ),
            (#""token":"0123456789abcdef""#, #""token":"0123456789abcde""#, "token: expected the device token in hex"),
            (#""topic":"a.voip""#, #""topic":"a""#, "topic: expected the app's bundle id with .voip"),
            (#""kind":"voip""#, #""kind":"alert""#, "topic: expected the app's bundle id without .voip"),
            (#""kind":"voip""#, #""kind":"data""#, "kind: expected voip or alert, as provider is apns"),
            (#""provider":"apns""#, #""provider":"fcm""#, "kind: expected data or alert, as provider is fcm"),
            (
                #""provider":"apns","kind":"voip""#, #""provider":"fcm","kind":"data""#,
                "environment: expected production, as provider is fcm"
            ),
        ])
    func impossibleRegistration(old: String, new: String, message: String) throws {
        #expect(Refusal.token.contains(old))
        let token = Refusal.token.replacing(old, with: new)
        let calls = [
            #""device.update","params":{"push":[\#(Refusal.token),\#(token)]}"#,
            #""session.open","params":{"token":"t",\#(Refusal.device),"push":[\#(Refusal.token),\#(token)]}"#,
        ]
        for call in calls {
            let failure = failure(#"{"jsonrpc":"2.0","id":1,"method":\#(call)}"#)
            #expect(failure?.error.code == .invalidParams)
            let told = failure?.error.message ?? "accepted"
            #expect(told.hasPrefix("params.push[1].\(message)"), "\(told)")
        }
    }

    @Test("device tokens of APNs are read in either case as the same token, those of FCM byte for byte")
    func tokenCase() throws {
        func read(_ token: String) throws -> [PushToken] {
            let frame = #"{"jsonrpc":"2.0","id":1,"method":"device.update","params":{"push":[\#(token)]}}"#
            guard
                case .request(_, .owner(.updateDevice(let tokens))) = try SignalDecoder.decode(frame: Array(frame.utf8))
                    .get()
            else { return [] }
            return tokens
        }
        let upper = Refusal.token.replacing("0123456789abcdef", with: "0123456789ABCDEF")
        #expect(try read(upper) == read(Refusal.token))
        #expect(try read(upper).map(\.token) == ["0123456789abcdef"])
        let fcm = #"{"provider":"fcm","kind":"data","environment":"production","topic":"p","token":"aB:c"}"#
        #expect(try read(fcm).map(\.token) == ["aB:c"])
    }

    @Test("what is just within the limits is taken")
    func withinLimits() throws {
        let call = Refusal.call
        let longest = String(repeating: "a", count: 512)
        let accepted = [
            #"call.invite","params":{\#(call),"to":"b","ring_ms":5000,"sdp":\#(Refusal.string(32_768)),"#
                + #""custom":\#(Refusal.string(16_382))}"#,
            #"call.invite","params":{\#(call),"to":\#(Refusal.list(#""b""#, 1000)),"ring_ms":180000}"#,
            #"device.update","params":{"push":[\#(Refusal.token.replacing("0123456789abcdef", with: longest))]}"#,
            #"call.candidates","params":{\#(call),"candidates":["#
                + #"\#(Refusal.string(30_000)),\#(Refusal.string(31_434))]}"#,
        ]
        for call in accepted {
            _ = try SignalDecoder.decode(frame: Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(call)}"#.utf8)).get()
        }
    }

    @Test("to, sdp and custom of an invite take 61,440 bytes together as they stand in the frame, and not one more")
    func inviteContent() {
        let names = (100..<230).map { "\"\($0)\(String(repeating: "h", count: 95))\"" }
        let escaped = (100..<130).map { "\"\($0)\(String(repeating: #"\u0068"#, count: 90))\"" }
        let blanks = String(repeating: " ", count: 13_000)
        for to in [
            "[\(names.joined(separator: ","))]", "[\(escaped.joined(separator: " , "))]",
            "[\"b\",\(blanks)\"c\"]", "{\(blanks)\"group\":\"g\"}",
        ] {
            func frame(_ excess: Int) -> String {
                let custom = 16_384
                let sdp = FrameLimits.content - custom - to.utf8.count + excess
                return #"{\#(Refusal.call),"to": \#(to) ,"sdp":\#(Refusal.string(sdp - 2)),"#
                    + #""custom":\#(Refusal.string(custom - 2))}"#
            }
            func failure(_ params: String) -> DecodingFailure? {
                self.failure(#"{"jsonrpc":"2.0","id":1,"method":"call.invite","params":\#(params)}"#)
            }
            #expect(failure(frame(0)) == nil, "\(to.prefix(40))")
            #expect(failure(frame(1))?.error.code == .tooLarge(limit: FrameLimits.content), "\(to.prefix(40))")
        }
    }

    @Test("unknown members and null ones are as good as left out, and of two the last counts")
    func lenience() {
        let frame = """
            {"jsonrpc":"2.0","id":7,"id":8,"method":"call.hangup","x":{"id":1},"params":{"call_id":"bad",\
            "a_name_that_is_longer_than_any":[{}],"reason":null,"call\\u005fid":"\(Samples.callText.uppercased())"}}
            """
        #expect(
            SignalDecoder.decode(frame: Array(frame.utf8))
                == .success(.request(.number(8), .hangup(Samples.call, .hangup))))
    }

    @Test("a report's body over HTTP is read like push.report")
    func reportBody() throws {
        func read(_ body: String) throws -> PushReport {
            try SignalDecoder.decode(reportBody: Array(body.utf8), of: Samples.push)
        }
        #expect(
            try read(#"{\#(Refusal.call),"result":"filtered"}"#)
                == PushReport(push: Samples.push, call: Samples.call, result: .filtered))
        let missing = SignalError(
            .invalidParams,
            "body.result: missing; expected one of \"reported\", \"not_required\", \"filtered\", \"failed\"")
        #expect(throws: missing) { try read("{\(Refusal.call)}") }
        #expect(throws: SignalError(.invalidRequest, "expected a JSON object")) { try read("[]") }
    }

    @Test(
        "an action's body over HTTP is read like the method of its name, without the call id",
        arguments: [
            (CallAction.ringing, "{}", CallRequest.ringing(Samples.call)),
            (.ringing, #"{"call_id":7,"x":[1]}"#, .ringing(Samples.call)),
            (.answer, "{}", .answer(Samples.call, sdp: nil)),
            (.answer, #"{"sdp":"v=0"}"#, .answer(Samples.call, sdp: RawJSON(bytes: Array(#""v=0""#.utf8)))),
            (.decline, "{}", .decline(Samples.call, .declined)),
            (.decline, #"{"reason":"busy"}"#, .decline(Samples.call, .busy)),
            (.hangup, #"{"reason":null}"#, .hangup(Samples.call, .hangup)),
            (.hangup, #"{"reason":"ice_failed"}"#, .hangup(Samples.call, .iceFailed)),
        ])
    func actionBody(action: CallAction, body: String, request: CallRequest) throws {
        #expect(try read(body, action) == request)
    }

    @Test("an action's body that cannot be read is refused by the name of the member")
    func badActionBody() {
        for (action, body, code, words) in [
            (
                CallAction.decline, #"{"reason":"hangup"}"#, SignalError.Code.invalidParams,
                "body.reason: expected one of"
            ),
            (.hangup, #"{"reason":1}"#, .invalidParams, "body.reason: expected one of"),
            (.answer, #"{"sdp":"\#(String(repeating: "v", count: 32_769))"}"#, .tooLarge(limit: 32_768), "body.sdp: "),
            (.ringing, "", .parseError, "not valid JSON"), (.ringing, "[]", .invalidRequest, "expected a JSON object"),
        ] {
            let error = #expect(throws: SignalError.self) { try read(body, action) }
            #expect(error?.code == code, "\(body.prefix(80))")
            #expect(error?.message.hasPrefix(words) == true, "\(error?.message ?? "")")
        }
    }

    private func read(_ body: String, _ action: CallAction) throws -> CallRequest {
        try SignalDecoder.decode(body: Array(body.utf8), of: action, in: Samples.call)
    }
}
