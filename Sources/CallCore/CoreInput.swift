import CallVocabulary

/// What has happened: the only way anything reaches the core. What is large and rare is indirect, because inputs are moved
/// from thread to thread.
public enum CoreInput: Equatable, Sendable {
    /// `session.open` with a token that proved good.
    indirect case sessionOpened(ConnectionID, RequestID, SessionOpen, SessionGrant)
    case requested(ConnectionID, RequestID, ClientRequest)
    /// With a request id where the client sent the notification as a request.
    case notified(ConnectionID, RequestID?, ClientNotification)
    /// The socket is gone, however it ended.
    case connectionLost(ConnectionID)
    /// The push client has room on the wire for this push: a look before it is committed as sent.
    case pushReady(PushID)
    /// The commit that says it is sent is on disk: the last look before its bytes leave.
    case pushCommitted(PushID)
    indirect case pushEnded(PushID, PushOutcome)
    /// A request by plain HTTP, from a phone whose socket is not up. The answer is sent to the connection like any other;
    /// `connectionLost` is not said of it.
    indirect case asked(ConnectionID, RequestID, SessionlessRequest, SessionGrant, DeviceID?)
    /// The store's answer to `findCall`: nil when it has no such call.
    indirect case callFound(CallID, StoredCall?)
    /// The store could not be read.
    case callSearchFailed(CallID)
    /// The store's answer to `readHistory`: nil when it could not be read.
    indirect case historyRead(ConnectionID, RequestID, HistoryPage?)
    /// Every call the store held when the process started is in the filter.
    case storedCallsListed(CallIDFilter)
    indirect case administered(AdminRequestID, AdminCommand)
    /// From now on no new calls are taken, and the server means to be gone within this time.
    case drainingBegan(within: Duration)
    /// Settings for what comes from now on: lower limits end nothing that is there, and deadlines that are set stay.
    indirect case reconfigured(CoreSettings)
}

/// What may be asked for without a session, with a token in the request.
public enum SessionlessRequest: Equatable, Sendable {
    case get(CallID)
    case report(PushReport)
}

/// What a token entitles its bearer to.
public struct SessionGrant: Equatable, Sendable {
    public enum Scope: Equatable, Sendable {
        case full
        /// A push's wake token: this one call, on the device it was sent to.
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
    /// What the user is called, for the other side's screen.
    public var displayName: String?
    public var scope: Scope

    public init(user: Handle, displayName: String? = nil, scope: Scope = .full) {
        self.user = user
        self.displayName = displayName
        self.scope = scope
    }
}
