/// Why a request was refused: a stable code with its data, and a sentence for people.
public struct SignalError: Error, Equatable, Sendable {
    public enum Code: Equatable, Sendable {
        case parseError
        case invalidRequest
        case methodNotFound
        case invalidParams
        case internalError
        case unauthenticated
        case forbidden
        case notFound
        case callEnded(EndReason)
        case alreadyAnswered(by: Party)
        case badState(CallState?)
        case rateLimited(retryAfter: Duration)
        case tooLarge(limit: Int)
        case conflict
        case limitReached(limit: Int)
        case overloaded(retryAfter: Duration)
        case draining

        /// The JSON-RPC `code`.
        public var number: Int {
            switch self {
            case .parseError: -32700
            case .invalidRequest: -32600
            case .methodNotFound: -32601
            case .invalidParams: -32602
            case .internalError: -32603
            case .unauthenticated: -32001
            case .forbidden: -32002
            case .notFound: -32003
            case .callEnded: -32004
            case .alreadyAnswered: -32005
            case .badState: -32006
            case .rateLimited: -32007
            case .tooLarge: -32008
            case .conflict: -32009
            case .limitReached: -32010
            case .overloaded: -32011
            case .draining: -32012
            }
        }

        /// `data.code`.
        public var name: String {
            switch self {
            case .parseError: "parse_error"
            case .invalidRequest: "invalid_request"
            case .methodNotFound: "method_not_found"
            case .invalidParams: "invalid_params"
            case .internalError: "internal_error"
            case .unauthenticated: "unauthenticated"
            case .forbidden: "forbidden"
            case .notFound: "not_found"
            case .callEnded: "call_ended"
            case .alreadyAnswered: "already_answered"
            case .badState: "bad_state"
            case .rateLimited: "rate_limited"
            case .tooLarge: "too_large"
            case .conflict: "conflict"
            case .limitReached: "limit_reached"
            case .overloaded: "overloaded"
            case .draining: "draining"
            }
        }
    }

    public var code: Code
    public var message: String
    /// The call of a refused notification, which has no `id`.
    public var call: CallID?

    public init(_ code: Code, _ message: String, call: CallID? = nil) {
        self.code = code
        self.message = message
        self.call = call
    }
}

/// Why the server closes a WebSocket. RFC 6455 leaves 3000–3999 to registered protocols. A client reconnects after
/// 3000–3004, with backoff and jitter, and stays away after 3500 and above.
public enum CloseCode: UInt16, Sendable, CaseIterable {
    case normal = 1000
    /// A frame that breaks RFC 6455.
    case brokenFrame = 1002
    case binaryFrame = 1003
    case invalidUTF8 = 1007
    case shutdown = 3000
    case slowConsumer = 3001
    case pingTimeout = 3002
    case overloaded = 3003
    /// An administrator has ended the session.
    case dropped = 3004
    case badToken = 3500
    case protocolError = 3501
    case frameTooLarge = 3502
    case replaced = 3503
    case notOpened = 3504
    case abuse = 3505
    case loggedOut = 3506

    /// Whether a client should reconnect.
    public var allowsReconnect: Bool { (3000..<3500).contains(rawValue) }
}
