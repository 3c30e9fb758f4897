import CallVocabulary

// CallKit's numbers, without CallKit: checked on every platform.

extension EndReason {
    /// The raw value of the `CXCallEndedReason` to report. A device that ended the call itself reports none.
    public var callKitCode: Int {
        switch callKitReason {
        case "remoteEnded": 2
        case "unanswered": 3
        case "answeredElsewhere": 4
        case "declinedElsewhere": 5
        default: 1  // "failed"
        }
    }
}

extension ReportResult {
    /// What became of a push, by the outcome of `reportNewIncomingCall`.
    /// - Parameters:
    ///   - code: the raw value of the `CXErrorCodeIncomingCallError.Code`; nil when the call is shown.
    ///   - mustReport: `PKVoIPPushMetadata.mustReport`; true where it is unknown.
    public init(incomingCallError code: Int?, mustReport: Bool = true) {
        switch code {
        // 2, callUUIDAlreadyExists: the socket or an earlier push was first, and the call is shown.
        case nil, 2: self = .reported
        // Do not disturb, block list, restricted sharing, sensitive participants.
        case 3, 4, 5, 7: self = .filtered
        default: self = mustReport ? .failed : .notRequired
        }
    }
}
