import CallVocabulary
import SignalProtocol
import Testing

/// What the protocol document allows is read, and what it does not is refused as it says.
struct DocumentedReadingTests {
    private let document: ProtocolDocument
    private let trials: SchemaTrials

    init() throws {
        document = try ProtocolDocument.shared()
        trials = SchemaTrials(document: document)
    }

    private func failure(_ method: String, _ params: JSONTree, id: String = #","id":1"#) -> SignalError? {
        let frame = #"{"jsonrpc":"2.0"\#(id),"method":"\#(method)","params":\#(params.text)}"#
        switch SignalDecoder.decode(frame: Array(frame.utf8)) {
        case .success: return nil
        case .failure(let failure): return failure.error
        }
    }

    private func params(of operation: ProtocolDocument.Operation) throws -> JSONTree {
        try #require(operation.frame["properties"]?["params"])
    }

    // MARK: On the server

    @Test(
        "params with the required members, with all of them and with each choice are taken",
        arguments: ClientMethod.allCases)
    func allowed(method: ClientMethod) throws {
        let operation = try #require(document.clientOperations.first { $0.method == method.rawValue })
        let schema = try params(of: operation)
        let check = SchemaCheck(document: document)
        for sample in [trials.sample(schema, full: false)] + trials.variants(schema) {
            #expect(check.problems(sample, schema) == [])
            #expect(failure(method.rawValue, sample) == nil, "\(sample.text)")
            // Unknown members are ignored, and null counts as left out.
            let more = sample.setting("a_newer_member", to: .array([]))
            #expect(failure(method.rawValue, more) == nil, "\(more.text)")
        }
    }

    @Test(
        "params with a member missing, mistyped or too large are refused as the document says, at the limit not",
        arguments: ClientMethod.allCases)
    func refused(method: ClientMethod) throws {
        let operation = try #require(document.clientOperations.first { $0.method == method.rawValue })
        let schema = try params(of: operation)
        for sample in trials.variants(schema) {
            for trial in trials.trials(schema, sample) {
                let error = failure(method.rawValue, trial.value)
                #expect(error?.code == trial.refusal, "\(trial.what): \(error?.message ?? "taken")")
            }
        }
    }

    @Test("an id and params may be left out where the document says so", arguments: ClientMethod.allCases)
    func envelope(method: ClientMethod) throws {
        let operation = try #require(document.clientOperations.first { $0.method == method.rawValue })
        let required = Set(operation.frame["required"]?.strings ?? [])
        let sample = trials.sample(try params(of: operation), full: false)
        #expect(method.isNotification != required.contains("id"))
        #expect(failure(method.rawValue, sample, id: "")?.code == (required.contains("id") ? .invalidRequest : nil))
        let bare = SignalDecoder.decode(frame: Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method.rawValue)"}"#.utf8))
        #expect(((try? bare.get()) == nil) == required.contains("params"))
    }

    @Test("to, sdp and custom of one invite share a limit")
    func sharedLimit() throws {
        let limit = try #require(document.schema("CallInviteParams/x-maxContentBytes/bytes")?.integer)
        func invite(_ room: Int) -> JSONTree {
            // A list counts as it stands: two brackets, and a comma between two elements.
            let handles = (0..<130).map { _ in JSONTree.string(String(repeating: "h", count: 99)) }
            let custom = JSONTree.string(String(repeating: "c", count: 16_382))
            let rest = room - (1 + 130 * 102) - 16_384
            return .object([
                "call_id": .string(Samples.callText), "to": .array(handles), "custom": custom,
                "sdp": .string(String(repeating: "s", count: rest - 2)),
            ])
        }
        #expect(failure("call.invite", invite(Int(limit))) == nil)
        #expect(failure("call.invite", invite(Int(limit) + 1))?.code == .tooLarge(limit: Int(limit)))
    }

    @Test("bodies over HTTP are taken and refused as the document says")
    func bodies() throws {
        for operation in try ProtocolDocument.httpOperations() {
            guard let schema = operation.body else { continue }
            let action = operation.path.split(separator: "/").last.flatMap { CallAction(rawValue: String($0)) }
            func failure(_ body: JSONTree) -> SignalError? {
                let bytes = Array(body.text.utf8)
                do throws(SignalError) {
                    if let action {
                        _ = try SignalDecoder.decode(body: bytes, of: action, in: Samples.call)
                    } else {
                        _ = try SignalDecoder.decode(reportBody: bytes, of: Samples.push)
                    }
                    return nil
                } catch {
                    return error
                }
            }
            for sample in [trials.sample(schema, full: false)] + trials.variants(schema) {
                #expect(failure(sample) == nil, "\(operation.path)")
                for trial in trials.trials(schema, sample) where trial.member != "" {
                    #expect(failure(trial.value)?.code == trial.refusal, "\(operation.path): \(trial.what)")
                }
            }
        }
    }

