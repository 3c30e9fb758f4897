import CallCore
import CallVocabulary
import LibWebSockets
import SignalProtocol

/// A resource about a call over plain HTTP, from the path.
enum CallResource: Equatable {
    /// `/v1/calls/{call_id}`
    case call(id: String)
    /// `/v1/pushes/{push_id}/report`
    case report(push: String)

    /// nil for any other path.
    init?(path: String) {
        guard path.hasPrefix("/") else { return nil }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (parts.first, parts.dropFirst().first, parts.count) {
        case ("v1", "calls", 3): self = .call(id: String(parts[3]))
        case ("v1", "pushes", 4) where parts[4] == "report": self = .report(push: String(parts[3]))
        default: return nil
        }
    }

    var methods: [HTTPRequest.Method] {
        switch self {
        case .call: [.get, .head]
        case .report: [.post]
        }
    }

    /// The request to the core.
    /// - Throws: the error in the path or the body, for the client.
    func question(_ request: HTTPRequest) throws(SignalError) -> SessionlessRequest {
        switch self {
        case .call(let text):
            guard let id = CallID(text) else { throw SignalError(.invalidParams, "call_id: expected a UUID") }
            return .get(id)
        case .report(let text):
            guard let push = PushID(text) else { throw SignalError(.invalidParams, "push_id: expected a UUID") }
            guard request.hasJSON else {
                throw SignalError(.invalidRequest, "Content-Type: expected application/json")
            }
            switch request.body.withUnsafeBytes({ SignalDecoder.decode(reportBody: $0, of: push) }) {
            case .success(let report): return .report(report)
            case .failure(let failure): throw failure.error
            }
        }
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

    /// Whether the body's content type is JSON, or missing.
    fileprivate var hasJSON: Bool {
        guard let type = contentType?.prefix(while: { $0 != ";" }) else { return true }
        return type.lowercased().filter { $0 != " " } == "application/json"
    }
}
