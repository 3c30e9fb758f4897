import CallVocabulary

/// A request as encoded in a frame.
struct RequestFrame<Request: AdminRequest>: Encodable {
    var jsonrpc = "2.0"
    var id: Int64
    var method = Request.method
    var params: Request
}

struct ResultFrame<Response: Encodable>: Encodable {
    var jsonrpc = "2.0"
    var id: RequestID
    var result: Response
}

struct ErrorFrame: Encodable {
    var jsonrpc = "2.0"
    /// nil is encoded as `null`: the request's id was unreadable.
    var id: RequestID?
    var error: AdminError

    private enum CodingKeys: String, CodingKey { case jsonrpc, id, error }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(jsonrpc, forKey: .jsonrpc)
        try container.encode(id, forKey: .id)
        try container.encode(error, forKey: .error)
    }
}

struct NotificationFrame<Params: Encodable>: Encodable {
    var jsonrpc = "2.0"
    var method: String
    var params: Params
}

/// The members that determine the kind of a frame.
struct FrameHead: Decodable {
    var jsonrpc: String?
    var id: RequestID?
    var method: String?
    var error: AdminError?

    private enum CodingKeys: String, CodingKey { case jsonrpc, id, method, error }

    /// Lenient for each member: a member of the wrong type counts as absent.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        jsonrpc = try? container.decode(String.self, forKey: .jsonrpc)
        id = try? container.decode(RequestID.self, forKey: .id)
        method = try? container.decode(String.self, forKey: .method)
        error = try? container.decode(AdminError.self, forKey: .error)
    }
}

struct ParamsFrame<Params: Decodable>: Decodable { var params: Params }
struct AnswerFrame<Response: Decodable>: Decodable { var result: Response }

extension RequestID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        }
    }
}
