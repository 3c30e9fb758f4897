import CallVocabulary
import SignalProtocol
import Testing

/// The names and shapes of the protocol document, spelled out.
struct ServerFrameTests {
    private let call = Samples.callText
    private let device = Samples.device.description
    private let push = Samples.push.description

    private func text(_ message: ServerMessage, now: Instant = Samples.now) -> String {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, now: now, into: &frame)
        return String(decoding: frame, as: UTF8.self)
    }

    @Test("call.incoming names the caller, what was called and the time left")
    func incoming() {
        #expect(
            text(.event(seq: 4, .incoming(Samples.incoming)))
                == #"{"jsonrpc":"2.0","method":"call.incoming","params":{"#
                + #""seq":4,"call_id":"\#(call)","from":{"handle":"+81312345678","handle_type":"phone","#
                + #""name":"Bob \"B\" Ä"},"to":{"group":"sales"},"video":true,"sdp":\#(Samples.sdp.json),"candidates":["#
                + #"\#(Samples.candidates[0].json),null],"custom":\#(Samples.custom.json),"expires_at":1790000045000,"#
                + #""remaining_ms":45000,"push_id":"\#(push)"}}"#)
    }

    @Test("remaining_ms is worked out at each write and never below 0")
    func remainingTime() {
        let event = ServerMessage.event(seq: 1, .incoming(Samples.incoming))
        #expect(text(event, now: Samples.deadline + .milliseconds(-1)).contains(#""remaining_ms":1,"#))
        #expect(text(event, now: Samples.deadline).contains(#""remaining_ms":0,"#))
        #expect(text(event, now: Samples.deadline + .seconds(9)).contains(#""remaining_ms":0,"#))
    }

    @Test("call.ended gives CallKit's reason, or null for one's own act, SIP status and Q.850 cause")
    func ended() {
        let by = Party(user: Samples.alice, device: Samples.device)
        var end = CallEnded(call: Samples.call, reason: .busy, by: by, at: Samples.now, isOwnAct: false)
        let head =
            #"{"jsonrpc":"2.0","method":"call.ended","params":{"seq":9,"call_id":"\#(call)","reason":"busy","#
            + #""by":{"user":"alice","device_id":"\#(device)"},"at":1790000000000,"#
        #expect(
            text(.event(seq: 9, .ended(end)))
                == head + #""callkit_reason":"remoteEnded","sip_status":486,"q850":17}}"#)
        end.isOwnAct = true
        #expect(text(.event(seq: 9, .ended(end))) == head + #""callkit_reason":null,"sip_status":486,"q850":17}}"#)
    }

    @Test("call.state counts the legs and gives the deadline while there is one")
    func state() {
        var change = CallStateChange(call: Samples.call, state: .waking, at: Samples.now, waking: 2, ringing: 1)
        let head =
            #"{"jsonrpc":"2.0","method":"call.state","params":{"seq":1,"call_id":"\#(call)","state":"waking","#
            + #""at":1790000000000,"legs":{"waking":2,"ringing":1}"#
        #expect(text(.event(seq: 1, .state(change))) == head + "}}")
        change.expiresAt = Samples.deadline
        #expect(
            text(.event(seq: 1, .state(change))) == head + #","expires_at":1790000045000,"remaining_ms":45000}}"#)
    }

    @Test("results have the members of the protocol document")
    func results() {
        func result(_ reply: Reply) -> String {
            let frame = text(.reply(.number(-1), reply))
            let head = #"{"jsonrpc":"2.0","id":-1,"result":"#
            return frame.hasPrefix(head) ? String(frame.dropFirst(head.count).dropLast()) : frame
        }
        #expect(result(.done) == "{}")
        #expect(result(.won) == #"{"won":true}"#)
        #expect(result(.callState(.ended, .busy)) == #"{"state":"ended","reason":"busy"}"#)
        #expect(result(.callState(.ringing, nil)) == #"{"state":"ringing"}"#)
        #expect(
            result(.inviteEnded(Samples.call, .noDevices))
                == #"{"call_id":"\#(call)","state":"ended","reason":"no_devices"}"#)
        #expect(
            result(.invited(Samples.call, .routing, expiresAt: Samples.deadline))
                == #"{"call_id":"\#(call)","state":"routing","expires_at":1790000045000,"remaining_ms":45000}"#)
        #expect(
            result(.calls([Samples.bare], next: HistoryCursor(before: Samples.now, call: Samples.call)))
                == #"{"calls":[{"call_id":"\#(call)","role":"caller","state":"routing","from":{"handle":"alice","#
                + #""handle_type":"generic"},"to":"+81312345678","video":false,"created_at":1790000000000}],"next":1790000000000,"next_call_id":"\#(call)"}"#
        )
    }

    @Test("the error object alone is what HTTP answers carry")
    func errorObject() {
        var body: [UInt8] = []
        SignalEncoder.encode(SignalError(.rateLimited(retryAfter: .seconds(2)), "Wait."), into: &body)
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"code":-32007,"message":"Wait.","data":{"code":"rate_limited","retry_after_ms":2000}}"#)
    }

    @Test("a client's own clock takes the deadline from the time left")
    func ownClock() throws {
        let clientNow = Instant(milliseconds: 5000)
        var frame: [UInt8] = []
        SignalEncoder.encode(.event(seq: 1, .incoming(Samples.incoming)), now: Samples.now, into: &frame)
        var expected = Samples.incoming
        expected.expiresAt = Instant(milliseconds: 50_000)
        let decoded = try SignalDecoder.decode(serverFrame: frame, receivedAt: clientNow).get()
        #expect(decoded == .message(.event(seq: 1, .incoming(expected))))
    }

    @Test("a client survives what a newer server says")
    func newerServer() {
        func read(_ text: String) -> Result<ServerFrame, DecodingFailure> {
            SignalDecoder.decode(serverFrame: Array(text.utf8))
        }
        #expect(
            read(#"{"jsonrpc":"2.0","method":"call.moved","params":{"seq":12,"x":[]}}"#)
                == .success(.ignored(method: "call.moved", seq: 12)))
        #expect(
            read(#"{"jsonrpc":"2.0","method":"server.news","id":4}"#)
                == .success(.ignored(method: "server.news", seq: nil)))
        #expect(
            read(#"{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"Odd.","data":{"code":"odd"}}}"#)
                == .success(.message(.error(.number(1), SignalError(.internalError, "Odd.")))))
        #expect(
            read(
                #"{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"E","data":{"code":"call_ended","#
                    + #""reason":"odd"}}}"#
            )
                == .success(.message(.error(.number(1), SignalError(.internalError, "E")))))
        #expect(read(#"{"jsonrpc":"2.0","id":1,"result":{"odd":1}}"#) == .success(.message(.reply(.number(1), .done))))
    }

    @Test("a client refuses what is no message, and keeps the request it was about")
    func notAMessage() {
        func failure(_ text: String) -> DecodingFailure? {
            switch SignalDecoder.decode(serverFrame: Array(text.utf8)) {
            case .success: nil
            case .failure(let failure): failure
            }
        }
        #expect(failure("{")?.error.code == .parseError)
        #expect(failure(#"{"jsonrpc":"2.0","id":1}"#)?.error.code == .invalidRequest)
        #expect(failure(#"{"jsonrpc":"2.0","id":1}"#)?.id == .number(1))
        let state = failure(#"{"jsonrpc":"2.0","id":"q","result":{"state":"flying"}}"#)
        #expect(state?.id == .string("q"))
        #expect(state?.error.message.hasPrefix("result.state: expected one of \"routing\"") == true)
    }
}
