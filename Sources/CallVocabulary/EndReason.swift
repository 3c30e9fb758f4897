/// Why a call, or one leg of it, has ended. A closed list; `overloaded` and `server_restart` are reserved.
public enum EndReason: String, Sendable, CaseIterable {
    case hangup
    case declined
    case cancelled
    case busy
    case ringTimeout = "ring_timeout"
    case connectTimeout = "connect_timeout"
    case answeredElsewhere = "answered_elsewhere"
    case declinedElsewhere = "declined_elsewhere"
    case noDevices = "no_devices"
    case unknownCallee = "unknown_callee"
    case glare
    case iceFailed = "ice_failed"
    case mediaFailed = "media_failed"
    case connectionLost = "connection_lost"
    case forbidden
    case admin
    case maxDuration = "max_duration"

    /// Many calls that end so tell of a fault: of media, of pushes, of the network.
    public static let ofFaults: [EndReason] = [.connectTimeout, .noDevices, .connectionLost]

    /// The name of the `CXCallEndedReason` to report to CallKit. The device that ended the call reports none.
    public var callKitReason: String {
        switch self {
        case .hangup, .declined, .cancelled, .busy, .admin, .glare, .maxDuration: "remoteEnded"
        case .ringTimeout, .noDevices, .unknownCallee: "unanswered"
        case .answeredElsewhere: "answeredElsewhere"
        case .declinedElsewhere: "declinedElsewhere"
        case .connectTimeout, .iceFailed, .mediaFailed, .connectionLost, .forbidden: "failed"
        }
    }

    /// Whether a party ends a call with it by an act: a hang-up or a decline. Otherwise the server ends the call, even
    /// where it names a party, as the one that was lost.
    public var isAct: Bool {
        switch self {
        case .hangup, .declined, .cancelled, .busy, .iceFailed, .mediaFailed: true
        case .ringTimeout, .connectTimeout, .answeredElsewhere, .declinedElsewhere, .noDevices, .unknownCallee, .glare,
            .connectionLost, .forbidden, .admin, .maxDuration:
            false
        }
    }

    /// The corresponding SIP response code (RFC 3261; RFC 8599 for a woken device).
    public var sipStatus: Int {
        switch self {
        case .hangup, .answeredElsewhere: 200
        case .declined, .declinedElsewhere: 603
        case .cancelled: 487
        case .busy: 486
        case .ringTimeout: 408
        case .connectTimeout: 504
        case .noDevices: 480
        case .unknownCallee: 404
        case .glare: 491
        case .iceFailed, .mediaFailed: 488
        case .connectionLost: 500
        case .forbidden: 403
        case .admin, .maxDuration: 487
        }
    }

    /// The corresponding Q.850 cause value, paired as in RFC 3398 where it has the pair.
    public var q850Cause: Int {
        switch self {
        case .hangup, .cancelled, .admin: 16
        case .maxDuration: 31
        case .declined, .declinedElsewhere: 21
        case .busy: 17
        case .ringTimeout: 19
        case .connectTimeout: 102
        case .answeredElsewhere: 26
        case .noDevices: 20
        case .unknownCallee: 1
        case .glare: 25
        case .iceFailed, .mediaFailed: 47
        case .connectionLost: 27
        case .forbidden: 57
        }
    }
}

/// Why a callee declines.
public enum DeclineReason: String, Sendable, CaseIterable {
    case declined, busy, dnd

    /// The end reason of a call whose last leg was declined so: `dnd` appears as a plain decline.
    public var endReason: EndReason { self == .busy ? .busy : .declined }
}

/// Why a party hangs up.
public enum HangupReason: String, Sendable, CaseIterable {
    case hangup
    case iceFailed = "ice_failed"
    case mediaFailed = "media_failed"

    public var endReason: EndReason {
        switch self {
        case .hangup: .hangup
        case .iceFailed: .iceFailed
        case .mediaFailed: .mediaFailed
        }
    }
}
