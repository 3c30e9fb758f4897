import CallVocabulary
import PushVocabulary

/// An event: the only way into the core. Large, rare payloads are indirect, because inputs are moved between threads.
public enum CoreInput: Equatable, Sendable {
    case client(ClientInput)
    /// The socket is closed, for whatever reason.
    case connectionLost(ConnectionID)
    case push(PushProgress)
    case store(StoreAnswer)
    /// The answer to the question of this number about the call.
    case authorized(CallID, number: UInt64, AuthorizationAnswer)
    /// The answer to the question of this number about the session of the connection.
    case sessionAuthorized(ConnectionID, number: UInt64, AuthorizationAnswer)
    indirect case administered(AdminRequestID, AdminCommand)
    /// The server refuses new calls from now on, and stops within this time.
    case drainingBegan(within: Duration)
    /// New settings. Lower limits end nothing that exists, and running deadlines are kept.
    indirect case reconfigured(CoreSettings)
}

/// Input of a client. Each is answered, except a notification without an id.
public enum ClientInput: Equatable, Sendable {
    /// `session.open` with a valid token.
    indirect case opened(ConnectionID, RequestID, SessionOpen, SessionGrant)
    case requested(ConnectionID, RequestID, ClientRequest)
    /// The request id is nil unless the client sent the notification as a request.
    case notified(ConnectionID, RequestID?, ClientNotification)
    /// A plain HTTP request, from a phone without a socket. The device is nil if neither the token nor the request
    /// names one. The reply is sent to the connection like any other; no ``CoreInput/connectionLost(_:)`` follows.
    indirect case asked(ConnectionID, RequestID, CallRequest, SessionGrant, DeviceID?)
    /// Checks the token of a plain HTTP request that needs nothing else of the core: `GET /v1/turn`. The reply is
    /// `done`. The device is that of the token, if it names one.
    indirect case tokenShown(ConnectionID, RequestID, SessionGrant, DeviceID?)
    /// A backend's plain HTTP request, answered in the same way.
    indirect case backend(ConnectionID, RequestID, BackendRequest, BackendScope)

    public var connection: ConnectionID {
        switch self {
        case .opened(let connection, _, _, _), .requested(let connection, _, _), .notified(let connection, _, _),
            .asked(let connection, _, _, _, _), .tokenShown(let connection, _, _, _),
            .backend(let connection, _, _, _):
            connection
        }
    }

    /// The id for the reply; nil for a notification.
    public var request: RequestID? {
        switch self {
        case .opened(_, let request, _, _), .requested(_, let request, _), .asked(_, let request, _, _, _),
            .tokenShown(_, let request, _, _), .backend(_, let request, _, _):
            request
        case .notified(_, let request, _): request
        }
    }
}

/// The progress of one push in the push client.
public enum PushProgress: Equatable, Sendable {
    /// The push client can send it now. The core checks whether it is still needed before it is committed as sent.
    case ready(PushID)
    /// The record of the push as sent is on disk. The core checks a last time before its bytes leave.
    case committed(PushID)
    indirect case ended(PushID, PushOutcome)
}

/// The store's answers.
public enum StoreAnswer: Equatable, Sendable {
    /// The answer to the `lookUp` of this number.
    indirect case found(number: UInt64, Found)
    /// The store could not be read for the `lookUp` of this number.
    case lookUpFailed(number: UInt64)
    /// The answer to `settle`.
    case settled(UInt64)
    /// Users with a device that was not seen for ``CallTimers/deviceAge``.
    case unseen([Handle])
    /// The answer to `readHistory`; nil when the store could not be read.
    indirect case historyRead(ConnectionID, RequestID, HistoryPage?)
    /// The filter contains every call that the store held when the process started.
    case callsListed(CallIDFilter)
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
    public var allowance: CallAllowance
    /// When a user's token was issued; nil for a token that does not say so, and for wake tokens.
    public var issuedAt: Instant?

    public init(
        user: Handle, displayName: String? = nil, scope: Scope = .full, allowance: CallAllowance = CallAllowance(),
        issuedAt: Instant? = nil
    ) {
        self.user = user
        self.displayName = displayName
        self.scope = scope
        self.allowance = allowance
        self.issuedAt = issuedAt
    }
}
