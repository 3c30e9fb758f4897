import WireJSON

/// The methods that clients call; raw values are the names on the wire.
public enum ClientMethod: String, Sendable, CaseIterable {
    case sessionOpen = "session.open"
    case sessionAck = "session.ack"
    case sessionState = "session.state"
    case sessionClose = "session.close"
    case sessionLogout = "session.logout"
    case deviceUpdate = "device.update"
    case pushReport = "push.report"
    case callInvite = "call.invite"
    case callRinging = "call.ringing"
    case callAnswer = "call.answer"
    case callDecline = "call.decline"
    case callConnected = "call.connected"
    case callHangup = "call.hangup"
    case callCandidates = "call.candidates"
    case callUpdate = "call.update"
    case callGet = "call.get"
    case callList = "call.list"
    case missedClear = "missed.clear"

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// As `JSONValue.choice()`, but without its linear search.
    static func named(_ name: JSONValue) -> ClientMethod? { name.string.flatMap { byName[$0] } }

    /// Whether it is meant to be sent without an `id`. With an `id` it is also accepted, and answered `{}`.
    public var isNotification: Bool { self == .sessionAck || self == .callCandidates }
}

/// An action of a phone without a session on a call, over HTTP. Raw values are the last part of the path. Each is the
/// method of the same name, `call.ringing` and so on.
public enum CallAction: String, Sendable, CaseIterable {
    case ringing, answer, decline, hangup
}

/// The notifications that the server sends; raw values are the names on the wire.
public enum ServerMethod: String, Sendable, CaseIterable {
    case welcome
    case callIncoming = "call.incoming"
    case callState = "call.state"
    case callEnded = "call.ended"
    case callCandidates = "call.candidates"
    case callUpdate = "call.update"
    case callPeer = "call.peer"
    case serverDraining = "server.draining"
}
