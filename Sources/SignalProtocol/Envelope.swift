import CallVocabulary
import WireJSON

/// The members of a JSON-RPC message of any kind.
struct Envelope {
    var version: JSONValue?
    var id: JSONValue?
    var method: JSONValue?
    /// nil unless `params` is an object. Parsed in the same pass as the envelope.
    var params: JSONObject?
    /// The value of `params` when it is not an object.
    var otherParams: JSONValue?
    var result: JSONValue?
    var error: JSONValue?

    /// An envelope without members.
    init() {}

    /// Parses the whole frame. Failures have a null `id`, because it is not known before the end of the frame.
    init(_ frame: UnsafeRawBufferPointer, upTo limit: Int = FrameLimits.frame) throws(DecodingFailure) {
        guard frame.count <= limit else {
            throw DecodingFailure(SignalError(.tooLarge(limit: limit), "frame: at most \(limit) bytes are taken"))
        }
        var isObject = true
        do throws(JSONSyntaxError) {
            var scanner = JSONScanner(frame)
            isObject = scanner.isAtObject()
            if isObject {
                try readMembers(&scanner)
            } else if try scanner.value().kind == .array {
                isBatch = true
            }
            try scanner.finish()
        } catch {
            guard error.reason != .tooDeep else { throw DeepFrame(frame).failure }
            throw DecodingFailure(SignalError(.parseError, "not valid JSON: \(error)"))
        }
        guard isObject else {
            let message = isBatch ? "batches are not taken; send one message a frame" : "expected a JSON object"
            throw DecodingFailure(SignalError(.invalidRequest, message))
        }
    }

    private var isBatch = false

    private mutating func readMembers(_ scanner: inout JSONScanner) throws(JSONSyntaxError) {
        try scanner.enterObject()
        while let name = try scanner.nextKey() {
            switch name {
            case "jsonrpc": version = try scanner.value()
            case "id": id = try scanner.value()
            case "method": method = try scanner.value()
            case "params":
                params = nil
                otherParams = nil
                if scanner.isAtObject() {
                    params = try JSONObject(from: &scanner)
                } else {
                    otherParams = try scanner.value()
                }
            case "result": result = try scanner.value()
            case "error": error = try scanner.value()
            default: _ = try scanner.value()
            }
        }
    }

    // MARK: As a call

    /// The name of the method that is called, a string.
    func methodName() throws(SignalError) -> JSONValue {
        guard isVersion2 else { throw SignalError(.invalidRequest, "jsonrpc: expected \"2.0\"") }
        guard let method else {
            throw SignalError(.invalidRequest, "method: missing; expected the name of a method")
        }
        guard method.kind == .string else { throw SignalError(.invalidRequest, "method: expected a string") }
        return method
    }

    /// The error for an unknown method. Bounded: it must not grow with the name that was sent.
    static func unknownMethod(_ name: JSONValue) -> SignalError {
        SignalError(.methodNotFound, "method: there is no \"\((name.longString ?? "").shortened(to: 64))\"")
    }

    /// The `params`, empty when they are missing. Also fails for an invalid `id`.
    func checkedParams() throws(SignalError) -> FieldReader {
        guard id == nil || requestID != nil else {
            throw SignalError(
                .invalidRequest,
                "id: expected a string of at most \(FrameLimits.requestID) bytes or a whole number")
        }
        if let otherParams, !otherParams.isNull {
            throw SignalError(.invalidParams, "params: expected an object; params by position are not taken")
        }
        return FieldReader(params ?? JSONObject())
    }

    /// The error for a call without the `id` that its method needs.
    static func unanswerable(_ method: ClientMethod) -> SignalError {
        SignalError(.invalidRequest, "id: missing; \(method.rawValue) is answered, so it needs one")
    }

    /// Whether `jsonrpc` is "2.0".
    var isVersion2: Bool { version.map { "2.0" ~= $0 } ?? false }

    /// The `id`, if it is valid: a string of bounded length or an integer.
    var requestID: RequestID? {
        guard let id else { return nil }
        if let number = id.integer(Int64.self) { return .number(number) }
        guard let text = id.string, text.utf8.count <= FrameLimits.requestID else { return nil }
        return .string(text)
    }
}
