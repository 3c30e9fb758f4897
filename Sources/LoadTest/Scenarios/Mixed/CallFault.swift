import CallVocabulary

/// What is done to a call on purpose, and to what ends it may come then.
enum CallFault: String, CaseIterable {
    /// The caller's socket is cut while the call stands; its session is resumed.
    case callerCut = "caller_cut"
    case calleeCut = "callee_cut"
    /// The caller hangs up while it rings.
    case callerHangsUp = "caller_hangs_up"
    /// The provider refuses the push for the moment; it may be sent again.
    case pushRefused = "push_refused"
    /// The provider takes the push and it never comes; the caller gives up.
    case pushLost = "push_lost"
    /// The provider delivers it late.
    case pushLate = "push_late"
    /// The phone is out of reach when the push comes, and gets it when it is back.
    case wakesLate = "wakes_late"
    /// The phone gets the same push twice.
    case wakesTwice = "wakes_twice"

    /// Whether the callee sleeps.
    var needsSleeper: Bool {
        switch self {
        case .callerCut, .calleeCut, .callerHangsUp: false
        case .pushRefused, .pushLost, .pushLate, .wakesLate, .wakesTwice: true
        }
    }

    /// The ends that are expected at the caller.
    var ends: Set<EndReason> {
        switch self {
        case .callerCut, .calleeCut, .pushLate, .wakesLate, .wakesTwice: [.hangup]
        case .callerHangsUp, .pushLost: [.cancelled]
        case .pushRefused: [.hangup, .cancelled, .noDevices]
        }
    }
}
