import CallCore
import CallVocabulary

/// A step that something has taken, as its committed records tell it. What logs are made of.
///
/// A record may stand for several steps that were taken before anything was committed: each of them is told, in order, with
/// that record and the state that it came to.
public enum Transition: Equatable, Sendable {
    /// - was: nil for a call that has just been made.
    case call(CallRecord, was: CallState?)
    /// - was: nil for a leg that has just been made.
    case leg(LegRecord, was: LegRecord.State?)
    /// A push has changed on one of the ledger's axes or both.
    /// - was: nil for a push that has just been intended.
    case push(PushRecord, was: PushStanding?)
    /// A device is taken off VoIP pushes because it does not report them.
    case deviceSuspended(DeviceRecord)
    /// It gets them again.
    case deviceResumed(DeviceRecord)
}

/// Where a push stands on both axes of the ledger.
public struct PushStanding: Hashable, Sendable {
    public var status: ProviderStatus
    public var report: ReportStatus?

    public init(status: ProviderStatus, report: ReportStatus?) {
        self.status = status
        self.report = report
    }
}
