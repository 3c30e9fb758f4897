import CallCore
import CallVocabulary

/// A state change found in committed records; the source of log lines.
///
/// A record may cover several changes before one commit. Each is reported in order, with that record and the state
/// reached.
public enum Transition: Equatable, Sendable {
    /// - was: nil for a new call.
    case call(CallRecord, was: CallState?)
    /// - was: nil for a new leg.
    case leg(LegRecord, was: LegRecord.State?)
    /// A push changed on one or both axes of the ledger.
    /// - was: nil for a newly intended push.
    case push(PushRecord, was: PushStanding?)
    /// A device gets no VoIP pushes from now on, because it does not report them.
    case deviceSuspended(DeviceRecord)
    /// The device gets VoIP pushes again.
    case deviceResumed(DeviceRecord)
}

/// The status of a push on both axes of the ledger.
public struct PushStanding: Hashable, Sendable {
    public var status: ProviderStatus
    public var report: ReportStatus?

    public init(status: ProviderStatus, report: ReportStatus?) {
        self.status = status
        self.report = report
    }
}
