import CallCore
import CallVocabulary
import PushCore
import SignalProtocol
import Testing

/// Names and numbers of the protocol document are those of the code, no more and no fewer.
struct DocumentedNamesTests {
    private let document: ProtocolDocument

    init() throws { document = try ProtocolDocument.shared() }

    @Test("the methods of the document are those of the code, in both directions")
    func methods() {
        #expect(document.clientOperations.map(\.method).sorted() == ClientMethod.allCases.map(\.rawValue).sorted())
        #expect(document.serverOperations.map(\.method).sorted() == ServerMethod.allCases.map(\.rawValue).sorted())
    }

    @Test("each enumeration of the document is one of the code, with the same values")
    func enumerations() {
        func values<Choice: RawRepresentable<String> & CaseIterable>(_ type: Choice.Type) -> [String] {
            type.allCases.map(\.rawValue)
        }
        let code = [
            "Platform": values(Platform.self), "AppState": values(AppState.self),
            "PushProvider": values(PushProvider.self), "PushKind": values(PushKind.self),
            "PushEnvironment": values(PushEnvironment.self), "ReportResult": values(ReportResult.self),
            "DeclineReason": values(DeclineReason.self), "HangupReason": values(HangupReason.self),
            "UpdateKind": values(CallUpdate.Kind.self), "CallState": values(CallState.self),
            "CallRole": values(CallRole.self), "HandleKind": values(HandleKind.self),
            "EndReason": values(EndReason.self),
            "CallKitReason": Array(Set(EndReason.allCases.map(\.callKitReason))),
        ]
        let documented = document.schemas.compactMapValues { $0["enum"]?.strings }
        #expect(documented.mapValues { $0.sorted() } == code.mapValues { $0.sorted() })
    }

    @Test("the end reasons of the document have the code's CallKit reason, SIP status and Q.850 cause")
    func endReasons() {
        let code = EndReason.allCases.map { reason in
            JSONTree.object([
                "reason": .string(reason.rawValue), "callkit_reason": .string(reason.callKitReason),
                "sip_status": .integer(Int128(reason.sipStatus)), "q850": .integer(Int128(reason.q850Cause)),
            ])
        }
        #expect(document.root["x-end-reasons"] == .array(code))
    }

    @Test("the close codes of the document are those of the code, and say who may come back")
    func closeCodes() {
        let documented = (document.root["x-close-codes"]?.elements ?? []).map { entry in
            "\(entry["code"]?.text ?? "") \(entry["reconnect"]?.text ?? "")"
        }
        #expect(documented == CloseCode.allCases.map { "\($0.rawValue) \($0.allowsReconnect)" })
    }

    @Test(
        "each limit of the document is the code's",
        arguments: [
            ("Handle/x-maxBytes", Handle.longest), ("CallTarget/x-maxFrameBytes", FrameLimits.target),
            ("CallTarget/oneOf/1/maxItems", FrameLimits.handles), ("SDP/x-maxFrameBytes", FrameLimits.sdp),
            ("Custom/x-maxFrameBytes", FrameLimits.custom), ("Candidates/x-maxFrameBytes", FrameLimits.content),
            ("CallInviteParams/x-maxContentBytes/bytes", FrameLimits.content),
            ("CallInviteParams/properties/ring_ms/minimum", Int(CallTimers.ringRange.lowerBound.wholeMilliseconds)),
            ("CallInviteParams/properties/ring_ms/maximum", Int(CallTimers.ringRange.upperBound.wholeMilliseconds)),
            ("CallInviteParams/properties/max_duration_ms/minimum", 1000),
            ("CallInviteParams/properties/max_duration_ms/maximum", 604_800_000),
            ("CallListParams/properties/limit/maximum", FrameLimits.listedCalls),
            ("CallPage/properties/calls/maxItems", FrameLimits.listedCalls),
            ("Device/properties/app/x-maxBytes", FrameLimits.name),
            ("Device/properties/name/x-maxBytes", FrameLimits.name),
            ("Caller/properties/name/x-maxBytes", FrameLimits.name),
            ("PushReportParams/properties/error/x-maxBytes", FrameLimits.reportError),
            ("VoIPPushToken/properties/token/minLength", PushToken.deviceTokenDigits.lowerBound),
            ("VoIPPushToken/properties/token/maxLength", PushToken.deviceTokenDigits.upperBound),
            ("VoIPPushToken/properties/topic/maxLength", FrameLimits.topic),
            ("AlertPushToken/properties/topic/maxLength", FrameLimits.topic),
            ("DataMessageToken/properties/topic/maxLength", FrameLimits.topic),
            ("AlertMessageToken/properties/topic/maxLength", FrameLimits.topic),
            ("DataMessageToken/properties/token/maxLength", PushToken.longest),
            ("WebPushToken/properties/token/maxLength", PushToken.longestSubscription),
            ("PushTokens/maxItems", FrameLimits.pushTokens),
            ("RequestID/oneOf/0/x-maxBytes", FrameLimits.requestID),
            ("Resume/properties/token/x-maxBytes", FrameLimits.resumeToken),
            ("SessionOpened/properties/resume/properties/token/x-maxBytes", FrameLimits.resumeToken),
            ("SessionOpenParams/properties/token/x-maxBytes", FrameLimits.token),
            ("VoIPPush/x-maxBodyBytes", APNSPayload.longestVoIP),
        ])
    func limits(path: String, limit: Int) {
        #expect(document.schema(path)?.integer == Int128(limit))
    }

