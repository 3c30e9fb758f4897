import CallVocabulary

/// An event: the only way into the core. Large, rare payloads are indirect, because inputs are moved between threads.
public enum CoreInput: Equatable, Sendable {
    /// `session.open` with a valid token.
    indirect case sessionOpened(ConnectionID, RequestID, SessionOpen, SessionGrant)
    case requested(ConnectionID, RequestID, ClientRequest)
    /// The request id is nil unless the client sent the notification as a request.
    case notified(ConnectionID, RequestID?, ClientNotification)
    /// The socket is closed, for whatever reason.
    case connectionLost(ConnectionID)
    /// The push client can send this push now. The core checks whether it is still needed before it is committed as
    /// sent.
    case pushReady(PushID)
    /// The record of the push as sent is on disk. The core checks a last time before its bytes leave.
    case pushCommitted(PushID)
    indirect case pushEnded(PushID, PushOutcome)
    /// A plain HTTP request, from a phone without a socket. The reply is sent to the connection like any other; no
    /// `connectionLost` follows.
    indirect case asked(ConnectionID, RequestID, SessionlessRequest, SessionGrant, DeviceID?)
    /// The store's answer to `findCall`; nil when it has no such call.
    indirect case callFound(CallID, StoredCall?)
    /// The store could not be read.
    case callSearchFailed(CallID)
    /// The store's answer to `readHistory`; nil when the store could not be read.
    indirect case historyRead(ConnectionID, RequestID, HistoryPage?)
    /// The filter contains every call that the store held when the process started.
    case storedCallsListed(CallIDFilter)
    indirect case administered(AdminRequestID, AdminCommand)
    /// The server refuses new calls from now on, and stops within this time.
    case drainingBegan(within: Duration)
    /// New settings. Lower limits end nothing that exists, and running deadlines are kept.
    indirect case reconfigured(CoreSettings)
}

/// A request that needs no session, with a token of its own.
public enum SessionlessRequest: Equatable, Sendable {
    case get(CallID)
    case report(PushReport)
}

/// The rights of a token's bearer.
public struct SessionGrant: Equatable, Sendable {
    public enum Scope: Equatable, Sendable {
        case full
        /// A push's wake token: one call, on the device that was pushed.
        case call(CallID)

        var isWake: Bool { self != .full }

        func mayAct(on call: CallID) -> Bool {
            switch self {
            case .full: true
            case .call(let only): only == call
            }
        }
    }

    public var user: Handle
    /// The user's display name, shown to the other side.
    public var displayName: String?
    public var scope: Scope

    public init(user: Handle, displayName: String? = nil, scope: Scope = .full) {
        self.user = user
        self.displayName = displayName
        self.scope = scope
    }
}
