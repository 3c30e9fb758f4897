import AdminProtocol
import CallVocabulary

/// Why an administrator's request came to nothing.
public enum AdminFailure: Error, Equatable, Sendable {
    /// Nobody listens on the socket: the server is not running, or runs on another folder.
    case notRunning(socket: String)
    /// The socket is another user's.
    case notAllowed(socket: String)
    /// The server does not know the token.
    case tokenRefused
    /// The server's certificate is not one to trust, in words.
    case untrusted(String)
    /// Something else came in the way of the connection, in words.
    case unreachable(String)
    /// The server has gone, or sent us away, before it answered. A change may have been made or not.
    case lost(String)
    /// The server has not answered in time. A change may still be made.
    case timedOut
    /// The request is not granted.
    case refused(AdminRefusal)
    /// The server did not take the request: it is busy, or of another version.
    case notTaken(AdminError)
}
