import CallVocabulary

/// An event for other systems (webhooks). It is a record, so that it is in the same commit as the change that it
/// describes. Event records are only added; retention deletes them.
public struct EventRecord: Equatable, Sendable {
    /// The object that changed, after the step. Events of one subject are delivered in order.
    public enum Subject: Equatable, Sendable {
        /// `number` counts the events of the call, from 1 and without gaps.
        case call(CallRecord, number: Int, CallChange)
        case device(DeviceRecord, DeviceChange)
    }

    public enum CallChange: Equatable, Sendable {
        /// - Parameter custom: the invite's custom data.
        case invited(custom: RawJSON?)
        case ringing, answered, connected, ended
        case missed(by: Handle)
        case pushRejected(PushRecord)
        case pushUnreported(PushRecord)
    }

    public enum DeviceChange: Equatable, Sendable {
        case registered, suspended, resumed
        case tokenDead(PushToken)
    }

    public var id: EventID
    public var at: Instant
    public var subject: Subject

    public init(id: EventID, at: Instant, subject: Subject) {
        self.id = id
        self.at = at
        self.subject = subject
    }

    public var kind: EventKind {
        switch subject {
        case .call(_, _, .invited): .callInvited
        case .call(_, _, .ringing): .callRinging
        case .call(_, _, .answered): .callAnswered
        case .call(_, _, .connected): .callConnected
        case .call(_, _, .ended): .callEnded
        case .call(_, _, .missed): .callMissed
        case .call(_, _, .pushRejected): .pushRejected
        case .call(_, _, .pushUnreported): .pushUnreported
        case .device(_, .registered): .deviceRegistered
        case .device(_, .suspended): .deviceSuspended
        case .device(_, .resumed): .deviceResumed
        case .device(_, .tokenDead): .deviceTokenDead
        }
    }
}