    // MARK: On the client

    /// A client does without these, should a server leave them out.
    private static let dispensable: Set = ["video", "remaining_ms"]
    /// These say nothing that a client written in the words of `CallVocabulary` does not know; of `callkit_reason` it
    /// reads whether it is null.
    private static let unread: Set = ["handle_type", "sip_status", "q850", "callkit_reason"]

    @Test(
        "what the server tells is read by the client, and refused with a member missing or mistyped",
        arguments: ServerMethod.allCases)
    func events(method: ServerMethod) throws {
        let operation = try #require(document.serverOperations.first { $0.method == method.rawValue })
        let schema = try params(of: operation)
        func read(_ params: JSONTree) -> Result<ServerFrame, DecodingFailure> {
            let frame = #"{"jsonrpc":"2.0","method":"\#(method.rawValue)","params":\#(params.text)}"#
            return SignalDecoder.decode(serverFrame: Array(frame.utf8), receivedAt: Samples.now)
        }
        for sample in [trials.sample(schema, full: false)] + trials.variants(schema) {
            guard case .success(.message) = read(sample) else {
                Issue.record("\(sample.text) reads as \(read(sample))")
                continue
            }
            for trial in trials.trials(schema, sample) where trial.kind == .missing || trial.kind == .mistyped {
                if Self.unread.contains(trial.member) { continue }
                if trial.kind == .missing, Self.dispensable.contains(trial.member) { continue }
                // `params` itself may be anything to a client that knows its method.
                if trial.what.hasPrefix(" = ") { continue }
                let code: SignalError.Code?
                if case .failure(let failure) = read(trial.value) { code = failure.error.code } else { code = nil }
                #expect(code == .invalidParams, "\(trial.what)")
            }
        }
    }

    @Test("each result that the document allows is read as what answers its method", arguments: ClientMethod.allCases)
    func results(method: ClientMethod) throws {
        let operation = try #require(document.clientOperations.first { $0.method == method.rawValue })
        let schema = try #require(operation.answer?["properties"]?["result"])
        for sample in [trials.sample(schema, full: false)] + trials.variants(schema) {
            let frame = #"{"jsonrpc":"2.0","id":1,"result":\#(sample.text)}"#
            guard case .message(.reply(_, let reply)) = try SignalDecoder.decode(serverFrame: Array(frame.utf8)).get()
            else {
                Issue.record("\(frame) is no reply")
                continue
            }
            #expect(kind(of: reply) == kind(of: method), "\(sample.text)")
        }
    }

    private func kind(of method: ClientMethod) -> String {
        switch method {
        case .sessionOpen: "opened"
        case .callInvite: "invited"
        case .callAnswer: "won"
        case .callGet: "call"
        case .callList: "calls"
        case .pushReport, .callRinging, .callDecline, .callConnected, .callHangup: "state"
        case .sessionAck, .sessionState, .sessionClose, .sessionLogout, .deviceUpdate, .callCandidates, .callUpdate,
            .missedClear:
            "done"
        }
    }

    private func kind(of reply: Reply) -> String {
        switch reply {
        case .done: "done"
        case .opened: "opened"
        case .invited, .inviteEnded: "invited"
        case .callState: "state"
        case .won: "won"
        case .call, .backendCall: "call"
        case .calls: "calls"
        }
    }

    @Test("each error that the document allows is read with its code")
    func errors() throws {
        let schema = try #require(document.schemas["Error"])
        for branch in schema["oneOf"]?.elements ?? [] {
            for sample in [trials.sample(branch, full: false)] + trials.variants(branch) {
                let frame = #"{"jsonrpc":"2.0","id":1,"error":\#(sample.text)}"#
                let decoded = try SignalDecoder.decode(serverFrame: Array(frame.utf8)).get()
                guard case .message(.error(.number(1)?, let error)) = decoded else {
                    Issue.record("\(frame) is no error")
                    continue
                }
                #expect(error.code.name == sample["data"]?["code"]?.string)
                #expect(JSONTree.integer(Int128(error.code.number)) == sample["code"])
            }
        }
    }
}
