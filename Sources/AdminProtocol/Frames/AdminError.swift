import CallVocabulary

/// The `error` of a JSON-RPC response. `data.code` has the machine-readable code, as in the signaling protocol.
public struct AdminError: Codable, Equatable, Error, Sendable {
    /// The JSON-RPC `code`.
    public var number: Int
    /// `data.code`: `not_found`, `invalid_params`, …
    public var name: String
    public var message: String

    public init(_ error: SignalError) {
        number = error.code.number
        name = error.code.name
        message = error.message
    }

    public init(_ refusal: AdminRefusal) {
        switch refusal.code {
        case .notFound: number = SignalError.Code.notFound.number
        case .conflict: number = SignalError.Code.conflict.number
        case .invalidParams: number = SignalError.Code.invalidParams.number
        case .limitReached: number = SignalError.Code.limitReached(limit: 0).number
        case .overloaded: number = SignalError.Code.overloaded(retryAfter: .zero).number
        }
        name = refusal.code.rawValue
        message = refusal.message
    }

    /// The refusal of a valid request; nil when the request was not accepted at all, or the server is busy.
    public var refusal: AdminRefusal? {
        guard let code = AdminRefusal.Code(rawValue: name), code != .overloaded else { return nil }
        return AdminRefusal(code, message)
    }

    private enum CodingKeys: String, CodingKey {
        case message, data
        case number = "code"
    }

    private enum DataKeys: String, CodingKey { case code }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        number = try container.decode(Int.self, forKey: .number)
        message = try container.decodeIfPresent(String.self, forKey: .message) ?? ""
        let data = try? container.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
        name = (try? data?.decode(String.self, forKey: .code)) ?? "\(number)"
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(number, forKey: .number)
        try container.encode(message, forKey: .message)
        var data = container.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
        try data.encode(name, forKey: .code)
    }
}
