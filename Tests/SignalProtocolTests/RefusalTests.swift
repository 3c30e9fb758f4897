import CallVocabulary
import SignalProtocol
import Testing

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

    @Test("a frame over 64 KiB is too large")
    func frameLimit() {
        let head = #"{"jsonrpc":"2.0","id":1,"method":"session.close","x":""#
        let room = FrameLimits.frame - head.utf8.count - 2
        let full = head + String(repeating: "x", count: room) + "\"}"
        #expect(SignalDecoder.decode(frame: Array(full.utf8)) == .success(.request(.number(1), .close)))
        #expect(failure(full + " ")?.error.code == .tooLarge(limit: FrameLimits.frame))
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

    @Test("what is just within the limits is taken")
    func withinLimits() throws {
        let call = Refusal.call
        let accepted = [
            #"call.invite","params":{\#(call),"to":"b","ring_ms":5000,"sdp":\#(Refusal.string(32_768)),"#
                + #""custom":\#(Refusal.string(16_382))}"#,
            #"call.invite","params":{\#(call),"to":\#(Refusal.list(#""b""#, 1000)),"ring_ms":180000}"#,
            #"device.update","params":{"push":[\#(Refusal.token.replacing(#""00""#, with: Refusal.string(512)))]}"#,
            #"call.candidates","params":{\#(call),"candidates":["#
                + #"\#(Refusal.string(30_000)),\#(Refusal.string(31_434))]}"#,
        ]
        for call in accepted {
            _ = try SignalDecoder.decode(frame: Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(call)}"#.utf8)).get()
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
    func reportBody() {
        func read(_ body: String) -> Result<PushReport, DecodingFailure> {
            Array(body.utf8).withUnsafeBytes { SignalDecoder.decode(reportBody: $0, of: Samples.push) }
        }
        #expect(
            read(#"{\#(Refusal.call),"result":"filtered"}"#)
                == .success(PushReport(push: Samples.push, call: Samples.call, result: .filtered)))
        let missing = SignalError(
            .invalidParams,
            "body.result: missing; expected one of \"reported\", \"not_required\", \"filtered\", \"failed\"")
        #expect(read("{\(Refusal.call)}") == .failure(DecodingFailure(missing)))
        #expect(read("[]") == .failure(DecodingFailure(SignalError(.invalidRequest, "expected a JSON object"))))
    }
}
