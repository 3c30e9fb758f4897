import AdminProtocol
import CallVocabulary

/// Why an administrator's request failed.
public enum AdminFailure: Error, Equatable, Sendable {
    /// The socket has no listener: the server is not running, or uses another data folder.
    case notRunning(socket: String)
    /// The socket belongs to another user.
    case notAllowed(socket: String)
    /// The server rejected the token.
    case tokenRefused
    /// The server's certificate is not trusted; the reason as text.
    case untrusted(String)
    /// The connection failed for another reason, as text.
    case unreachable(String)
    /// The connection was lost before the answer. A change may or may not have been made.
    case lost(String)
    /// The answer did not arrive within the timeout. A change may still be made.
    case timedOut
    /// The server refused the request.
    case refused(AdminRefusal)
    /// The server did not accept the request: it is busy, or has another version.
    case notTaken(AdminError)
}
