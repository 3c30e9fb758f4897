import CallVocabulary
import PushCore
import PushVocabulary
import SignalProtocol
import Testing

/// What is written is as the protocol document says, with no member beside those it names.
struct DocumentedWritingTests {
    private let document: ProtocolDocument
    private let check: SchemaCheck

    init() throws {
        document = try ProtocolDocument.shared()
        check = SchemaCheck(document: document)
    }

    private func frame(_ message: ServerMessage) throws -> JSONTree {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, now: Samples.now, into: &frame)
        return try JSONTree(frame)
    }

    private func frame(_ message: ClientMessage) throws -> JSONTree {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, into: &frame)
        return try JSONTree(frame)
    }

    private func schema(_ operations: [ProtocolDocument.Operation], _ frame: JSONTree) throws -> JSONTree {
        let method = try #require(frame["method"]?.string)
        return try #require(operations.first { $0.method == method }?.frame, "\(method)")
    }

    @Test("each event and the welcome are written as documented, each optional member once set and once left out")
    func events() throws {
        var optional = OptionalMembers(document: document)
        var methods: Set<String> = []
        for message in [.welcome(Samples.welcome)] + Samples.events.map({ ServerMessage.event(seq: .max, $0) }) {
            let frame = try frame(message)
            let schema = try schema(document.serverOperations, frame)
            #expect(check.problems(frame, schema) == [])
            optional.note(frame, schema, frame["method"]?.string ?? "")
            methods.insert(frame["method"]?.string ?? "")
        }
        #expect(optional.oneSided == [])
        #expect(methods == Set(ServerMethod.allCases.map(\.rawValue)))
    }

    @Test("each result is written as documented, each optional member once set and once left out")
    func results() throws {
        var optional = OptionalMembers(document: document)
        var written: Set<String> = []
        for reply in Samples.replies {
            let method = self.method(of: reply)
            let schema = try #require(document.clientOperations.first { $0.method == method.rawValue }?.answer)
            let frame = try frame(.reply(.number(1), reply))
            // Other methods have the same result.
            for operation in document.clientOperations {
                guard let answer = operation.answer, answer["properties"]?["result"] == schema["properties"]?["result"]
                else { continue }
                #expect(check.problems(frame, answer) == [], "\(operation.method)")
            }
            optional.note(frame, schema, method.rawValue)
            written.insert(try #require(schema["properties"]?["result"]?["$ref"]?.string))
        }
        #expect(optional.oneSided == [])
        // All results there are.
        let documented = document.clientOperations.compactMap { $0.answer?["properties"]?["result"]?["$ref"]?.string }
        #expect(written == Set(documented))
    }

    /// A method that is answered so.
    private func method(of reply: Reply) -> ClientMethod {
        switch reply {
        case .done: .sessionState
        case .opened: .sessionOpen
        case .invited, .inviteEnded: .callInvite
        case .callState: .callRinging
        case .won: .callAnswer
        case .call, .backendCall: .callGet
        case .calls: .callList
        }
    }

    @Test("each error is written as documented, with and without the id of a request")
    func errors() throws {
        let schema = try #require(document.errorFrame)
        var optional = OptionalMembers(document: document)
        for code in Samples.errors {
            for id in [nil, .number(-1), .string("")] as [RequestID?] {
                let frame = try frame(.error(id, SignalError(code, "why")))
                #expect(check.problems(frame, schema) == [], "\(code.name)")
                optional.note(frame, schema, code.name)
            }
            // Those of refused candidates.
            if ["invalid_params", "rate_limited", "too_large", "overloaded"].contains(code.name) {
                let refusal = try frame(.error(nil, SignalError(code, "why", call: Samples.call)))
                #expect(check.problems(refusal, schema) == [])
                optional.note(refusal, schema, code.name)
            }
            var body: [UInt8] = []
            SignalEncoder.encode(SignalError(code, "why"), into: &body)
            #expect(check.problems(try JSONTree(body), try #require(document.schemas["Error"])) == [], "\(code.name)")
        }
        #expect(optional.oneSided == [])
    }

    @Test("what a client says is written as documented, each optional member once set and once left out")
    func clientMessages() throws {
        var optional = OptionalMembers(document: document)
        let messages =
            Samples.requests.map { ClientMessage.request(.string("r"), $0) }
            + Samples.notifications.flatMap { [.notification($0), .answeredNotification(.number(.min), $0)] }
        var methods: Set<String> = []
        for message in messages {
            let frame = try frame(message)
            let schema = try schema(document.clientOperations, frame)
            #expect(check.problems(frame, schema) == [])
            optional.note(frame, schema, frame["method"]?.string ?? "")
            methods.insert(frame["method"]?.string ?? "")
        }
        // This client always says what the server would take for granted, and never leaves out empty params.
        let always = [
            "call.decline.params.reason", "call.hangup.params.reason", "call.invite.params.video",
            "session.close.params", "session.logout.params",
            "call.list.params",
        ]
        #expect(Set(optional.oneSided) == Set(always))
        #expect(methods == Set(ClientMethod.allCases.map(\.rawValue)))
    }

    @Test("what HTTP answers is what the methods of the same meaning answer")
    func http() throws {
        let operations = try ProtocolDocument.httpOperations()
        #expect(operations.count == CallAction.allCases.count + 3)
        for operation in operations where operation.path != "/v1/turn" {
            let last = operation.path.split(separator: "/").last.map { String($0) } ?? ""
            let method = last == "report" ? "push.report" : last == "{call_id}" ? "call.get" : "call.\(last)"
            let answer = try #require(document.clientOperations.first { $0.method == method }?.answer)
            #expect(operation.responses["200"] == answer["properties"]?["result"], "\(method)")
            for (status, schema) in operation.responses where status != "200" {
                #expect(schema == document.errorFrame?["properties"]?["error"], "\(method) \(status)")
            }
        }
    }

    @Test("TURN servers over HTTP are written as documented")
    func turn() throws {
        let operation = try #require(try ProtocolDocument.httpOperations().first { $0.path == "/v1/turn" })
        var body: [UInt8] = []
        SignalEncoder.encode(Samples.iceServers, now: Samples.now, into: &body)
        #expect(check.problems(try JSONTree(body), try #require(operation.responses["200"])) == [])
        for (status, schema) in operation.responses where status != "200" {
            #expect(schema == document.errorFrame?["properties"]?["error"], "\(status)")
        }
    }

    @Test("the body of a VoIP push is as documented, with name and custom and without")
    func pushes() throws {
        let schema = try #require(document.schemas["VoIPPush"])
        var optional = OptionalMembers(document: document)
        for (name, custom) in [("Bob", Samples.custom), (nil, nil)] as [(String?, RawJSON?)] {
            let intent = PushIntent(
                id: Samples.push, call: Samples.call, user: Samples.alice, device: Samples.device,
                token: Samples.pushToken, from: Samples.phone, fromName: name,
                to: name == nil ? .user(Samples.alice) : .group("sales"), video: name != nil, custom: custom,
                expiresAt: Samples.deadline)
            let payload = try JSONTree(
                try #require(APNSPayload(voip: intent, wakeToken: "w.a.k"))
                    .bytes(now: Samples.deadline + .seconds(-45)))
            #expect(check.problems(payload, schema) == [])
            optional.note(payload, schema, "push")
        }
        #expect(optional.oneSided == [])
    }

    @Test("the check finds what is missing, undocumented and wrong")
    func checkFinds() throws {
        let schema = try #require(document.schemas["MissedCall"])
        let good = SchemaTrials(document: document).sample(schema, full: true)
        #expect(check.problems(good, schema) == [])
        #expect(check.problems(good.setting("at", to: nil), schema) == [": at is missing"])
        #expect(check.problems(good.setting("more", to: .null), schema) == [": more is not documented"])
        for trial in SchemaTrials(document: document).trials(schema, good) where trial.refusal != nil {
            #expect(!check.problems(trial.value, schema).isEmpty, "\(trial.what)")
        }
        let unknown = schema.setting("minProperties", to: .integer(1))
        #expect(check.problems(good, unknown).count == 1)
    }
}
