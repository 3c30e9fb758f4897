import CallVocabulary

/// Identifies a command's outcome; chosen by the caller.
public typealias CommandTicket = UInt64

/// The events that a ``ClientSession`` handles.
///
/// An `attempt` identifies the connection of an input, as given by the effect that opened it. Inputs of earlier
/// connections are ignored.
public enum SessionInput: Sendable {
    /// The user goes online. With a ticket, the outcome of the opening is reported within `limit`.
    case started(ticket: CommandTicket?, limit: Duration?)
    case tokenFetched(attempt: UInt64, token: String)
    case tokenFailed(attempt: UInt64, reason: String)
    /// The WebSocket is open.
    case connected(attempt: UInt64)
    case received(attempt: UInt64, ServerMessage)
    /// An event of a type unknown to this version.
    case receivedUnknown(attempt: UInt64, seq: UInt64?)
    /// A frame that is no message of the protocol.
    case receivedUnreadable(attempt: UInt64)
    /// The WebSocket has closed, or could not be opened. `code` is nil without a close frame.
    case disconnected(attempt: UInt64, code: UInt16?, reason: String)
    /// A request was not sent because it exceeds the server's limit.
    case tooLarge(attempt: UInt64, RequestID, limit: Int)
    /// A command. `session.open` and `session.close` are not commands: see `started` and `stopped`.
    case commanded(ClientRequest, ticket: CommandTicket?)
    /// The app's own ICE candidates.
    case gathered(CallCandidates)
    case pushReceived(CallPush)
    /// The user goes offline.
    case stopped(ticket: CommandTicket?)
    /// The app was killed: no outcome is reported and no state is kept.
    case abandoned
    /// The network connection is lost; the session reconnects.
    case cut
}

/// The actions that a ``ClientSession`` asks for, in order.
public enum SessionEffect: Equatable, Sendable {
    /// Fetch a token, and answer with `tokenFetched` or `tokenFailed`.
    case fetchToken(attempt: UInt64)
    /// Open a WebSocket.
    case connect(attempt: UInt64)
    case send(ClientMessage)
    /// Close the open or opening WebSocket. Later inputs of that attempt are ignored.
    case disconnect
    case complete(CommandTicket, Result<Reply, SoftphoneError>)
    case notify(SoftphoneEvent)
}
