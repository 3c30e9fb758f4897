import CallVocabulary
import Foundation

/// A request from a client of the admin API.
public struct AdminCall: Sendable {
    public var id: RequestID
    public var request: any AdminRequest
}

/// The error to send for a frame that is not a valid request.
public struct AdminCallFailure: Error, Equatable, Sendable {
    /// nil when the id is unreadable.
    public var id: RequestID?
    public var error: AdminError
}

/// A frame from the server.
public enum AdminAnswer: Sendable {
    /// A result; ``AdminFrameReader/result(_:in:)`` reads it from the frame.
    case result(RequestID)
    case error(RequestID?, AdminError)
    /// A notification; ``AdminFrameReader/notification(_:in:)`` reads its parameters.
    case notification(method: String, subscription: Int?)
}

/// Reads frames of the admin API. Ignores unknown members; treats `null` as absent. Stateless; any thread.
public enum AdminFrameReader {
    /// Reads a client's request.
    public static func call(_ frame: UnsafeRawBufferPointer) -> Result<AdminCall, AdminCallFailure> {
        guard ForeignText.areComparable(inJSON: frame) else {
            let words =
                "A text of the frame has more than \(ForeignText.longest) bytes and is not all ASCII, or the frame is "
                + "not UTF-8."
            return .failure(AdminCallFailure(id: nil, error: AdminError(SignalError(.invalidRequest, words))))
        }
        let data = Data(frame)
        guard let head = try? JSONDecoder().decode(FrameHead.self, from: data) else {
            let isJSON = (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil
            let error =
                isJSON
                ? SignalError(.invalidRequest, "Expected a JSON object; batches are not taken.")
                : SignalError(.parseError, "The frame is not JSON.")
            return .failure(AdminCallFailure(id: nil, error: AdminError(error)))
        }
        do throws(SignalError) {
            return .success(try call(head, data))
        } catch {
            return .failure(AdminCallFailure(id: head.id, error: AdminError(error)))
        }
    }

    private static func call(_ head: FrameHead, _ data: Data) throws(SignalError) -> AdminCall {
        guard head.jsonrpc == "2.0" else { throw SignalError(.invalidRequest, "jsonrpc: expected \"2.0\"") }
        guard let name = head.method else { throw SignalError(.invalidRequest, "method: expected a string") }
        guard let method = AdminMethod(utf8: name.utf8) else {
            throw SignalError(.methodNotFound, "There is no method \(name.prefix(64)).")
        }
        guard let id = head.id else {
            throw SignalError(.invalidRequest, "id: \(name) needs one, a whole number or a string")
        }
        return AdminCall(id: id, request: try method.request.read(data))
    }

    /// Reads a server's frame; nil when it is neither an answer nor a notification.
    public static func answer(_ frame: UnsafeRawBufferPointer) -> AdminAnswer? {
        let data = Data(frame)
        guard let head = try? JSONDecoder().decode(FrameHead.self, from: data) else { return nil }
        if let method = head.method {
            let subject = try? JSONDecoder().decode(ParamsFrame<SubscriptionStarted>.self, from: data)
            return .notification(method: method, subscription: subject?.params.subscription)
        }
        if let error = head.error { return .error(head.id, error) }
        return head.id.map { .result($0) }
    }

    /// Reads the result of a frame.
    /// - Throws: `AdminError` with a text when the result does not decode: the server has another version.
    public static func result<Response: Decodable>(
        _: Response.Type = Response.self, in frame: [UInt8]
    ) throws(AdminError) -> Response {
        try read(AnswerFrame<Response>.self, Data(frame)).result
    }

    /// Reads the parameters of a notification.
    public static func notification<Params: Decodable>(
        _: Params.Type = Params.self, in frame: [UInt8]
    ) throws(AdminError) -> Params {
        try read(ParamsFrame<Params>.self, Data(frame)).params
    }

    private static func read<Frame: Decodable>(_: Frame.Type, _ data: Data) throws(AdminError) -> Frame {
        do {
            return try JSONDecoder().decode(Frame.self, from: data)
        } catch {
            throw AdminError(SignalError(.internalError, AdminReadingFault.words(error)))
        }
    }
}

extension AdminRequest {
    fileprivate static func read(_ data: Data) throws(SignalError) -> any AdminRequest {
        do {
            // Absent `params` count as an empty object.
            let hasParams = try JSONDecoder().decode(Presence.self, from: data).isPresent
            return hasParams
                ? try JSONDecoder().decode(ParamsFrame<Self>.self, from: data).params
                : try JSONDecoder().decode(Self.self, from: Data("{}".utf8))
        } catch {
            throw SignalError(.invalidParams, AdminReadingFault.words(error))
        }
    }
}

private struct Presence: Decodable {
    let isPresent: Bool

    private enum CodingKeys: String, CodingKey { case params }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isPresent = try container.contains(.params) && !container.decodeNil(forKey: .params)
    }
}

/// Describes where a frame differs from the expected form: `params.user: expected …`.
enum AdminReadingFault {
    static func words(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .keyNotFound(let key, let context): return "\(path(context.codingPath + [key])): missing"
        case .valueNotFound(let type, let context): return "\(path(context.codingPath)): expected \(name(type))"
        case .typeMismatch(let type, let context): return "\(path(context.codingPath)): expected \(name(type))"
        case .dataCorrupted(let context):
            // The frame is JSON, as its head was read. Without a path the decoder reports a value it cannot convert.
            if context.codingPath.isEmpty {
                return "frame: a number is not whole or too large, or a string is not Unicode"
            }
            // For an enumeration, the standard library reports the invalid value and not the valid ones.
            let words =
                context.debugDescription.hasPrefix("Cannot initialize")
                ? "no such choice" : context.debugDescription
            return "\(path(context.codingPath)): \(words)"
        @unknown default: return "\(error)"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        guard let first = keys.first else { return "frame" }
        return keys.dropFirst().reduce(first.stringValue) { path, key in
            key.intValue.map { "\(path)[\($0)]" } ?? "\(path).\(key.stringValue)"
        }
    }

    private static func name(_ type: Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is Int.Type, is Int64.Type: "a whole number"
        case is Double.Type: "a number"
        case is [Any].Type: "an array"
        default: "an object"
        }
    }
}
