import CallVocabulary
import WireJSON

/// The members of a JSON-RPC message, before it is known what kind it is.
struct Envelope {
    var version: JSONValue?
    var id: JSONValue?
    var method: JSONValue?
    /// nil when it is not an object. Read in the same pass as the rest.
    var params: JSONObject?
    /// Set, whatever it is, when there is one; not when it is an object.
    var otherParams: JSONValue?
    var result: JSONValue?
    var error: JSONValue?

    /// Without any members.
    init() {}

    /// Goes through the whole frame. `id` is null in the failures: it is not known before the end.
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

    /// The name of the method that is called.
    func methodName() throws(SignalError) -> String {
        guard isVersion2 else { throw SignalError(.invalidRequest, "jsonrpc: expected \"2.0\"") }
        guard let method else {
            throw SignalError(.invalidRequest, "method: missing; expected the name of a method")
        }
        guard let name = method.string else { throw SignalError(.invalidRequest, "method: expected a string") }
        return name
    }

    /// For a name that no method has. The answer must not grow with what was sent.
    static func unknownMethod(_ name: String) -> SignalError {
        SignalError(.methodNotFound, "method: there is no \"\(name.shortened(to: 64))\"")
    }

    /// The `params`, empty when they are left out; fails as well over an `id` that is none.
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

    /// For a call without an `id` that needs one.
    static func unanswerable(_ method: String) -> SignalError {
        SignalError(.invalidRequest, "id: missing; \(method) is answered, so it needs one")
    }

    /// Whether it says that it is JSON-RPC 2.0.
    var isVersion2: Bool { version.map { "2.0" ~= $0 } ?? false }

    /// The `id`, if it is one: a string of bounded length or a whole number.
    var requestID: RequestID? {
        guard let id else { return nil }
        if let number = id.integer(Int64.self) { return .number(number) }
        guard let text = id.string, text.utf8.count <= FrameLimits.requestID else { return nil }
        return .string(text)
    }
}
