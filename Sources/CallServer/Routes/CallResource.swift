import CallCore
import CallVocabulary
import LibWebSockets
import SignalProtocol

/// A resource about a call over plain HTTP, from the path.
enum CallResource: Equatable {
    /// `/v1/calls/{call_id}`
    case call(id: String)
    /// `/v1/calls/{call_id}/{action}`
    case action(CallAction, id: String)
    /// `/v1/pushes/{push_id}/report`
    case report(push: String)

    /// A request to the core.
    struct Question {
        let command: CallRequest
        /// The device that the query names.
        let device: DeviceID?
    }

    /// nil for any other path.
    init?(path: String) {
        guard path.hasPrefix("/v1/") else { return nil }
        let parts = path.split(separator: "/", maxSplits: 5, omittingEmptySubsequences: false).dropFirst().map(
            String.init)
        guard parts.count >= 3 else { return nil }
        switch (parts[1], parts.count) {
        case ("calls", 3): self = .call(id: parts[2])
        case ("calls", 4):
            guard let action = CallAction(utf8: parts[3].utf8) else { return nil }
            self = .action(action, id: parts[2])
        case ("pushes", 4) where parts[3] == "report": self = .report(push: parts[2])
        default: return nil
        }
    }

    var methods: [HTTPRequest.Method] {
        switch self {
        case .call: [.get, .head]
        case .action, .report: [.post]
        }
    }

    /// - Throws: the error in the path, the query or the body, for the client.
    func question(_ request: HTTPRequest) throws(SignalError) -> Question {
        Question(command: try command(request), device: try request.device)
    }

    private func command(_ request: HTTPRequest) throws(SignalError) -> CallRequest {
        switch self {
        case .call(let id): return .get(try Self.id(id, "call_id"))
        case .action(let action, let id):
            let call: CallID = try Self.id(id, "call_id")
            if !request.body.isEmpty { try request.expectJSON() }
            // No body, no members.
            let body = request.body.isEmpty ? Array("{}".utf8) : request.body
            return try SignalDecoder.decode(body: body, of: action, in: call)
        case .report(let id):
            let push: PushID = try Self.id(id, "push_id")
            try request.expectJSON()
            return .report(try SignalDecoder.decode(reportBody: request.body, of: push))
        }
    }

    fileprivate static func id<Subject>(_ text: String, _ name: String) throws(SignalError) -> Identifier<Subject> {
        guard let id = Identifier<Subject>(text) else {
            throw SignalError(.invalidParams, "\(name): expected a UUID")
        }
        return id
    }
}

extension HTTPRequest {
    /// The token of `Authorization: Bearer …`; the scheme is case-insensitive (RFC 9110, 11.1).
    var bearerToken: String? {
        guard let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return nil }
        let token = authorization[space...].drop { $0 == " " }
        // The same limit as in `session.open`.
        return token.isEmpty || token.utf8.count > FrameLimits.token ? nil : String(token)
    }

    /// - Throws: an error if the body's content type is something other than JSON.
    func expectJSON() throws(SignalError) {
        guard let type = contentType?.prefix(while: { $0 != ";" }) else { return }
        guard type.lowercased().filter({ $0 != " " }) == "application/json" else {
            throw SignalError(.invalidRequest, "Content-Type: expected application/json")
        }
    }

    /// The device in the query, `?device={device_id}`; nil without one.
    fileprivate var device: DeviceID? {
        get throws(SignalError) {
            guard let text = try queryItems["device"] else { return nil }
            return try CallResource.id(text, "device")
        }
    }

    /// No resource knows more.
    private static let mostQueryItems = 32

    /// The query's parameters, percent-decoded. The last of repeated parameters counts.
    var queryItems: [String: String] {
        get throws(SignalError) {
            let query = Array(target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
            let parts = query.split(separator: UInt8(ascii: "&"), maxSplits: Self.mostQueryItems)
            guard parts.count <= Self.mostQueryItems else {
                throw SignalError(.invalidRequest, "the query has more than \(Self.mostQueryItems) parameters")
            }
            var items: [String: String] = [:]
            for part in parts {
                let name = part.prefix { $0 != UInt8(ascii: "=") }
                guard let text = RequestHead.unescaped(part.dropFirst(name.count + 1)),
                    let name = RequestHead.unescaped(name)
                else {
                    throw SignalError(
                        .invalidRequest,
                        "the query has an invalid percent escape, or a value that is not UTF-8 or is too long for one "
                            + "that is not ASCII")
                }
                items[name] = text
            }
            return items
        }
    }
}
