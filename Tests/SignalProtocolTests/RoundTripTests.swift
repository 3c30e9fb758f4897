import CallVocabulary
import Foundation
import SignalProtocol
import Testing

struct RoundTripTests {
    private func read(_ message: ClientMessage) throws -> ClientMessage {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, into: &frame)
        _ = try JSONSerialization.jsonObject(with: Data(frame))
        return try SignalDecoder.decode(frame: frame).get()
    }

    private func read(_ message: ServerMessage) throws -> ServerFrame {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, now: Samples.now, into: &frame)
        _ = try JSONSerialization.jsonObject(with: Data(frame))
        return try SignalDecoder.decode(serverFrame: frame).get()
    }

    @Test("what a client asks is what the server reads", arguments: Samples.requests)
    func requests(request: ClientRequest) throws {
        #expect(try read(.request(.number(.min), request)) == .request(.number(.min), request))
        let id = RequestID.string("\u{0}ä\"\\\n")
        #expect(try read(.request(id, request)) == .request(id, request))
    }

    @Test("each method that needs an answer is among the samples")
    func samplesAreComplete() {
        let sampled = Set(Samples.requests.map(\.method))
        #expect(sampled == Set(ClientMethod.allCases.filter { !$0.isNotification }))
    }

    @Test("what a client notifies is what the server reads, with and without an id", arguments: Samples.notifications)
    func notifications(notification: ClientNotification) throws {
        #expect(try read(.notification(notification)) == .notification(notification))
        let answered = ClientMessage.answeredNotification(.string(""), notification)
        #expect(try read(answered) == answered)
    }

    @Test("what the server answers is what the client reads", arguments: Samples.replies)
    func replies(reply: Reply) throws {
        #expect(try read(.reply(.number(7), reply)) == .message(.reply(.number(7), reply)))
    }

    @Test("what the server tells is what the client reads", arguments: Samples.events)
    func events(event: ServerEvent) throws {
        #expect(try read(.event(seq: .max, event)) == .message(.event(seq: .max, event)))
    }

    @Test("an error reaches the client with all that belongs to its code", arguments: Samples.errors)
    func errors(code: SignalError.Code) throws {
        let error = SignalError(code, "params.to: \"x\"\n")
        #expect(try read(.error(.string("a"), error)) == .message(.error(.string("a"), error)))
        #expect(try read(.error(nil, error)) == .message(.error(nil, error)))
    }

    @Test("the welcome is what the client reads")
    func welcome() throws {
        #expect(try read(.welcome(Samples.welcome)) == .message(.welcome(Samples.welcome)))
    }

    @Test("frames are appended to what is in the buffer")
    func appends() {
        var buffer = Array("x".utf8)
        SignalEncoder.encode(.notification(.ack(seq: 3)), into: &buffer)
        SignalEncoder.encode(.error(nil, SignalError(.draining, "m")), now: Samples.now, into: &buffer)
        let text = String(decoding: buffer, as: UTF8.self)
        #expect(
            text == #"x{"jsonrpc":"2.0","method":"session.ack","params":{"seq":3}}"#
                + #"{"jsonrpc":"2.0","id":null,"error":{"code":-32012,"message":"m","data":{"code":"draining"}}}"#)
    }

    @Test("sdp, custom and candidates pass through byte for byte, whatever order and white space surround them")
    func passThrough() throws {
        let frame = """
             {"params" : { "custom":{ "room" : [1.50, "\\u00e9"],"deep":{"a":{}} } ,"sdp"
            :\t\(Samples.sdp.json) , "to":"alice","call_id":"\(Samples.callText.uppercased())"},
             "id":1,"method":"call.invite","jsonrpc":"2.0"}
            """
        guard case .request(_, .owner(.invite(let invite))) = try SignalDecoder.decode(frame: Array(frame.utf8)).get()
        else {
            Issue.record("no invite")
            return
        }
        #expect(invite.sdp?.bytes == Samples.sdp.bytes)
        #expect(invite.custom?.bytes == Samples.custom.bytes)
        #expect(invite.call == Samples.call)

        let batch =
            #"{"jsonrpc":"2.0","method":"call.candidates","params":{"call_id":"\#(Samples.callText)","#
            + #""candidates": [ {"a" : "\u0041"} ,"x", 1.0 ]}}"#
        let expected = [#"{"a" : "\u0041"}"#, #""x""#, "1.0"].map(Samples.raw)
        let decoded = try SignalDecoder.decode(frame: Array(batch.utf8)).get()
        #expect(decoded == .notification(.candidates(CallCandidates(call: Samples.call, candidates: expected))))
        var written: [UInt8] = []
        SignalEncoder.encode(decoded, into: &written)
        #expect(String(decoding: written, as: UTF8.self).contains(#"[{"a" : "\u0041"},"x",1.0]"#))
    }
}
