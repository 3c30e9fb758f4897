import ByteMutation
import CallVocabulary
import SignalProtocol
import Testing

@Suite("The worst frames")
struct WorstFrameTests {
    private static let id = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

    /// Messages with a text in each place that one can be in: `§` stands for the text.
    private static let frames = {
        func request(_ method: String, _ params: String) -> String {
            #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(params)}}"#
        }
        func open(_ device: String, _ more: String = "") -> String {
            request("session.open", #""token":"t","device":{\#(device)}\#(more)"#)
        }
        let device = #""id":"\#(id)","platform":"web""#
        let call = #""call_id":"\#(id)""#
        func push(_ members: String) -> String { request("device.update", #""push":[{\#(members)}]"#) }
        // Deeper than any frame may be.
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        return [
            #"{"§":\#(deep),"id":1}"#, #"{"id":"§","method":"session.close","params":\#(deep)}"#,
            #"{"id":1,"§":\#(deep),"params":{"§":1}}"#, request("session.close", #""§":\#(deep)"#),
            #"{"jsonrpc":"2.0","id":1,"method":"§"}"#, #"{"jsonrpc":"§","id":1,"method":"session.close"}"#,
            #"{"jsonrpc":"2.0","id":"§","method":"session.close"}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"session.close","§":1}"#, #"{"method":"§","id":1"#,
            request("session.close", #""§":1"#), open(#""id":"§","platform":"web""#),
            open(#""id":"\#(id)","platform":"§""#), open(device + #","app":"§""#), open(device + #","name":"§""#),
            request("session.open", #""token":"§","device":{\#(device)}"#),
            open(device, #","resume":{"session_id":"§","token":"t","last_seq":1}"#),
            open(device, #","resume":{"session_id":"\#(id)","token":"§","last_seq":1}"#),
            request("session.state", #""app":"§""#), push(#""provider":"§""#),
            push(#""provider":"apns","kind":"§""#), push(#""provider":"apns","kind":"voip","environment":"§""#),
            push(#""provider":"apns","kind":"voip","environment":"sandbox","topic":"§""#),
            push(#""provider":"apns","kind":"voip","environment":"sandbox","topic":"a.voip","token":"§""#),
            push(#""provider":"webpush","kind":"data","environment":"production","topic":"a","token":"§""#),
            request("call.invite", #"\#(call),"to":"§""#), request("call.invite", #"\#(call),"to":{"group":"§"}"#),
            request("call.invite", #"\#(call),"to":["§"]"#), request("call.invite", #"\#(call),"to":"a","sdp":"§""#),
            request("call.invite", #"\#(call),"to":"a","custom":{"§":"§"}"#),
            request("call.decline", #"\#(call),"reason":"§""#), request("call.hangup", #"\#(call),"reason":"§""#),
            request("call.get", #""call_id":"§""#), request("call.candidates", #"\#(call),"candidates":["§"]"#),
            request("call.update", #"\#(call),"kind":"§""#),
            request("call.update", #"\#(call),"kind":"hold","custom":"§""#),
            request("push.report", #""push_id":"\#(id)",\#(call),"result":"§""#),
            request("push.report", #""push_id":"\#(id)",\#(call),"result":"failed","error":"§""#),
            request("call.list", #""before":1,"before_call_id":"§""#),
        ]
    }()

    /// Each method with a text in the place of a description, and of a member that it does not have.
    private static let methods = ClientMethod.allCases.map { method in
        #"{"jsonrpc":"2.0","id":1,"method":"\#(method.rawValue)","params":{"call_id":"\#(id)","sdp":"§","§":"§"}}"#
    }

    /// The bodies of requests, and the answer of an authorization hook.
    enum Body: Sendable {
        case report, answer, decline, invite, hook

        func read(_ body: [UInt8]) {
            let call = CallID(high: 3, low: 4)
            switch self {
            case .report: _ = try? SignalDecoder.decode(reportBody: body, of: PushID(high: 1, low: 2))
            case .answer: _ = try? SignalDecoder.decode(body: body, of: .answer, in: call)
            case .decline: _ = try? SignalDecoder.decode(body: body, of: .decline, in: call)
            case .invite: _ = try? SignalDecoder.decode(backendInvite: body, or: call)
            case .hook: _ = try? AuthorizationBody.decode(body)
            }
        }
    }

    /// As long as a frame may be; no `§` stays.
    private static func longest(_ form: String, _ filling: (_ count: Int) -> [UInt8]) -> [UInt8] {
        let places = form.count { $0 == "§" }
        return frame(form, filling((FrameLimits.frame - form.utf8.count) / places))
    }

    private static func frame(_ form: String, _ filling: [UInt8]) -> [UInt8] {
        var frame: [UInt8] = []
        var rest = form[...]
        while let place = rest.firstIndex(of: "§") {
            frame += Array(rest[..<place].utf8) + filling
            rest = rest[rest.index(after: place)...]
        }
        return frame + Array(rest.utf8)
    }

    @Test("cost as much as they are long, whatever text they have, and wherever it is", arguments: frames + methods)
    func texts(_ form: String) {
        for worst in WorstInput.allCases {
            let growth = WorstInput.growth(at: 7000) {
                Self.frame(form, worst.bytes($0))
            } _: { frame in
                _ = SignalDecoder.decode(frame: frame)
            }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
            let frame = Self.longest(form) { worst.bytes($0) }
            #expect(WorstInput.isQuick { _ = SignalDecoder.decode(frame: frame) }, "\(worst), of the greatest length")
        }
    }

    @Test(
        "cost as much as they are long, however many elements and members they have, and however deep they are",
        arguments: [
            #"{"jsonrpc":"2.0","id":1,"method":"call.invite","params":{"call_id":"\#(id)","to":[§"a"]}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"call.invite","params":{§"call_id":"\#(id)","to":"a"}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"device.update","params":{"push":[§{}]}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"call.candidates","params":{"call_id":"\#(id)","candidates":[§"a"]}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"call.update","params":{"call_id":"\#(id)","custom":[§1]}}"#,
            #"{§"jsonrpc":"2.0","id":1,"method":"session.close"}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"session.close","params":{§"a":1}}"#, "§",
        ])
    func counts(_ form: String) {
        let units = [
            #""a","#, "1,", "{},", "[],", #""a":1,"#, #"{"a":"b"},"#, "[", #"{"a":"#, #"\"b\","#, #""\n":0,"#,
            #""\n\n":0,"#, #""\/all_id":0,"#,
        ]
        for unit in units {
            func filling(_ count: Int) -> [UInt8] { (0..<count / unit.utf8.count).flatMap { _ in Array(unit.utf8) } }
            let growth = WorstInput.growth(at: 7000) { count in
                Self.frame(form, filling(count))
            } _: { frame in
                _ = SignalDecoder.decode(frame: frame)
                _ = SignalDecoder.decode(serverFrame: frame)
            }
            #expect(growth <= WorstInput.mostGrowth, "\(unit)")
            let frame = Self.longest(form, filling)
            #expect(WorstInput.isQuick { _ = SignalDecoder.decode(frame: frame) }, "\(unit), of the greatest length")
        }
    }

    @Test(
        "bodies of requests, and answers of an authorization hook, cost as much as they are long",
        arguments: [
            (.report, "§"), (.report, #"{"§":1}"#), (.report, #"{"call_id":"\#(id)","result":"§"}"#),
            (.report, #"{"call_id":"\#(id)","result":"failed","error":"§"}"#), (.answer, #"{"sdp":"§"}"#),
            (.decline, #"{"reason":"§"}"#), (.invite, #"{"from":"§","to":"a"}"#),
            (.invite, #"{"from":"a","from_name":"§","to":"a"}"#), (.invite, #"{"from":"a","to":["§"]}"#),
            (.invite, #"{"from":"a","to":"a","custom":"§"}"#), (.hook, #"{"allow":true,"from_name":"§"}"#),
            (.hook, #"{"allow":true,"to":"§"}"#), (.hook, #"{"allow":false,"reason":"§"}"#),
        ] as [(Body, String)])
    func bodies(_ body: Body, _ form: String) {
        for worst in WorstInput.allCases {
            let growth = WorstInput.growth(at: 7000) {
                Self.frame(form, worst.bytes($0))
            } _: { bytes in
                body.read(bytes)
            }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
            let longest = Self.longest(form) { worst.bytes($0) }
            #expect(WorstInput.isQuick { body.read(longest) }, "\(worst), of the greatest length")
        }
    }

    @Test("of a server cost as much as they are long")
    func serverFrames() {
        for form in [
            #"{"jsonrpc":"2.0","method":"§","params":{}}"#,
            #"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"§"}}"#,
            #"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a","data":{"code":"§"}}}"#,
            #"{"jsonrpc":"2.0","id":1,"result":{"calls":[],"reason":"§","state":"§"}}"#,
            #"{"jsonrpc":"2.0","method":"call.state","params":{"seq":1,"call_id":"\#(Self.id)","state":"§"}}"#,
            #"{"jsonrpc":"2.0","method":"call.ended","params":{"seq":1,"call_id":"\#(Self.id)","reason":"§"}}"#,
        ] {
            for worst in WorstInput.allCases {
                let growth = WorstInput.growth(at: 7000) {
                    Self.frame(form, worst.bytes($0))
                } _: { frame in
                    _ = SignalDecoder.decode(serverFrame: frame)
                }
                #expect(growth <= WorstInput.mostGrowth, "\(form), \(worst)")
            }
        }
    }

    @Test("names are the same byte for byte, with escapes resolved")
    func bytes() {
        func accepted(_ frame: String) -> Bool {
            if case .success = SignalDecoder.decode(frame: Array(frame.utf8)) { true } else { false }
        }
        #expect(!accepted(#"{"jsonrpc":"2.0","id":1,"method":"session.state","params":{"app":"background\u0000"}}"#))
        #expect(accepted(#"{"jsonrpc":"2.0","id":1,"method":"session.st\u0061te","params":{"app":"background"}}"#))
        #expect(accepted(#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"session.close"}"#))
    }
}