    @Test("no limit of the document goes unchecked, and a limit in bytes is one in characters too")
    func limitsAreComplete() {
        var found = 0
        func visit(_ schema: JSONTree) {
            for (keyword, value) in schema.members ?? [:] {
                if keyword.hasPrefix("x-max") || keyword == "maxItems" { found += 1 }
                visit(value)
            }
            for element in schema.elements ?? [] { visit(element) }
            guard schema["type"] == .string("string") else { return }
            guard let bytes = schema["x-maxBytes"] ?? schema["x-maxFrameBytes"] else { return }
            #expect(schema["maxLength"] == bytes)
        }
        for schema in document.schemas.values { visit(schema) }
        // As many as the list above has, but for the thirteen that bound a number or count characters only.
        #expect(found == 18)
    }

    @Test("the timers and limits of the document are the defaults of the core")
    func timers() {
        let timers = CallTimers()
        let code = [
            "ring_ms": timers.ring, "connect_ms": timers.connect, "report_ms": timers.report,
            "delivery_ms": timers.delivery, "resume_ms": timers.resume, "tombstone_ms": timers.tombstone,
            "hunt_ms": timers.huntStep,
        ]
        #expect(
            document.root["x-timers"]?.members == code.mapValues { .integer(Int128($0.wholeMilliseconds)) })
        let limits = CoreLimits()
        let numbers = [
            "frame_bytes": FrameLimits.frame, "unacknowledged_events": limits.replayEvents,
            "unacknowledged_bytes": limits.replayBytes, "legs_per_call": limits.legsPerCall,
            "ringing_calls_per_pair": limits.ringingCallsPerPair,
            "ringing_calls_per_callee": limits.ringingCallsPerCallee, "ringing_pair_bytes": limits.ringingPairBytes,
            "ringing_callee_bytes": limits.ringingCalleeBytes, "away_candidates": limits.bufferedCandidates,
            "away_candidate_bytes": limits.bufferedCandidateBytes,
        ]
        #expect(document.root["x-limits"]?.members == numbers.mapValues { .integer(Int128($0)) })
    }

    @Test("the error codes of the document are the code's, by number and by name")
    func errors() {
        let documented = (document.schemas["Error"]?["oneOf"]?.elements ?? []).map { branch in
            let members = branch["properties"]
            let name = members?["data"]?["properties"]?["code"]?["const"]?.string
            return "\(members?["code"]?["const"]?.text ?? "") \(name ?? "")"
        }
        #expect(documented.sorted() == Set(Samples.errors.map { "\($0.number) \($0.name)" }).sorted())
        #expect(Set(Samples.errors.map(place)).count == 17)
    }

    /// Does not compile when a code is added: then it belongs here, among the samples and in the document.
    private func place(_ code: SignalError.Code) -> Int {
        switch code {
        case .parseError: 0
        case .invalidRequest: 1
        case .methodNotFound: 2
        case .invalidParams: 3
        case .internalError: 4
        case .unauthenticated: 5
        case .forbidden: 6
        case .notFound: 7
        case .callEnded: 8
        case .alreadyAnswered: 9
        case .badState: 10
        case .rateLimited: 11
        case .tooLarge: 12
        case .conflict: 13
        case .limitReached: 14
        case .overloaded: 15
        case .draining: 16
        }
    }
}
