import CallVocabulary

/// Why a command of a ``Softphone`` failed.
public enum SoftphoneError: Error, Equatable, Sendable {
    /// No session opened within the command's time; the server never received the command. `lastFailure` tells why the
    /// last connection attempt failed.
    case notConnected(lastFailure: String?)
    /// The command was sent and not answered in time; it may have taken effect.
    case timedOut
    /// The connection broke after the command was sent, and repeating it was unsafe or too late.
    case connectionLost
    /// The call ended before the command took effect.
    case callEnded(EndReason)
    /// The server's refusal.
    case refused(SignalError)
    /// The session has ended for good: reconnect only after the cause is removed.
    case gone(GoneReason)
    /// The phone was disconnected or abandoned meanwhile.
    case closed
    /// The command queue is full.
    case queueFull(limit: Int)
    /// The server's reply does not match the request.
    case unexpectedReply
    /// Not a `ws://` or `wss://` URL.
    case badURL(String)
}

/// Why a phone does not reconnect by itself.
public enum GoneReason: Equatable, Sendable {
    /// The server closed with a code that forbids reconnecting: 3500 and above.
    case closed(code: UInt16)
    /// The server refused `session.open` with an error that a retry does not change.
    case refused(SignalError)
    /// The server speaks another version of the protocol.
    case unsupportedProtocol(version: Int)
}

extension SoftphoneError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notConnected(let failure):
            "no session in time" + (failure.map { ": " + "\($0)".clause } ?? "")
                + "; check that the server is reachable"
        case .timedOut: "the server did not answer in time"
        case .connectionLost: "the connection broke before the answer came"
        case .callEnded(let reason): "the call has ended: \(reason.rawValue)"
        case .refused(let error): "refused (\(error.code.name)): \(error.message)"
        case .gone(let reason): "the session is over: \(reason)"
        case .closed: "the phone was disconnected"
        case .queueFull(let limit): "\(limit) commands wait already"
        case .unexpectedReply: "the server's answer does not fit the request"
        case .badURL(let url): "not a URL of a signaling server: \(url) (expected ws://host:port or wss://host)"
        }
    }
}

extension GoneReason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .closed(let code): "closed with \(code)\(CloseCode(rawValue: code).map { " (\($0))" } ?? "")"
        case .refused(let error): "session.open refused (\(error.code.name)): \(error.message)"
        case .unsupportedProtocol(let version): "the server speaks protocol version \(version)"
        }
    }
}
