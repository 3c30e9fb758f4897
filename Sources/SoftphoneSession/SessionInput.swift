import CallVocabulary

/// What a command's outcome is told under; chosen by whoever gives the command.
public typealias CommandTicket = UInt64

/// What happened, for a ``ClientSession``.
///
/// An `attempt` names the connection an input belongs to, as the effect that asked for it gave it. What comes late
/// from an earlier one is ignored.
public enum SessionInput: Sendable {
    /// The user wants to be online. With a ticket, the outcome of the opening is told within `limit`.
    case started(ticket: CommandTicket?, limit: Duration?)
    case tokenFetched(attempt: UInt64, token: String)
    case tokenFailed(attempt: UInt64, reason: String)
    /// The WebSocket stands.
    case connected(attempt: UInt64)
    case received(attempt: UInt64, ServerMessage)
    /// An event of a kind that this version does not know.
    case receivedUnknown(attempt: UInt64, seq: UInt64?)
    /// A frame came that is no message of the protocol.
    case receivedUnreadable(attempt: UInt64)
    /// The WebSocket is over, or could not be opened. `code` is nil without a close frame.
    case disconnected(attempt: UInt64, code: UInt16?, reason: String)
    /// A request was not sent because it is larger than the server takes.
    case tooLarge(attempt: UInt64, RequestID, limit: Int)
    /// A command. `session.open` and `session.close` are not commands: see `started` and `stopped`.
    case commanded(ClientRequest, ticket: CommandTicket?)
    /// The app's own ICE candidates.
    case gathered(CallCandidates)
    case pushReceived(CallPush)
    /// The user wants to be offline.
    case stopped(ticket: CommandTicket?)
    /// The app is gone without a word, as after a kill: nothing is told and nothing is kept.
    case abandoned
    /// The network is gone under the connection; the session goes on and tries again.
    case cut
}

/// What a ``ClientSession`` wants done, in order.
public enum SessionEffect: Equatable, Sendable {
    /// Get a token, and answer with `tokenFetched` or `tokenFailed`.
    case fetchToken(attempt: UInt64)
    /// Open a WebSocket.
    case connect(attempt: UInt64)
    case send(ClientMessage)
    /// Close the WebSocket that stands or is being opened. No input of that attempt counts any more.
    case disconnect
    case complete(CommandTicket, Result<Reply, SoftphoneError>)
    case notify(SoftphoneEvent)
}
