import CallVocabulary
import WireJSON

/// The bodies of requests to an authorization hook, and of its answers.
public enum AuthorizationBody {
    /// The longest answer, in bytes.
    public static let longestAnswer = FrameLimits.frame
    /// The longest time for which an answer counts, in seconds.
    public static let longestLifetime = 86_400
    /// The longest `reason`, in bytes.
    public static let longestReason = 512

    /// A hook's answer, and how long it counts for equal questions.
    public struct Answer: Equatable, Sendable {
        public var answer: AuthorizationAnswer
        public var lifetime: Duration
    }

    /// - Parameter hasCall: false leaves out `call_id`, for the comparison of questions.
    public static func encode(_ question: AuthorizationQuestion, hasCall: Bool = true) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.append(to: &body) { json in
            json.object { json in
                json.field("type", "call.invite")
                json.field("call_id", hasCall ? question.call : nil)
                json.field("caller", question.caller.user)
                json.field("device_id", question.caller.device)
                json.field("to", question.to)
                json.field("video", question.video)
                json.field("custom", question.custom)
            }
        }
        return body
    }

    public static func encode(_ question: SessionQuestion) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.append(to: &body) { json in
            json.object { json in
                json.field("type", "session.open")
                json.field("user", question.user)
                json.field("device_id", question.device.id)
                json.field("platform", question.device.platform.rawValue)
                json.field("app", question.device.app)
                json.field("name", question.device.name)
            }
        }
        return body
    }

    /// - Parameter refusal: the reason for the client when the backend's refusal has none.
    /// - Throws: the member at fault.
    public static func decode(
        _ body: [UInt8], refusal: String = "The call is not allowed."
    ) throws(SignalError) -> Answer {
        try SignalDecoder.decode(body: body) { (body) throws(FieldFailure) in
            let ttl: Int = try body.optionalInteger("ttl", in: 0...longestLifetime) ?? 0
            guard try body.required("allow", "true or false", { $0.bool }) else {
                let reason = try body.optionalString("reason", upTo: longestReason) ?? ""
                let shown = DisplayName(reason, upTo: longestReason)?.text ?? refusal
                return Answer(answer: .refused(shown), lifetime: .seconds(ttl))
            }
            let permit = CallPermit(
                to: body.object["to"] == nil ? nil : try body.target(),
                fromName: try body.optionalLongString("from_name", upTo: longestAnswer)
                    .flatMap { DisplayName($0)?.text },
                ringTime: try body.optionalInteger("ring_ms", in: FieldReader.ringMilliseconds).map {
                    .milliseconds($0)
                })
            return Answer(answer: .allowed(permit), lifetime: .seconds(ttl))
        }
    }
}
